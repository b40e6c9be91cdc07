//! High scores, and events that everybody sees.

use aether::prelude::*;

/// Number of high scores.
pub const HIGH_SCORES_MAX: usize = 10;

/// A high score.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
pub struct HighScore {
    /// Name of the player.
    #[replicate(text = 16)]
    pub name: String,
    /// Points.
    pub score: u32,
}

/// Highest scores of all time, highest first.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "scores")]
pub struct HighScores {
    /// The scores.
    #[replicate(list = 10)]
    pub rows: Vec<HighScore>,
}

/// Cause of an explosion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Replicate)]
pub enum ExplosionKind {
    /// A large asteroid.
    Large,
    /// A medium asteroid.
    Medium,
    /// A small asteroid.
    Small,
    /// A ship.
    Ship,
}

/// Event: an asteroid or a ship was destroyed.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "explosions")]
pub struct Explosion {
    /// Position of its center.
    #[replicate(range = 0.0..=2048.0, step = 0.5)]
    pub position: [f32; 2],
    /// Velocity of what was destroyed, in units a second.
    #[replicate(range = -512.0..=512.0, step = 4.0)]
    pub velocity: [f32; 2],
    /// Kind of the explosion.
    pub kind: ExplosionKind,
    /// Number of the player who destroyed it, or zero.
    pub by: u32,
    /// Number of the player whose ship it was, or zero.
    pub player: u32,
}
