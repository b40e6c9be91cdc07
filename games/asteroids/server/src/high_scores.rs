//! High scores, as requests to the services.
//!
//! Scores are submitted to the leaderboard [`BOARD`]. The function [`TOP`] returns the top of a leaderboard: its payload
//! is the leaderboard's name, its answer has a line for each record, with the score, a space, and the name.

use aether::names::shortened;
use aether::prelude::*;
use aether_asteroids_rules::{HIGH_SCORES_MAX, HighScore, HighScores, NAME_BYTES_MAX, TICK_HZ};

/// All-time leaderboard.
pub const BOARD: &str = "asteroids";
/// Function that returns the top of a leaderboard.
pub const TOP: &str = "leaderboard_top";

/// Interval of requests: ten seconds.
const REQUEST_TICKS: u32 = 10 * TICK_HZ;
/// Time from a submitted score to the next request.
const SUBMITTED_TICKS: u32 = TICK_HZ / 2;
/// Maximum length of an answer that is read; ten lines are far shorter.
const ANSWER_BYTES_MAX: usize = 4_096;

/// High scores of the room.
#[derive(Debug, Default)]
pub struct ScoreBoard {
    entity: Option<EntityId>,
    /// Pending request; at most one.
    pending: Option<RequestId>,
    requests_at: Tick,
}

impl ScoreBoard {
    /// Requests the high scores if it is time.
    pub fn update(&mut self, room: &mut Context<'_>) {
        if room.tick() >= self.requests_at && self.pending.is_none() {
            self.requests_at = Tick(room.tick().0 + REQUEST_TICKS);
            let request = Request::Call { name: TOP.to_owned(), payload: BOARD.as_bytes().to_vec() };
            self.pending = Some(room.request(request));
        }
    }

    /// Submits a score. The high scores are requested soon after.
    pub fn submit(&mut self, room: &mut Context<'_>, account: &str, score: u32) {
        let (board, user) = (BOARD.to_owned(), account.to_owned());
        room.request(Request::SubmitScore { board, user, score: i64::from(score) });
        self.requests_at = self.requests_at.min(Tick(room.tick().0 + SUBMITTED_TICKS));
    }

    /// Handles an answer.
    pub fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        if self.pending != Some(id) {
            return;
        }
        self.pending = None;
        let Answer::Value(Some(value)) = answer else { return };
        let now = HighScores { rows: high_scores_of(value) };
        match self.entity.and_then(|entity| room.world.get_mut::<HighScores>(entity)) {
            Some(shown) => *shown = now,
            None => self.entity = room.world.spawn(now).ok(),
        }
    }
}

/// Parses an answer to [`TOP`]. Invalid lines are left out; a score out of range is shown as the nearest bound.
#[must_use]
pub fn high_scores_of(answer: &[u8]) -> Vec<HighScore> {
    let text = String::from_utf8_lossy(&answer[..answer.len().min(ANSWER_BYTES_MAX)]);
    let row = |line: &str| {
        let (score, name) = line.split_once(' ')?;
        let score: i64 = score.parse().ok()?;
        let score = score.clamp(0, u32::MAX.into()) as u32;
        Some(HighScore { name: shortened(name, NAME_BYTES_MAX).into_owned(), score })
    };
    text.lines().filter_map(row).take(HIGH_SCORES_MAX).collect()
}
