//! Boards and their current periods.

use super::schedule::Schedule;
use crate::error::ServiceError;
use aether_ranks::{RankOrder, Score};
use aether_store::{SqlRow, StoreError};
use serde::de::IgnoredAny;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum bytes of a board's id, which is part of each record's key.
pub const BOARD_ID_BYTES_MAX: usize = 128;
/// Maximum bytes of a board's metadata, which is held in memory.
pub const BOARD_METADATA_BYTES_MAX: usize = 16 << 10;

/// Operation of a write on the current score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// Keeps the better score, in the board's order.
    Best,
    /// Replaces the score.
    Set,
    /// Adds to the score.
    Increment,
    /// Subtracts from the score, possibly below zero.
    Decrement,
}

/// Definition of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Id.
    pub id: String,
    /// True if only server code may write. False lets every client submit any score as its own.
    pub authoritative: bool,
    /// Order of scores.
    pub order: RankOrder,
    /// Default operator of writes.
    pub operator: Operator,
    /// Reset times, parsed by [`Schedule`]. Empty for never.
    pub reset_schedule: String,
    /// JSON object for the game.
    pub metadata: String,
}

/// Leaderboard.
#[derive(Debug)]
pub struct Board {
    /// Definition.
    pub definition: Definition,
    /// Creation time, in milliseconds since 1970.
    pub created_at_ms: i64,
    schedule: Option<Schedule>,
    /// Period that was current at the last call.
    period: Mutex<Span>,
    /// Time of the first unreported reset, in seconds since 1970.
    first_unreported: AtomicI64,
    /// Distinguishes successive boards with the same id.
    pub(super) number: u64,
    /// Set when the board is deleted, for those who still hold it.
    pub(super) deleted: AtomicBool,
}

/// Time from one reset to before the next.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: i64,
    until: i64,
}

/// Expiry of a board without resets.
const NEVER: i64 = 0;

impl Definition {
    /// Creates a board of best scores, highest first, without resets, to which only server code may write.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Definition {
        Definition {
            id: id.into(),
            authoritative: true,
            order: RankOrder::Descending,
            operator: Operator::Best,
            reset_schedule: String::new(),
            metadata: "{}".to_owned(),
        }
    }

    /// Lets clients submit scores of their own accounts. Nothing verifies these scores.
    #[must_use]
    pub fn open_to_clients(mut self) -> Definition {
        self.authoritative = false;
        self
    }

    /// Validates the definition.
    pub(super) fn check(&self) -> Result<(), ServiceError> {
        if self.id.is_empty() || self.id.len() > BOARD_ID_BYTES_MAX || self.id.contains('\0') {
            return Err(ServiceError::invalid(format!(
                "A leaderboard's id must have 1 to {BOARD_ID_BYTES_MAX} bytes and no U+0000."
            )));
        }
        check_object(&self.metadata, BOARD_METADATA_BYTES_MAX)
    }
}

impl Board {
    /// Creates a board. `reported_until` is in seconds since 1970.
    pub(super) fn new(definition: Definition, created_at_ms: i64, reported_until: i64) -> Result<Board, ServiceError> {
        static BOARDS: AtomicU64 = AtomicU64::new(0);
        let schedule = match definition.reset_schedule.as_str() {
            "" => None,
            text => Some(Schedule::parse(text, reported_until)?),
        };
        let board = Board {
            definition,
            created_at_ms,
            schedule,
            period: Mutex::new(Span { from: i64::MAX, until: i64::MIN }),
            first_unreported: AtomicI64::new(i64::MAX),
            number: BOARDS.fetch_add(1, Ordering::Relaxed),
            deleted: AtomicBool::new(false),
        };
        board.mark_reported(reported_until);
        Ok(board)
    }

    /// Returns the end of the current period, in seconds since 1970, or 0 without resets.
    #[must_use]
    pub fn expiry(&self, now: i64) -> i64 {
        let Some(schedule) = &self.schedule else { return NEVER };
        let mut period = self.period.lock().unwrap_or_else(PoisonError::into_inner);
        if now < period.from || now >= period.until {
            // Each write calls this, so the result is cached for the period. Past the last reset of the calendar, the
            // period never ends.
            *period = Span { from: now, until: schedule.next_after(now).unwrap_or(i64::MAX) };
        }
        period.until
    }

    /// Returns the time of the last reset, in seconds since 1970. 0 if there was none since the board was created.
    #[must_use]
    pub fn last_reset(&self, now: i64) -> i64 {
        let last = self.schedule.as_ref().and_then(|schedule| schedule.last_until(now));
        last.filter(|last| *last > self.created_at_ms.div_euclid(1_000)).unwrap_or(NEVER)
    }

    /// Returns the first unreported reset, if it is due.
    pub(super) fn unreported_reset(&self, now: i64) -> Option<i64> {
        let reset = self.first_unreported.load(Ordering::Relaxed);
        (reset <= now).then_some(reset)
    }

    /// Marks resets up to this one as reported.
    pub(super) fn mark_reported(&self, reset: i64) {
        let next = self.schedule.as_ref().and_then(|schedule| schedule.next_after(reset));
        self.first_unreported.store(next.unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Returns true if `new` is better than `old`.
    pub(super) fn is_better(&self, new: Score, old: Score) -> bool {
        match self.definition.order {
            RankOrder::Ascending => new < old,
            RankOrder::Descending => new > old,
        }
    }

    /// Reads a row of [`COLUMNS`].
    pub(super) fn read(row: &SqlRow<'_>) -> Result<Board, StoreError> {
        let id: String = row.get(0)?;
        let damaged = |what: &str| StoreError::Failed(format!("the leaderboard \"{id}\" has a damaged {what}"));
        let definition = Definition {
            authoritative: row.get(1)?,
            order: order_from(row.get(2)?).ok_or_else(|| damaged("order"))?,
            operator: Operator::from_number(row.get(3)?).ok_or_else(|| damaged("operator"))?,
            reset_schedule: row.get(4)?,
            metadata: row.get(5)?,
            id: id.clone(),
        };
        Board::new(definition, row.get(6)?, row.get(7)?).map_err(|_| damaged("schedule"))
    }
}

/// Columns that [`Board::read`] reads.
pub(super) const COLUMNS: &str =
    "id, authoritative, sort_order, operator, reset_schedule, metadata, created_at, reset_told_until";

impl Operator {
    /// Returns the number used in the database.
    pub(super) fn number(self) -> i64 {
        match self {
            Operator::Best => 0,
            Operator::Set => 1,
            Operator::Increment => 2,
            Operator::Decrement => 3,
        }
    }

    fn from_number(number: i64) -> Option<Operator> {
        [Operator::Best, Operator::Set, Operator::Increment, Operator::Decrement]
            .into_iter()
            .find(|operator| operator.number() == number)
    }
}

/// Returns the number of an order in the database and on the wire.
#[must_use]
pub fn order_number(order: RankOrder) -> u32 {
    match order {
        RankOrder::Ascending => 0,
        RankOrder::Descending => 1,
    }
}

fn order_from(number: i64) -> Option<RankOrder> {
    match number {
        0 => Some(RankOrder::Ascending),
        1 => Some(RankOrder::Descending),
        _ => None,
    }
}

/// Rejects text that is not a JSON object, or too long.
pub(super) fn check_object(json: &str, bytes_max: usize) -> Result<(), ServiceError> {
    if json.len() > bytes_max {
        return Err(ServiceError::invalid(format!("Metadata must have at most {bytes_max} bytes.")));
    }
    let is_object = json.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(json).is_ok();
    if is_object { Ok(()) } else { Err(ServiceError::invalid("Metadata must be a JSON object.")) }
}
