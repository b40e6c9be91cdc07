//! Sandbox: ships that thrust, turn and shoot, objects to spawn, and a scoreboard.

mod capture;
mod client_flight;
mod game;
mod save;

pub use game::Sandbox;

use aether::prelude::*;

/// Name of the game, in recordings.
pub const NAME: &str = "sandbox";
/// Storage collection of the players' hits. Reserve it, so that clients cannot write to it.
pub const COLLECTION: &str = "sandbox";

/// Lag compensation in ticks: a second.
const REWIND_TICKS: u16 = 40;

/// Returns the room settings of the sandbox.
#[must_use]
pub fn settings() -> RoomSettings {
    RoomSettings { entities_max: 2_000, rewind_ticks: REWIND_TICKS, ..RoomSettings::default() }
}
