//! Stored profiles and the all-time leaderboard, as requests to the services.
//!
//! A profile is a storage object of the account, in the collection [`COLLECTION`] under the key `profile`: version (1
//! byte), hue (1 byte) and highest mass (4 bytes, little-endian). Masses are also submitted to the leaderboard
//! [`BOARD`]. The function [`TOP`] returns the top of a leaderboard: its payload is the leaderboard's name, its answer
//! has a line for each record, with the score, a space, and the name.

use crate::game::NAME_BYTES_MAX;
use aether::names::shortened;
use aether::prelude::*;
use aether_arena_rules::{BOARD_ROWS, Row};

/// Collection of the profiles. Reserve it, so that clients cannot write to it.
pub const COLLECTION: &str = "arena";
/// All-time leaderboard.
pub const BOARD: &str = "arena";
/// Function that returns the top of a leaderboard.
pub const TOP: &str = "leaderboard_top";

/// Key of a profile in its collection.
const KEY: &str = "profile";
const VERSION: u8 = 1;
/// Maximum length of an answer that is read; ten lines are far shorter.
const ANSWER_BYTES_MAX: usize = 4_096;

/// Stored profile of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Hue, as an angle on the colour wheel.
    pub hue: u8,
    /// Highest mass of the player.
    pub best: u32,
}

impl Profile {
    /// Returns the request for the profile of an account.
    #[must_use]
    pub fn load(account: &str) -> Request {
        Request::Read { owner: account.to_owned(), collection: COLLECTION.to_owned(), key: KEY.to_owned() }
    }

    /// Returns the request that stores the profile.
    #[must_use]
    pub fn save(&self, account: &str) -> Request {
        let mut value = vec![VERSION, self.hue];
        value.extend(self.best.to_le_bytes());
        Request::Write { owner: account.to_owned(), collection: COLLECTION.to_owned(), key: KEY.to_owned(), value }
    }

    /// Parses a stored profile. Returns `None` if it is invalid.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Profile> {
        match bytes {
            [VERSION, hue, best @ ..] => Some(Profile { hue: *hue, best: u32::from_le_bytes(best.try_into().ok()?) }),
            _ => None,
        }
    }
}

/// Returns the request that submits a mass to the all-time leaderboard.
pub fn submit(account: &str, mass: u32) -> Request {
    Request::SubmitScore { board: BOARD.to_owned(), user: account.to_owned(), score: i64::from(mass) }
}

/// Returns the request for the top of the all-time leaderboard.
pub fn top() -> Request {
    Request::Call { name: TOP.to_owned(), payload: BOARD.as_bytes().to_vec() }
}

/// Parses an answer to [`TOP`]. Invalid lines are left out; a score beyond the range of a mass is shown as its bound.
#[must_use]
pub fn records_of(answer: &[u8]) -> Vec<Row> {
    let text = String::from_utf8_lossy(&answer[..answer.len().min(ANSWER_BYTES_MAX)]);
    let row = |line: &str| {
        let (mass, name) = line.split_once(' ')?;
        let name = shortened(name, NAME_BYTES_MAX);
        let mass: i64 = mass.parse().ok()?;
        let mass = mass.clamp(0, u32::MAX.into()) as u32;
        Some(Row { name: name.into_owned(), mass, eater: 0 })
    };
    text.lines().filter_map(row).take(BOARD_ROWS).collect()
}
