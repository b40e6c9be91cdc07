//! What players and the room tell each other, and what everyone sees wherever they are.

use crate::{Cell, Kind};
use aether_bits::Replicate;

/// A player wants to build.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "building")]
pub struct Place {
    /// The column of the cell.
    #[replicate(range = 0..=127)]
    pub column: u8,
    /// The row of the cell.
    #[replicate(range = 0..=127)]
    pub row: u8,
    /// What to build.
    pub kind: Kind,
}

/// A player wants to take down what it built.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "building")]
pub struct Remove {
    /// The column of the cell.
    #[replicate(range = 0..=127)]
    pub column: u8,
    /// The row of the cell.
    #[replicate(range = 0..=127)]
    pub row: u8,
}

/// A player wants to be another character.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Dress {
    /// Which one.
    #[replicate(range = 0..=7)]
    pub appearance: u8,
}

/// A structure was shot down.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "building")]
pub struct Destroyed {
    /// The column of the cell.
    #[replicate(range = 0..=127)]
    pub column: u8,
    /// The row of the cell.
    #[replicate(range = 0..=127)]
    pub row: u8,
}

/// Someone was hit.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Hit {
    /// The player who fired.
    pub shooter: u32,
    /// The player who was hit.
    pub target: u32,
    /// What is left of the target.
    #[replicate(range = 0..=100)]
    pub health: i32,
}

/// Someone fell, and begins anew.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Fallen {
    /// The player who fell.
    pub player: u32,
    /// The player who did it.
    pub shooter: u32,
}

/// Someone who is in the room: the whole room sees it.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Presence {
    /// The player's number.
    pub player: u32,
    /// The player's name.
    #[replicate(text = 24)]
    pub name: String,
    /// Which character it is.
    #[replicate(range = 0..=7)]
    pub appearance: u8,
    /// How often it hit someone.
    pub hits: u16,
    /// How often it fell.
    pub falls: u16,
    /// How many structures of it stand.
    pub structures: u16,
}

impl Place {
    /// To build on a cell.
    #[must_use]
    pub fn on(cell: Cell, kind: Kind) -> Place {
        Place { column: cell.column, row: cell.row, kind }
    }
}

impl Remove {
    /// To clear a cell.
    #[must_use]
    pub fn on(cell: Cell) -> Remove {
        Remove { column: cell.column, row: cell.row }
    }
}
