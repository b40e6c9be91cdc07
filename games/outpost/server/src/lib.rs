//! Outpost: a world seen from above, that players walk, build and shoot in.

mod building;
mod combat;
mod deed;
mod game;
mod save;
mod settler;

pub use game::Outpost;

use aether_engine::RoomSettings;
use aether_outpost_rules::{EDGE, TICK_HZ};
use aether_space::{InterestSettings, WorldBounds};

/// The name of the game, in configurations and recordings.
pub const NAME: &str = "outpost";

/// How far back a shot may hit, in ticks: half a second, which is a round trip of 300 ms and what clients draw in the past.
const REWIND_TICKS: u16 = 15;
/// How long a place is kept for a player who lost the connection: half a minute, for a lift or a tunnel.
const RESUME_TICKS: u32 = 30 * TICK_HZ;

/// Outpost's room settings.
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
