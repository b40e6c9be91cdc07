//! [`RuntimeGame`]: games whose schema is defined at run time, for example by a script.

use crate::context::Context;
use crate::game::{Game, JoinRequest, PlaygroundCommand, Rejection};
use crate::request::Answer;
use crate::schema::{GameSchemaBuilder, PlayerMessage};
use aether_bits::runtime::{EventHandle, Record, RuntimeSchema};
use aether_bits::{BitReader, ReadError, Replicate, StateHasher};
use aether_wire::{CloseReason, EntityId, ErrorCode, MovementDelta, PlayerId, RequestId, SpawnRequest};
use aether_world::World;

/// A game whose components, input and events are declared at run time. `Box<dyn RuntimeGame>` implements [`Game`].
/// Every method has the meaning of the method of that name in [`Game`].
///
/// Components are records: see [`World::spawn_record`] and [`World::record_mut`]. Send events with
/// [`Context::broadcast_record`] and [`Context::send_record`].
pub trait RuntimeGame: Send {
    /// Returns the components, the input and the events. It must not change during the life of the game.
    fn schema(&self) -> &RuntimeSchema;

    /// Returns the bytes from which its maker builds the game again for a replay.
    fn setup(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Called once, before the first tick of a new room.
    fn init(&mut self, _room: &mut Context<'_>) {}

    /// Decides if a player may join.
    fn join_attempt(&mut self, _room: &mut Context<'_>, _request: &JoinRequest) -> Result<(), Rejection> {
        Ok(())
    }

    /// Called when a player has joined.
    fn join(&mut self, room: &mut Context<'_>, player: PlayerId);

    /// Called when a player leaves.
    fn leave(&mut self, _room: &mut Context<'_>, _player: PlayerId, _reason: CloseReason) {}

    /// Called when a player resumes on a new connection.
    fn resumed(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    /// Called for every player when a durable room is rebuilt.
    fn rejoin(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.join(room, player);
    }

    /// Handles an input: a record of the schema's input. Never called if the schema declares none.
    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Record) {}

    /// Handles a reliable message of a player. Messages that cannot be decoded are rejected before.
    fn message(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _message: EventHandle,
        _record: &Record,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game accepts no messages"))
    }

    /// Handles a message whose code the schema does not declare: match data, with an op code and any bytes. A game without
    /// events gets all messages here.
    fn data(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _op_code: u16,
        _payload: &[u8],
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game does not know that message"))
    }

    /// Handles a movement that the client proposes.
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

    /// Handles a playground command.
    fn playground(
        &mut self,
        _room: &mut Context<'_>,
        _player: PlayerId,
        _command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game has no playground commands"))
    }

    /// Advances the game by one tick.
    fn tick(&mut self, room: &mut Context<'_>);

    /// Handles the answer to a request.
    fn answer(&mut self, _room: &mut Context<'_>, _id: RequestId, _answer: &Answer) {}

    /// Carries out an entry of [`Context::commit`] that is stored.
    fn committed(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// Releases what was reserved for an entry that could not be stored.
    fn uncommitted(&mut self, _room: &mut Context<'_>, _entry: &[u8]) {}

    /// Handles a signal from outside the room and returns the reply.
    fn signal(&mut self, _room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    /// Handles new code of the game, before all other tick inputs of its tick.
    fn reload(&mut self, _room: &mut Context<'_>, _code: &[u8]) {}

    /// Returns true if a player may see an entity with [`aether_world::Visibility::Game`].
    fn can_see(&self, _world: &World, _viewer: PlayerId, _entity: EntityId) -> bool {
        true
    }

    /// Called when the room ends.
    fn terminate(&mut self, _room: &mut Context<'_>) {}

    /// Returns the state of the game as a checkpoint.
    fn checkpoint(&self, _world: &World) -> Option<Vec<u8>> {
        None
    }

    /// Restores a state from [`RuntimeGame::checkpoint`].
    fn restore(&mut self, _room: &mut Context<'_>, _checkpoint: &[u8]) -> Result<(), Rejection> {
        Err(Rejection::new(ErrorCode::Internal, "this game has no checkpoints: implement `checkpoint` and `restore`"))
    }

    /// Returns everything that decides future ticks and that the engine cannot see; see
    /// [`Game::capture`](crate::Game::capture).
    fn capture(&self, _world: &World) -> Option<Vec<u8>> {
        None
    }

    /// Restores a state from [`RuntimeGame::capture`].
    fn restore_capture(&mut self, _room: &mut Context<'_>, _capture: &[u8]) -> Result<(), Rejection> {
        Err(Rejection::new(
            ErrorCode::Internal,
            "this game cannot be captured: implement `capture` and `restore_capture`",
        ))
    }

    /// Adds state to the hash that decides future ticks but is not replicated.
    fn hash(&self, _hasher: &mut StateHasher) {}
}

/// Placeholder for the input type. Inputs of a runtime game are records.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct RuntimeInput {}

impl Game for Box<dyn RuntimeGame> {
    type Input = RuntimeInput;

    /// Adds nothing: the schema of a runtime game depends on its value.
    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema
    }

    fn schema_builder(&self) -> GameSchemaBuilder {
        GameSchemaBuilder::default().described((**self).schema())
    }

    fn setup(&self) -> Vec<u8> {
        (**self).setup()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        (**self).init(room);
    }

    fn join_attempt(&mut self, room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        (**self).join_attempt(room, request)
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

    /// Never called: inputs arrive in [`Game::packed_input`].
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
            return (**self).data(room, player, message.code, message.payload);
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

    fn reload(&mut self, room: &mut Context<'_>, code: &[u8]) {
        (**self).reload(room, code);
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

    fn capture(&self, world: &World) -> Option<Vec<u8>> {
        (**self).capture(world)
    }

    fn restore_capture(&mut self, room: &mut Context<'_>, capture: &[u8]) -> Result<(), Rejection> {
        (**self).restore_capture(room, capture)
    }

    fn hash(&self, hasher: &mut StateHasher) {
        (**self).hash(hasher);
    }
}

#[cfg(test)]
mod tests {
    /// Returns the names of the functions between two lines of a source.
    fn functions<'a>(source: &'a str, from: &str, to: &str) -> Vec<&'a str> {
        let from = source.find(from).expect("the source has this line");
        let part = &source[from..];
        let part = &part[..part.find(to).expect("the source has this line")];
        let name = |line: &'a str| line.strip_prefix("    fn ")?.split('(').next();
        part.lines().filter_map(name).collect()
    }

    #[test]
    fn every_method_of_a_game_is_forwarded_to_a_runtime_game() {
        let game = functions(include_str!("game.rs"), "pub trait Game:", "\n}\n");
        let forwarded = functions(include_str!("runtime.rs"), "impl Game for Box<dyn RuntimeGame> {", "\n}\n");
        let runtime = functions(include_str!("runtime.rs"), "pub trait RuntimeGame:", "\n}\n");
        assert!(game.len() > 20, "{game:?}");
        for call in game {
            assert!(forwarded.contains(&call), "`{call}` is not forwarded to the runtime game");
            let by_the_adapter = ["declare", "schema_builder", "packed_input"].contains(&call);
            assert!(by_the_adapter || runtime.contains(&call), "`{call}` is missing in RuntimeGame");
        }
    }
}
