//! The sandbox: ships that thrust, turn and shoot, things to spawn, and a scoreboard.

mod game;
mod save;

pub use game::Sandbox;

use aether_engine::RoomSettings;

/// The name under which recordings of the sandbox are kept.
pub const NAME: &str = "sandbox";

/// How far back a shot may hit, in ticks: a second.
const REWIND_TICKS: u16 = 40;

/// The sandbox's room settings.
#[must_use]
pub fn settings() -> RoomSettings {
    RoomSettings { entities_max: 2_000, rewind_ticks: REWIND_TICKS, ..RoomSettings::default() }
}
