//! What a game is to its client.

use crate::{ClientSchemaBuilder, Interpolate};
use aether_bits::{BitWriter, Schema};
use aether_replication::Mirror;
use aether_wire::EntityId;

/// How the player's own entity moves: the game's rules, the same that the server runs.
///
/// **An input is a step.** The server applies every input of a player once and in order, and steps the player's entity
/// once for each, so that what follows from an input does not depend on when it arrived. Then the state after input *n*
/// is the same on both sides, and nothing is ever corrected but what others did.
pub trait Predict {
    /// What is predicted of the own entity.
    type State: Interpolate;
    /// What the player does in one tick.
    type Input: Clone;

    /// Moves the state on by one input, which lasts for so many seconds.
    fn step(&self, state: &mut Self::State, input: &Self::Input, seconds: f32);

    /// Rounds the state to what the wire can say, as the server does after each step: `Replicate::snap`.
    fn snap(&self, state: &mut Self::State);

    /// Whether two states are the same as far as prediction goes. What only the server decides, such as what is left of a
    /// ship, is left out: a change of it is news, and no fault of the prediction.
    fn is_same(&self, a: &Self::State, b: &Self::State) -> bool;
}

/// A game as its client knows it: what is replicated, what is drawn, and the rules.
///
/// It is a value, so that it may hold what is only known when the program runs: a schema that was fetched, or a function
/// of another language.
pub trait ClientGame: Predict {
    /// What is drawn of an entity that is not the player's own.
    type Remote: Interpolate;

    /// Declares components, input and events, in the order of the server's declaration.
    fn declare(&self, declaration: ClientSchemaBuilder) -> ClientSchemaBuilder;

    /// Learns what the room replicates, if that is not what the game declares. A game of fixed types has nothing to learn,
    /// and cannot join such a room.
    fn learn_schema(&mut self, _schema: &Schema) {}

    /// The client is in a room anew, and has seen nothing of it yet: what the game kept of the copy of the world before is
    /// of the past.
    fn reset(&mut self) {}

    /// A state packet was taken in. [`Mirror::entered`], [`Mirror::updated`] and [`Mirror::left`] tell what it changed. A
    /// game whose rules look at more than the own entity keeps here what its steps have to see; what it derives from it is
    /// made once a packet, and not once a step.
    fn observe(&mut self, _mirror: &Mirror) {}

    /// Packs an input.
    fn pack_input(&self, input: &Self::Input, writer: &mut BitWriter);

    /// The state of the player's own entity, out of the copy of the world.
    fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Self::State>;

    /// What is drawn of another entity, out of the copy of the world; nothing if it is not drawn.
    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Self::Remote>;
}
