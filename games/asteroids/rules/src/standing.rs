//! Standings of players: lives and points.

use crate::{LIFE_POINTS, LIVES_START};
use aether::prelude::*;

/// State of a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Replicate)]
pub enum PlayStatus {
    /// Has a ship.
    Flying,
    /// Waits for the next ship.
    Waiting,
    /// Has no lives left, or has not started: Space starts a game.
    GameOver,
}

/// Standing of a player, which the whole room sees.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "standings")]
pub struct Standing {
    /// Number of the player.
    pub player: u32,
    /// Its name.
    #[replicate(text = 16)]
    pub name: String,
    /// Points of the current game.
    pub score: u32,
    /// Remaining lives, with that of the current ship.
    #[replicate(range = 0..=9, default = 3)]
    pub lives: u8,
    /// Number of ships of other players that it shot since it joined.
    pub kills: u16,
    /// Its state.
    pub status: PlayStatus,
}

impl Standing {
    /// Creates the standing of a player at the start of a game.
    #[must_use]
    pub fn new(player: u32, name: &str) -> Standing {
        let name = name.to_owned();
        Standing { player, name, score: 0, lives: LIVES_START, kills: 0, status: PlayStatus::Waiting }
    }
}

/// Returns the number of lives that points earn when a score grows.
#[must_use]
pub fn lives_earned(before: u32, after: u32) -> u32 {
    (after / LIFE_POINTS).saturating_sub(before / LIFE_POINTS)
}
