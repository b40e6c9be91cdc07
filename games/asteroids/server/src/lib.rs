//! Asteroids: shoot asteroids, and each other, in a world that wraps around.

mod asteroid_field;
mod combat;
mod game;
mod high_scores;
mod player_state;

pub use game::Asteroids;
pub use high_scores::{BOARD, TOP, high_scores_of};

use aether::prelude::*;
use aether_asteroids_rules::{HEIGHT, TICK_HZ, WIDTH};

/// Name of the game, in configurations and recordings.
pub const NAME: &str = "asteroids";

/// Time to resume after a lost connection: ten seconds. The ship drifts on meanwhile.
const RESUME_TICKS: u32 = 10 * TICK_HZ;

/// Returns the room settings of Asteroids. Everybody sees the whole world.
#[must_use]
pub fn settings() -> RoomSettings {
    RoomSettings {
        tick_hz: TICK_HZ,
        snapshot_hz: TICK_HZ / 2,
        entities_max: 400,
        players_max: 24,
        bounds: WorldBounds { min: [0.0; 2], max: [WIDTH, HEIGHT] },
        interest: None,
        rings: Vec::new(),
        resume_ticks: RESUME_TICKS,
        ..RoomSettings::default()
    }
}
