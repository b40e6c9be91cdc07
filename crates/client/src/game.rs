//! Traits that a game implements for its client.

use crate::{ClientSchemaBuilder, Interpolate};
use aether_bits::{BitWriter, Schema};
use aether_replication::Mirror;
use aether_wire::EntityId;

/// Rules that move the player's own entity, the same as on the server.
///
/// **One input is one step.** The server applies every input of a player once and in order, and steps the player's
/// entity once for each. The result of an input then does not depend on its arrival time, the state after input *n* is
/// the same on both sides, and only the effects of other players need corrections.
pub trait Predict {
    /// Predicted state of the own entity.
    type State: Interpolate;
    /// Input of the player in one tick.
    type Input: Clone;

    /// Advances the state by one input that lasts `seconds`.
    fn step(&self, state: &mut Self::State, input: &Self::Input, seconds: f32);

    /// Rounds the state to the precision of the wire, as the server does after each step: `Replicate::snap`.
    fn snap(&self, state: &mut Self::State);

    /// Returns true if two states are equal as far as prediction goes. Ignore fields that only the server decides, such
    /// as health: a change of them is not a prediction error.
    fn is_same(&self, a: &Self::State, b: &Self::State) -> bool;
}

/// Client side of a game: its schema, the states to draw, and the rules.
///
/// The methods take `&self`, so a game can hold values that are known only at run time, such as a fetched schema or a
/// script function.
pub trait ClientGame: Predict {
    /// State of a remote entity to draw.
    type Remote: Interpolate;

    /// Declares components, input and events, in the same order as the server.
    fn declare(&self, schema: ClientSchemaBuilder) -> ClientSchemaBuilder;

    /// Receives the room's schema if it differs from the declared one. A game with fixed types ignores it and cannot
    /// join such a room.
    fn learn_schema(&mut self, _schema: &Schema) {}

    /// Drops everything derived from the mirror. Called on each welcome, because the client then starts with an empty
    /// mirror.
    fn reset(&mut self) {}

    /// Called after each applied state packet. [`Mirror::entered`], [`Mirror::updated`] and [`Mirror::left`] list the
    /// changes. Rules that need more than the own entity, such as walls, store it here: once per packet instead of once
    /// per step.
    fn observe(&mut self, _mirror: &Mirror) {}

    /// Writes an input to the wire.
    fn pack_input(&self, input: &Self::Input, writer: &mut BitWriter);

    /// Reads the state of the own entity from the mirror.
    fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Self::State>;

    /// Reads the state of a remote entity from the mirror. `None` if it is not drawn.
    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Self::Remote>;
}
