//! Pellets, and components that every player sees at any distance.

use aether::prelude::*;

/// Number of rows of a leaderboard.
pub const BOARD_ROWS: usize = 10;

/// Pellet that a blob can eat.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "pellets", position = position)]
pub struct Pellet {
    /// Position of the pellet.
    #[replicate(range = -1000.0..=1000.0, step = 0.5)]
    pub position: [f32; 2],
    /// Hue, as an angle on the colour wheel.
    pub hue: u8,
}

/// Row of a leaderboard.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
pub struct Row {
    /// Name of the eater.
    #[replicate(text = 16)]
    pub name: String,
    /// Mass of the eater.
    pub mass: u32,
    /// Number of the eater, or zero if it is not in the room.
    pub eater: u32,
}

/// Heaviest eaters of the room, heaviest first.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "boards")]
pub struct Leaderboard {
    /// Rows of the leaderboard.
    #[replicate(list = 10)]
    pub rows: Vec<Row>,
    /// Number of eaters.
    pub eaters: u16,
}

/// Heaviest eaters of all time, heaviest first.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "boards")]
pub struct Records {
    /// Rows of the leaderboard.
    #[replicate(list = 10)]
    pub rows: Vec<Row>,
}

/// Event: an eater lost its last blob.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "boards")]
pub struct Eaten {
    /// Number of the eater.
    pub eater: u32,
    /// Number of the eater that ate it.
    pub by: u32,
    /// Highest mass of the eater.
    pub best: u32,
}
