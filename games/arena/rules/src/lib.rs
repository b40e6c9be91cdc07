//! Arena's rules: pure and deterministic, the same on the server and in a browser.
//!
//! Everyone who plays is an eater, made of one or more [`Blob`]s. A blob moves the slower the more mass it has, eats pellets
//! and blobs that are clearly smaller, and splits in two; parts of one eater grow together again after a while. Mass is a
//! whole number: eating, splitting and growing together neither make nor lose any.

mod blob;
mod board;
mod dish;
mod trial;

pub use blob::{Blob, Label, Paint, Steer, can_devour, can_merge, drive, heading, radius, speed, split};
pub use board::{BOARD_ROWS, Eaten, Leaderboard, Pellet, Records, Row};
pub use dish::{Devoured, Dish, Piece};
pub use trial::trial;

/// Simulation steps a second.
pub const TICK_HZ: u32 = 20;
/// How long a step is.
pub const STEP_SECONDS: f32 = 1.0 / TICK_HZ as f32;
/// The world ends here on every side.
pub const EDGE: f32 = 1000.0;
/// What an eater begins with.
pub const MASS_START: u32 = 20;
/// What a pellet is worth.
pub const PELLET_MASS: u32 = 1;
/// The most that one blob weighs; it eats nothing that would take it beyond.
pub const MASS_MAX: u32 = 50_000;
/// What a blob must weigh to split.
pub const SPLIT_MASS_MIN: u32 = 40;
/// The most blobs of one eater.
pub const BLOBS_MAX: usize = 16;
/// How far from its middle an eater can aim.
pub const STEER_REACH: f32 = 400.0;
/// A blob that is this far from where it shall go moves as fast as it can; nearer, it slows down.
pub const STEER_FULL: f32 = 40.0;
/// How fast a part shoots out of a blob that splits, in units a second.
pub const SPLIT_SPEED: f32 = 560.0;
/// How many ticks it takes until parts may grow together again: 12 seconds.
pub const MERGE_TICKS: u32 = 12 * TICK_HZ;
/// Every so many ticks a blob loses a little of its mass.
pub const DECAY_TICKS: u32 = TICK_HZ;
/// Only what lies above this decays.
pub const DECAY_MASS_MIN: u32 = 100;
/// This part of the mass is lost each time.
pub const DECAY_DIVISOR: u32 = 250;

/// What a blob of some mass loses each time.
#[must_use]
pub fn decay(mass: u32) -> u32 {
    mass.saturating_sub(DECAY_MASS_MIN) / DECAY_DIVISOR
}
