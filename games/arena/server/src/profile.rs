//! What is kept of a player between games, and the records of all time: small functions around the requests.
//!
//! A profile is an object of the account's in storage, in the collection [`COLLECTION`] under the key `profile`: version
//! (1 byte), hue (1) and the highest mass (4, the lowest byte first). Masses are also submitted to the leaderboard [`BOARD`]. The top of that board
//! is asked for by a call named [`TOP`], whose payload is the board's name, and whose answer is a line per record: the score,
//! a space, and the name.

use crate::game::NAME_BYTES_MAX;
use aether_arena_rules::{BOARD_ROWS, Row};
use aether_engine::Request;

/// The collection of the profiles.
pub const COLLECTION: &str = "arena";
/// The leaderboard of all time.
pub const BOARD: &str = "arena";
/// The call that asks for the top of a leaderboard.
pub const TOP: &str = "leaderboard_top";

/// The key of a profile in its collection.
const KEY: &str = "profile";
const VERSION: u8 = 1;
/// No answer is read further than this: ten lines are far shorter.
const ANSWER_BYTES_MAX: usize = 4_096;

/// What is kept of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The colour, as an angle on the colour wheel.
    pub hue: u8,
    /// The most that the player ever weighed.
    pub best: u32,
}

impl Profile {
    /// The request for the profile of an account.
    #[must_use]
    pub fn load(account: &str) -> Request {
        Request::Read { owner: account.to_owned(), collection: COLLECTION.to_owned(), key: KEY.to_owned() }
    }

    /// The request that keeps it.
    #[must_use]
    pub fn save(&self, account: &str) -> Request {
        let mut value = vec![VERSION, self.hue];
        value.extend(self.best.to_le_bytes());
        Request::Write { owner: account.to_owned(), collection: COLLECTION.to_owned(), key: KEY.to_owned(), value }
    }

    /// The profile that was kept; nothing if it cannot be read.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Profile> {
        match bytes {
            [VERSION, hue, best @ ..] => Some(Profile { hue: *hue, best: u32::from_le_bytes(best.try_into().ok()?) }),
            _ => None,
        }
    }
}

/// The request that submits a mass to the leaderboard of all time.
pub fn submit(account: &str, mass: u32) -> Request {
    Request::SubmitScore { board: BOARD.to_owned(), user: account.to_owned(), score: i64::from(mass) }
}

/// The request for the top of all time.
pub fn top() -> Request {
    Request::Call { name: TOP.to_owned(), payload: BOARD.as_bytes().to_vec() }
}

/// The lines of an answer to [`TOP`]; those that cannot be read are left out.
#[must_use]
pub fn records_of(answer: &[u8]) -> Vec<Row> {
    let text = String::from_utf8_lossy(&answer[..answer.len().min(ANSWER_BYTES_MAX)]);
    let row = |line: &str| {
        let (mass, name) = line.split_once(' ')?;
        let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
        Some(Row { name: name.to_owned(), mass: mass.parse().ok()?, eater: 0 })
    };
    text.lines().filter_map(row).take(BOARD_ROWS).collect()
}
