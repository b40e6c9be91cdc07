//! The [`Game`] trait.

use crate::context::Context;
use crate::request::Answer;
use crate::schema::{GameSchemaBuilder, PlayerMessage};
use aether_bits::{BitReader, Component, ReadError, Replicate, StateHasher};
use aether_wire::limits::TEXT_BYTES_MAX;
use aether_wire::{
    CloseReason, EntityId, ErrorCode, JoinMetadata, MovementDelta, Permissions, PlayerId, PlaygroundSpawn, RequestId,
    SpawnRequest,
};
use aether_world::World;

/// A game: declares what is replicated and implements the rules.
///
/// The room calls every method from its tick, one at a time. [`Game::join`], [`Game::input`] and [`Game::tick`] have no
/// default; the others are optional.
///
/// ```
/// use aether_bits::Replicate;
/// use aether_engine::{Context, Game, GameSchemaBuilder};
/// use aether_wire::PlayerId;
///
/// #[derive(Clone, Replicate)]
/// #[replicate(position = position)]
/// struct Ship {
///     #[replicate(range = -100.0..=100.0, step = 0.01)]
///     position: [f32; 2],
/// }
///
/// /// Direction in which the player pushes.
/// #[derive(Clone, Replicate)]
/// struct Steer {
///     #[replicate(range = -1.0..=1.0, step = 0.01)]
///     push: [f32; 2],
/// }
///
/// struct Ships;
///
/// impl Game for Ships {
///     type Input = Steer;
///
///     fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
///         schema.component::<Ship>()
///     }
///
///     fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
///         if let Ok(ship) = room.world.spawn(Ship { position: [0.0; 2] }) {
///             room.possess(player, ship);
///         }
///     }
///
///     fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Steer) {
///         if let Some(ship) = room.possession(player).and_then(|ship| room.world.get_mut::<Ship>(ship)) {
///             ship.position[0] += input.push[0];
///             ship.position[1] += input.push[1];
///         }
///     }
///
///     fn tick(&mut self, _room: &mut Context<'_>) {}
/// }
/// ```
pub trait Game: Send + Sized + 'static {
    /// Input that a player sends every tick.
    type Input: Component;

    /// Declares the components and events of the game.
    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder;

    /// Returns the whole schema: [`Game::declare`] and the input. Override it only if the types are known at run time;
    /// see [`crate::RuntimeGame`].
    fn schema_builder(&self) -> GameSchemaBuilder {
        Self::declare(GameSchemaBuilder::default()).input::<Self::Input>()
    }

    /// Returns the bytes from which the maker of a run-time game builds this game again for a replay: for example its
    /// sources and parameters as they are now. They are in the header of every recording of the room. The default returns
    /// none, for games that are built from nothing.
    fn setup(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Called once, before the first tick of a new room. It may set the tick rate with [`Context::set_tick_hz`].
    fn init(&mut self, _room: &mut Context<'_>) {}

    /// Decides if a player may join. An error rejects the join, and the client gets its code and sentence.
    fn join_attempt(&mut self, _room: &mut Context<'_>, _request: &JoinRequest) -> Result<(), Rejection> {
        Ok(())
    }

    /// Called when a player has joined. Most games spawn an entity here and let the player possess it.
    fn join(&mut self, room: &mut Context<'_>, player: PlayerId);

    /// Called when a player leaves, before its entity is despawned.
    fn leave(&mut self, _room: &mut Context<'_>, _player: PlayerId, _reason: CloseReason) {}

    /// Called when a player resumes on a new connection. Sequence numbers of its inputs and movements restart at 1: a
    /// game with a [`crate::authority::Mover`] calls [`Mover::resumed`](crate::authority::Mover::resumed).
    fn resumed(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    /// Called for every player of a durable room when the room is rebuilt. The player has no connection yet. The
    /// default calls [`Game::join`].
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.join(room, player);
    }

    /// Handles an input of a player. Inputs of a player arrive in order.
    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Self::Input);

    /// Decodes an input and passes it to [`Game::input`]. Override it only if the input is declared at run time.
    fn packed_input(&mut self, room: &mut Context<'_>, player: PlayerId, bytes: &[u8]) -> Result<(), ReadError> {
        let input = Self::Input::read_full(&mut BitReader::new(bytes))?;
        self.input(room, player, &input);
        Ok(())
    }

    /// Handles a reliable message of a player. The result is sent back as the answer to the command.
    fn message(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game accepts no messages"))
    }

    /// Handles a movement that the client proposes. Only for games that let clients move themselves; see
    /// [`crate::authority`].
    fn movement(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _movement: &MovementDelta,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game accepts no movement messages: send inputs"))
    }

    /// Handles a spawn request of a player.
    fn spawn_request(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _request: &SpawnRequest,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(
            ErrorCode::UnknownCommand,
            "this game accepts no spawn requests: it spawns players when they join",
        ))
    }

    /// Handles a playground command. The engine has already checked the player's permission.
    fn playground(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game has no playground commands"))
    }

    /// Advances the game by one tick. Called after all tick inputs were applied.
    fn tick(&mut self, room: &mut Context<'_>);

    /// Handles the answer to a [`Context::request`].
    fn answer(&mut self, _room: &mut Context<'_>, _id: RequestId, _answer: &Answer) {}

    /// Carries out an entry of [`Context::commit`], which is now stored. Also called when a durable room is rebuilt,
    /// for every entry that was stored after the checkpoint. By then the player or entity that caused the entry may no
    /// longer exist.
    fn committed(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// Releases what was reserved for an entry that could not be stored.
    fn uncommitted(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// Handles a signal from outside the room and returns the reply.
    fn signal(&mut self, _room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    /// Handles new code of the game, from [`crate::RoomHandle::reload`]. Called before all other tick inputs of its tick.
    /// Only games defined at run time have code to replace; the default does nothing.
    fn reload(&mut self, _room: &mut Context<'_>, _code: &[u8]) {}

    /// Returns true if a player may see an entity with [`aether_world::Visibility::Game`].
    fn can_see(&self, _world: &World, _viewer: PlayerId, _entity: EntityId) -> bool {
        true
    }

    /// Called when the room ends, before the connections are closed.
    fn terminate(&mut self, _room: &mut Context<'_>) {}

    /// Returns the state of the game as a checkpoint. Called from the tick, so it must be quick. Leave out entries that
    /// are not committed yet. Durable rooms need it; the default returns none.
    fn checkpoint(&self, _world: &World) -> Option<Vec<u8>> {
        None
    }

    /// Restores a state from [`Game::checkpoint`]. Called instead of [`Game::init`].
    fn restore(&mut self, _room: &mut Context<'_>, _checkpoint: &[u8]) -> Result<(), Rejection> {
        Err(Rejection::new(
            ErrorCode::Internal,
            "this game has no checkpoints: implement `Game::checkpoint` and `Game::restore`",
        ))
    }

    /// Returns everything that decides future ticks and that the engine cannot see: the fields of the game, and fields
    /// of components that are not replicated. A recording can then begin while the room runs. The default returns none:
    /// recordings begin with the first tick.
    fn capture(&self, _world: &World) -> Option<Vec<u8>> {
        None
    }

    /// Restores a state from [`Game::capture`]. Called instead of [`Game::init`]. The room has its entities, under the
    /// same ids and with their replicated fields, its players and their possessions.
    fn restore_capture(&mut self, _room: &mut Context<'_>, _capture: &[u8]) -> Result<(), Rejection> {
        Err(Rejection::new(
            ErrorCode::Internal,
            "this game cannot be captured: implement `Game::capture` and `Game::restore_capture`",
        ))
    }

    /// Adds state to the hash that decides future ticks but is not replicated. Replays then detect a divergence.
    fn hash(&self, _hasher: &mut StateHasher) {}
}

/// Request of a client to join a room.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct JoinRequest {
    /// Id of the account.
    pub user: String,
    /// Display name.
    pub name: String,
    /// User name of the account, which may be longer than the display name.
    pub username: String,
    /// Id of the session: that of the socket for a member over the services socket, otherwise that of the access token.
    pub session: String,
    /// Permissions from the account's role.
    pub permissions: Permissions,
    /// Texts that the client sent with its hello, for the game. A client may send anything.
    pub metadata: JoinMetadata,
}

/// A command of the playground, for tests and demonstrations.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaygroundCommand {
    /// Spawn an entity at a position.
    Spawn(PlaygroundSpawn),
    /// Clear the world. If the game returns `Ok`, the engine despawns all entities, notifies every player and calls
    /// [`Game::join`] for each of them again.
    Clear,
    /// Spawn many entities.
    Stress {
        /// Number of entities, up to [`aether_wire::limits::STRESS_ENTITIES_MAX`].
        count: u32,
        /// True if the entities rotate.
        rotate: bool,
    },
}

impl PlaygroundCommand {
    /// Name in the audit log.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            PlaygroundCommand::Spawn(_) => "playground.spawn",
            PlaygroundCommand::Clear => "playground.clear",
            PlaygroundCommand::Stress { .. } => "playground.stress",
        }
    }
}

/// Rejection of a join, message or command: a code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Code for programs.
    pub code: ErrorCode,
    /// Sentence for people: what was rejected and what to do.
    pub message: String,
}

impl Rejection {
    /// Returns a rejection. The message is cut at [`TEXT_BYTES_MAX`] bytes.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(TEXT_BYTES_MAX));
        Rejection { code, message }
    }
}
