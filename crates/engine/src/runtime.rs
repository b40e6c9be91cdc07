//! Games that are defined at run time: by a script, or by anything else that is known only when the program runs.

use crate::context::Context;
use crate::declaration::{GameSchemaBuilder, PlayerMessage};
use crate::game::{Game, JoinRequest, PlaygroundCommand, Rejection};
use crate::request::Answer;
use aether_bits::runtime::{EventHandle, Record, RuntimeSchema};
use aether_bits::{BitReader, ReadError, Replicate, StateHasher};
use aether_wire::{CloseReason, EntityId, ErrorCode, MovementDelta, PlayerId, RequestId, SpawnRequest};
use aether_world::World;

/// A game whose components, input and events are declared at run time. `Box<dyn RuntimeGame>` is a [`Game`], and goes
/// wherever one does: a room, a replay, a server. Every call means the same as the one of that name in [`Game`].
///
/// Components are records: see [`World::spawn_record`] and [`World::record_mut`]. Events go out by
/// [`Context::broadcast_record`] and [`Context::send_record`].
pub trait RuntimeGame: Send {
    /// The components, the input and the events. It is the same for the whole life of the game.
    fn schema(&self) -> &RuntimeSchema;

    /// The room begins.
    fn init(&mut self, _room: &mut Context<'_>) {}

    /// Someone wants to join.
    fn join_attempt(&mut self, _room: &mut Context<'_>, _joiner: &JoinRequest) -> Result<(), Rejection> {
        Ok(())
    }

    /// A player has joined.
    fn join(&mut self, room: &mut Context<'_>, player: PlayerId);

    /// A player has left.
    fn leave(&mut self, _room: &mut Context<'_>, _player: PlayerId, _reason: CloseReason) {}

    /// A player who had lost the connection has a new one.
    fn resumed(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    /// The room was rebuilt, and a player who was in it is in it again.
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.join(room, player);
    }

    /// A player's input, a record of the schema's input. A game that declares none is never called.
    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Record) {}

    /// A player's reliable message. One that cannot be read is refused before it reaches the game.
    fn message(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _message: EventHandle,
        _record: &Record,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game takes no messages"))
    }

    /// A player says how far an entity moved.
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

    /// An entry of [`Context::commit`] is stored.
    fn committed(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// An entry could not be stored.
    fn uncommitted(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// Something outside the room sends data and waits for a reply.
    fn signal(&mut self, _room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    /// True if a player may see an entity of [`aether_world::Visibility::Game`].
    fn can_see(&self, _world: &World, _viewer: PlayerId, _entity: EntityId) -> bool {
        true
    }

    /// The room ends.
    fn terminate(&mut self, _room: &mut Context<'_>) {}

    /// The game's state, to be kept for later.
    fn checkpoint(&self, _world: &World) -> Option<Vec<u8>> {
        None
    }

    /// Puts the game in a state that [`RuntimeGame::checkpoint`] gave.
    fn restore(&mut self, _room: &mut Context<'_>, _checkpoint: &[u8]) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::Internal, "this game keeps no checkpoints"))
    }

    /// Mixes in what is not replicated but decides the future.
    fn hash(&self, _hasher: &mut StateHasher) {}
}

/// Stands in for the input type, which a runtime game does not have: its inputs are records.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct RuntimeInput {}

impl Game for Box<dyn RuntimeGame> {
    type Input = RuntimeInput;

    /// Adds nothing: what a runtime game declares depends on its value.
    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration
    }

    fn schema_builder(&self) -> GameSchemaBuilder {
        GameSchemaBuilder::default().described((**self).schema())
    }

    fn init(&mut self, room: &mut Context<'_>) {
        (**self).init(room);
    }

    fn join_attempt(&mut self, room: &mut Context<'_>, joiner: &JoinRequest) -> Result<(), Rejection> {
        (**self).join_attempt(room, joiner)
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        (**self).join(room, player);
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, reason: CloseReason) {
        (**self).leave(room, player, reason);
    }

    fn resumed(&mut self, room: &mut Context<'_>, player: PlayerId) {
        (**self).resumed(room, player);
    }

    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        (**self).rejoin(room, player);
    }

    /// Is not called: inputs come by [`Game::packed_input`].
    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &RuntimeInput) {}

    fn packed_input(&mut self, room: &mut Context<'_>, player: PlayerId, bytes: &[u8]) -> Result<(), ReadError> {
        let input = (**self).schema().input().ok_or(ReadError::OutOfRange)?;
        let record = input.read_full(&mut BitReader::new(bytes))?;
        (**self).input(room, player, &record);
        Ok(())
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        let schema = (**self).schema();
        let event = schema.event_of(message.code);
        let Some((event, record_type)) = event.and_then(|event| Some((event, schema.event(event)?))) else {
            return Err(Rejection::new(ErrorCode::UnknownCommand, "this game does not know that message"));
        };
        let Ok(record) = record_type.read_full(&mut BitReader::new(message.payload)) else {
            let sentence = format!("the message `{}` cannot be read", record_type.name());
            return Err(Rejection::new(ErrorCode::BadMessage, sentence));
        };
        (**self).message(room, player, event, &record)
    }

    fn movement(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        movement: &MovementDelta,
    ) -> Result<(), Rejection> {
        (**self).movement(room, player, movement)
    }

    fn spawn_request(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        request: &SpawnRequest,
    ) -> Result<(), Rejection> {
        (**self).spawn_request(room, player, request)
    }

    fn playground(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        (**self).playground(room, player, command)
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        (**self).tick(room);
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        (**self).answer(room, id, answer);
    }

    fn committed(&mut self, room: &mut Context<'_>, entry: &[u8]) {
        (**self).committed(room, entry);
    }

    fn uncommitted(&mut self, room: &mut Context<'_>, entry: &[u8]) {
        (**self).uncommitted(room, entry);
    }

    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        (**self).signal(room, data)
    }

    fn can_see(&self, world: &World, viewer: PlayerId, entity: EntityId) -> bool {
        (**self).can_see(world, viewer, entity)
    }

    fn terminate(&mut self, room: &mut Context<'_>) {
        (**self).terminate(room);
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        (**self).checkpoint(world)
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        (**self).restore(room, checkpoint)
    }

    fn hash(&self, hasher: &mut StateHasher) {
        (**self).hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    /// The names of the functions between two lines of a source.
    fn functions<'a>(source: &'a str, from: &str, to: &str) -> Vec<&'a str> {
        let from = source.find(from).expect("the source has this line");
        let part = &source[from..];
        let part = &part[..part.find(to).expect("the source has this line")];
        let name = |line: &'a str| line.strip_prefix("    fn ")?.split('(').next();
        part.lines().filter_map(name).collect()
    }

    #[test]
    fn every_call_of_a_game_reaches_a_runtime_game() {
        let game = functions(include_str!("game.rs"), "pub trait Game:", "\n}\n");
        let forwarded = functions(include_str!("runtime.rs"), "impl Game for Box<dyn RuntimeGame> {", "\n}\n");
        let runtime = functions(include_str!("runtime.rs"), "pub trait RuntimeGame:", "\n}\n");
        assert!(game.len() > 20, "{game:?}");
        for call in game {
            assert!(forwarded.contains(&call), "`{call}` has a default, which would hide the runtime game's own");
            let by_the_adapter = ["declare", "schema_builder", "packed_input"].contains(&call);
            assert!(by_the_adapter || runtime.contains(&call), "`{call}` is missing in RuntimeGame");
        }
    }
}
