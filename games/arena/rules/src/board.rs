//! What lies about, and what everyone sees wherever they are.

use aether_bits::Replicate;

/// How many lines a board has.
pub const BOARD_ROWS: usize = 10;

/// Something to eat.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "pellets", position = position)]
pub struct Pellet {
    /// Where it is.
    #[replicate(range = -1000.0..=1000.0, step = 0.5)]
    pub position: [f32; 2],
    /// Its colour, as an angle on the colour wheel.
    pub hue: u8,
}

/// A line of a board.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
pub struct Row {
    /// Who.
    #[replicate(text = 16)]
    pub name: String,
    /// With what mass.
    pub mass: u32,
    /// The number of the eater, or zero for one who is not in the room.
    pub eater: u32,
}

/// The heaviest of the room, heaviest first.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "boards")]
pub struct Leaderboard {
    /// The lines.
    #[replicate(list = 10)]
    pub rows: Vec<Row>,
    /// How many play.
    pub eaters: u16,
}

/// The heaviest of all time, heaviest first.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "boards")]
pub struct Records {
    /// The lines.
    #[replicate(list = 10)]
    pub rows: Vec<Row>,
}

/// An eater was eaten as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "boards")]
pub struct Eaten {
    /// The number of the eater.
    pub eater: u32,
    /// By whom.
    pub by: u32,
    /// The most that it weighed.
    pub best: u32,
}
