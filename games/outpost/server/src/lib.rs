//! Outpost: a world seen from above, in which players walk, build and shoot.

mod build_command;
mod building;
mod capture;
mod characters;
mod combat;
mod game;
mod player_state;
mod save;

pub use game::Outpost;

use aether::prelude::*;
use aether_outpost_rules::{EDGE, TICK_HZ};

/// Name of the game, in configurations and recordings.
pub const NAME: &str = "outpost";

/// Lag compensation in ticks: half a second, which covers a round trip of 300 ms and the interpolation delay.
const REWIND_TICKS: u16 = 15;
/// Time to resume after a lost connection: half a minute, for an elevator or a tunnel.
const RESUME_TICKS: u32 = 30 * TICK_HZ;

/// Returns the room settings of Outpost.
#[must_use]
pub fn settings() -> RoomSettings {
    RoomSettings {
        tick_hz: TICK_HZ,
        snapshot_hz: 10,
        entities_max: 4_000,
        players_max: 100,
        bounds: WorldBounds { min: [-EDGE; 2], max: [EDGE; 2] },
        interest: Some(InterestSettings { radius: 80.0, ..InterestSettings::default() }),
        rings: Vec::new(),
        rewind_ticks: REWIND_TICKS,
        resume_ticks: RESUME_TICKS,
        durable: true,
        ..RoomSettings::default()
    }
}
