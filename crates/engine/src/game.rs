//! What a game is to the engine.

use crate::context::Context;
use crate::declaration::{GameSchemaBuilder, PlayerMessage};
use crate::request::Answer;
use aether_bits::{BitReader, Component, ReadError, Replicate, StateHasher};
use aether_wire::limits::TEXT_BYTES_MAX;
use aether_wire::{
    CloseReason, EntityId, ErrorCode, MovementDelta, Permissions, PlayerId, PlaygroundSpawn, RequestId, SpawnRequest,
};
use aether_world::World;

/// A game: it declares what is replicated, and reacts. All calls come from the room's tick, one at a time.
pub trait Game: Send + Sized + 'static {
    /// What a player sends every tick.
    type Input: Component;

    /// Declares components and events.
    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder;

    /// Declares all of this game: what [`Game::declare`] says, and the input. Only a game whose types are made at run time
    /// has its own; see [`crate::RuntimeGame`].
    fn schema_builder(&self) -> GameSchemaBuilder {
        Self::declare(GameSchemaBuilder::default()).input::<Self::Input>()
    }

    /// The room begins.
    fn init(&mut self, _room: &mut Context<'_>) {}

    /// Someone wants to come in.
    fn join_attempt(&mut self, _room: &mut Context<'_>, _joiner: &JoinRequest) -> Result<(), Rejection> {
        Ok(())
    }

    /// A player has come in. Most games spawn an entity here and let the player possess it.
    fn join(&mut self, room: &mut Context<'_>, player: PlayerId);

    /// A player is gone.
    fn leave(&mut self, _room: &mut Context<'_>, _player: PlayerId, _reason: CloseReason) {}

    /// A player who had lost the connection is back. Its inputs and movements count from 1 again: a game that keeps a
    /// [`crate::authority::Mover`] calls its `resumed`.
    fn resumed(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    /// The room was rebuilt, and a player who was in it is in again, without a connection as yet. Usually that is the same
    /// as joining.
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.join(room, player);
    }

    /// A player's input, in order.
    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Self::Input);

    /// Reads a packed input and hands it to [`Game::input`]. Only a game whose input is declared at run time has its own.
    fn packed_input(&mut self, room: &mut Context<'_>, player: PlayerId, bytes: &[u8]) -> Result<(), ReadError> {
        let input = Self::Input::read_full(&mut BitReader::new(bytes))?;
        self.input(room, player, &input);
        Ok(())
    }

    /// A player's reliable message.
    fn message(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game takes no messages"))
    }

    /// A player says how far an entity moved, where the game lets clients say so; see [`crate::authority`].
    fn movement(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _movement: &MovementDelta,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game moves players by their inputs"))
    }

    /// A player asks to be spawned.
    fn spawn_request(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _request: &SpawnRequest,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game spawns players when they join"))
    }

    /// A playground command of a player who may give it.
    fn playground(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game has no playground"))
    }

    /// One step of the game, after the tick's inputs.
    fn tick(&mut self, room: &mut Context<'_>);

    /// A service answered.
    fn answer(&mut self, _room: &mut Context<'_>, _id: RequestId, _answer: &Answer) {}

    /// An entry of [`Context::commit`] is stored: what it says is to be done now. It is also called when a room is rebuilt,
    /// for what was stored after its state; who caused it may be gone then, and what it is about too.
    fn committed(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// An entry could not be stored: what was set aside for it is free again.
    fn uncommitted(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// Something outside the room tells it something and wants to hear back.
    fn signal(&mut self, _room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    /// Whether a player may see an entity of [`aether_world::Visibility::Game`].
    fn can_see(&self, _world: &World, _viewer: PlayerId, _entity: EntityId) -> bool {
        true
    }

    /// The room ends.
    fn terminate(&mut self, _room: &mut Context<'_>) {}

    /// The game's state, to be kept for later; called from the tick, so it has to be quick. An entry that is not committed
    /// yet is no part of it.
    fn checkpoint(&self, _world: &World) -> Option<Vec<u8>> {
        None
    }

    /// Puts the game in a state that [`Game::checkpoint`] gave; called instead of [`Game::init`].
    fn restore(&mut self, _room: &mut Context<'_>, _checkpoint: &[u8]) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::Internal, "this game keeps no checkpoints"))
    }

    /// Mixes in what is not replicated but decides the future, so that a replay that strays is noticed.
    fn hash(&self, _hasher: &mut StateHasher) {}
}

/// Someone who wants to come in.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JoinRequest {
    /// The account.
    pub user: String,
    /// The name to show.
    pub name: String,
    /// What the account's role allows.
    pub permissions: Permissions,
    /// What the client says of itself, for the game.
    pub metadata: Vec<u8>,
}

/// A playground command.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaygroundCommand {
    /// Spawn something at a place.
    Spawn(PlaygroundSpawn),
    /// Clear the world. If the game agrees, everything is despawned, everyone is told, and everyone joins anew.
    Clear,
    /// Spawn many things.
    Stress {
        /// How many, up to [`aether_wire::limits::STRESS_ENTITIES_MAX`].
        count: u32,
        /// Whether they turn.
        rotate: bool,
    },
}

impl PlaygroundCommand {
    /// A short name, for the audit log.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            PlaygroundCommand::Spawn(_) => "playground.spawn",
            PlaygroundCommand::Clear => "playground.clear",
            PlaygroundCommand::Stress { .. } => "playground.stress",
        }
    }
}

/// Why something is not done: a code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// For programs.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
}

impl Rejection {
    /// A refusal with a sentence that says what to do.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        // A longer one would not fit the message that carries it.
        message.truncate(message.floor_char_boundary(TEXT_BYTES_MAX));
        Rejection { code, message }
    }
}
