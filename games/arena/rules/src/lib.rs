//! Rules of Arena: pure and deterministic, the same on the server and in a browser.
//!
//! Every player is an eater, made of one or more [`Blob`]s. A blob is slower the more mass it has, eats pellets and
//! clearly smaller blobs, and splits in two; blobs of one eater merge again after a while. Mass is an integer: eating,
//! splitting and merging preserve the total.

mod blob;
mod board;
mod dish;
mod trial;

pub use blob::{Blob, Label, Paint, Steer, can_devour, can_merge, drive, heading, radius, speed, split};
pub use board::{BOARD_ROWS, Eaten, Leaderboard, Pellet, Records, Row};
pub use dish::{Devoured, Dish, Piece};
pub use trial::trial;

/// Ticks per second.
pub const TICK_HZ: u32 = 20;
/// Duration of a tick.
pub const STEP_SECONDS: f32 = 1.0 / TICK_HZ as f32;
/// Edge of the world on every side.
pub const EDGE: f32 = 1000.0;
/// Initial mass of an eater.
pub const MASS_START: u32 = 20;
/// Mass of a pellet.
pub const PELLET_MASS: u32 = 1;
/// Maximum mass of a blob; it eats nothing that would exceed it.
pub const MASS_MAX: u32 = 50_000;
/// Minimum mass for a split.
pub const SPLIT_MASS_MIN: u32 = 40;
/// Maximum number of blobs of one eater.
pub const BLOBS_MAX: usize = 16;
/// Maximum aim distance from an eater's center.
pub const STEER_REACH: f32 = 400.0;
/// Distance to the target at which a blob has full speed; nearer, it slows down.
pub const STEER_FULL: f32 = 40.0;
/// Initial speed of the part that splits off, in units a second.
pub const SPLIT_SPEED: f32 = 560.0;
/// Number of ticks until blobs may merge again: 12 seconds.
pub const MERGE_TICKS: u32 = 12 * TICK_HZ;
/// Number of ticks between two decays of mass.
pub const DECAY_TICKS: u32 = TICK_HZ;
/// Only mass above this decays.
pub const DECAY_MASS_MIN: u32 = 100;
/// Divisor of the mass that decays each time.
pub const DECAY_DIVISOR: u32 = 250;

/// Returns the mass that a blob loses each time.
#[must_use]
pub fn decay(mass: u32) -> u32 {
    mass.saturating_sub(DECAY_MASS_MIN) / DECAY_DIVISOR
}
