//! Messages of players, events of the room, and components that every player sees at any distance.

use crate::{Cell, Kind};
use aether::prelude::*;

/// Message: build a structure.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "build")]
pub struct Place {
    /// Column of the cell.
    #[replicate(range = 0..=127)]
    pub column: u8,
    /// Row of the cell.
    #[replicate(range = 0..=127)]
    pub row: u8,
    /// Kind of the structure.
    pub kind: Kind,
}

/// Message: remove one's own structure.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "build")]
pub struct Remove {
    /// Column of the cell.
    #[replicate(range = 0..=127)]
    pub column: u8,
    /// Row of the cell.
    #[replicate(range = 0..=127)]
    pub row: u8,
}

/// Message: play another character of the account, or show changes of the current one.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Play {
    /// Id of the profile. Empty for the active one.
    #[replicate(text = 64)]
    pub profile: String,
}

/// Event: a structure was destroyed.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "build")]
pub struct Destroyed {
    /// Column of the cell.
    #[replicate(range = 0..=127)]
    pub column: u8,
    /// Row of the cell.
    #[replicate(range = 0..=127)]
    pub row: u8,
}

/// Event: a player was hit.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Hit {
    /// Number of the player who fired.
    pub shooter: u32,
    /// Number of the player who was hit.
    pub target: u32,
    /// Remaining health of the target.
    #[replicate(range = 0..=100)]
    pub health: i32,
}

/// Event: a player was defeated and respawns.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Fallen {
    /// Number of the defeated player.
    pub player: u32,
    /// Number of the player who fired.
    pub shooter: u32,
}

/// Player in the room, visible to everyone.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Presence {
    /// Number of the player.
    pub player: u32,
    /// Name of the player.
    #[replicate(text = 24)]
    pub name: String,
    /// Number of the character.
    #[replicate(range = 0..=7)]
    pub appearance: u8,
    /// Number of hits on other players.
    pub hits: u16,
    /// Number of defeats.
    pub falls: u16,
    /// Number of structures.
    pub structures: u16,
}

impl Place {
    /// Creates a message that builds on a cell.
    #[must_use]
    pub fn on(cell: Cell, kind: Kind) -> Place {
        Place { column: cell.column, row: cell.row, kind }
    }
}

impl Remove {
    /// Creates a message that clears a cell.
    #[must_use]
    pub fn on(cell: Cell) -> Remove {
        Remove { column: cell.column, row: cell.row }
    }
}
