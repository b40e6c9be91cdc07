//! Arena: eat, grow, split, eat each other. Bots fill quiet rooms.

mod boards;
mod bot;
mod eater;
mod game;
mod profile;

pub use game::Arena;
pub use profile::{BOARD, COLLECTION, Profile, TOP, records_of};

use aether::prelude::*;
use aether_arena_rules::TICK_HZ;

/// Name of the game, in configurations and recordings.
pub const NAME: &str = "arena";

/// Time to resume after a lost connection: ten seconds. The blobs can be eaten meanwhile.
const RESUME_TICKS: u32 = 10 * TICK_HZ;

/// Returns the room settings of Arena.
#[must_use]
pub fn settings() -> RoomSettings {
    RoomSettings {
        tick_hz: TICK_HZ,
        snapshot_hz: TICK_HZ,
        entities_max: 6_000,
        players_max: 100,
        interest: Some(InterestSettings { radius: 450.0, ..InterestSettings::default() }),
        rings: Vec::new(),
        resume_ticks: RESUME_TICKS,
        ..RoomSettings::default()
    }
}
