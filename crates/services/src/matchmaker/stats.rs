//! Stats of the matchmaker.

use super::limits::COMPLETIONS_SHOWN;
use std::collections::VecDeque;
use std::time::Duration;

/// Snapshot of the matchmaker's numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatchmakerStats {
    /// Tickets, including those in candidates.
    pub tickets: usize,
    /// Players in these tickets.
    pub players: usize,
    /// Creation of the oldest ticket, in milliseconds since 1970.
    pub oldest_created_ms: Option<i64>,
    /// Candidates that wait for a decision.
    pub candidates: usize,
    /// Running matches that ask for players.
    pub backfills: usize,
    /// Reserved seats.
    pub seats: usize,
    /// Matches since the start, without backfills.
    pub matches: u64,
    /// Backfills since the start.
    pub backfilled: u64,
    /// Last tickets that matched, the newest last.
    pub completions: Vec<Completion>,
    /// The last run.
    pub last_run: RunStats,
}

/// Times of a ticket that matched, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Creation of the ticket.
    pub created_ms: i64,
    /// Time of its match.
    pub completed_ms: i64,
}

/// Numbers of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunStats {
    /// Tickets and backfills that searched.
    pub searches: u64,
    /// Candidates found.
    pub found: u64,
    /// Work, in comparisons.
    pub work: u64,
    /// Tickets that did not search yet because the work of the interval was used up.
    pub left: usize,
    /// Time, if the caller measured it.
    pub time: Option<Duration>,
}

/// Counters since the start.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub matches: u64,
    pub backfilled: u64,
    pub completions: VecDeque<Completion>,
    pub last_run: RunStats,
}

impl Counters {
    /// Counts a ticket that matched.
    pub fn complete(&mut self, created_ms: i64, completed_ms: i64) {
        if self.completions.len() == COMPLETIONS_SHOWN {
            self.completions.pop_front();
        }
        self.completions.push_back(Completion { created_ms, completed_ms });
    }
}
