//! Arena: eat, grow, split, eat each other; with bots that fill a quiet room.

mod boards;
mod bot;
mod eater;
mod game;
mod profile;

pub use game::Arena;
pub use profile::{BOARD, COLLECTION, Profile, TOP, records_of};

use aether_arena_rules::TICK_HZ;
use aether_engine::RoomSettings;
use aether_space::InterestSettings;

/// The name of the game, in configurations and recordings.
pub const NAME: &str = "arena";

/// How long a place is kept for a player who lost the connection: ten seconds. The blobs can be eaten meanwhile.
const RESUME_TICKS: u32 = 10 * TICK_HZ;

/// Arena's room settings.
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
