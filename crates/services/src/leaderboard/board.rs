//! A board: what it is, and which period is the current one.

use super::schedule::Schedule;
use crate::error::ServiceError;
use aether_ranks::{RankOrder, Score};
use aether_store::{SqlRow, StoreError};
use serde::de::IgnoredAny;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bytes of a board's id, which is part of each record's key.
pub const BOARD_ID_BYTES_MAX: usize = 128;
/// Bytes of a board's metadata. It is kept in memory.
pub const BOARD_METADATA_BYTES_MAX: usize = 16 << 10;

/// What a write does with the score that stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    /// The better of the two stays, in the board's order.
    Best,
    /// The new one replaces it.
    Set,
    /// The new one is added to it.
    Increment,
    /// The new one is taken from it. It may go below zero.
    Decrement,
}

/// What a board is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its id.
    pub id: String,
    /// Whether only the server's own code writes to it.
    pub authoritative: bool,
    /// Which scores are the better ones.
    pub order: RankOrder,
    /// What a write does, unless it says otherwise.
    pub operator: Operator,
    /// When it begins anew, as [`Schedule`] reads it; empty for never.
    pub reset_schedule: String,
    /// A JSON object, for the game.
    pub metadata: String,
}

/// A board.
#[derive(Debug)]
pub struct Board {
    /// What it is.
    pub definition: Definition,
    /// When it was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    schedule: Option<Schedule>,
    /// The period that was current when it was last asked for.
    period: Mutex<Span>,
    /// The first reset that nobody was told of, in seconds since 1970.
    untold: AtomicI64,
    /// Tells boards apart that follow each other under one id.
    pub(super) number: u64,
    /// Set when it is deleted, for those who still have it in hand.
    pub(super) deleted: AtomicBool,
}

/// From one reset, to before the next.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: i64,
    until: i64,
}

/// The expiry of a board that has no resets.
const NEVER: i64 = 0;

impl Definition {
    /// A board for everyone's best, the highest first, without resets.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Definition {
        Definition {
            id: id.into(),
            authoritative: false,
            order: RankOrder::Descending,
            operator: Operator::Best,
            reset_schedule: String::new(),
            metadata: "{}".to_owned(),
        }
    }

    /// Refuses what cannot be a board.
    pub(super) fn check(&self) -> Result<(), ServiceError> {
        if self.id.is_empty() || self.id.len() > BOARD_ID_BYTES_MAX || self.id.contains('\0') {
            return Err(ServiceError::invalid(format!(
                "A leaderboard's id must have 1 to {BOARD_ID_BYTES_MAX} bytes, none of them zero."
            )));
        }
        check_object(&self.metadata, BOARD_METADATA_BYTES_MAX)
    }
}

impl Board {
    /// A board that is being made or was read. `told_until` is in seconds.
    pub(super) fn new(definition: Definition, created_at_ms: i64, told_until: i64) -> Result<Board, ServiceError> {
        static BOARDS: AtomicU64 = AtomicU64::new(0);
        let schedule = match definition.reset_schedule.as_str() {
            "" => None,
            text => Some(Schedule::parse(text, told_until)?),
        };
        let board = Board {
            definition,
            created_at_ms,
            schedule,
            period: Mutex::new(Span { from: i64::MAX, until: i64::MIN }),
            untold: AtomicI64::new(i64::MAX),
            number: BOARDS.fetch_add(1, Ordering::Relaxed),
            deleted: AtomicBool::new(false),
        };
        board.note_told(told_until);
        Ok(board)
    }

    /// Which end of the period it is that is current now: seconds since 1970, or 0 without resets.
    #[must_use]
    pub fn expiry(&self, now: i64) -> i64 {
        let Some(schedule) = &self.schedule else { return NEVER };
        let mut period = self.period.lock().unwrap_or_else(PoisonError::into_inner);
        if now < period.from || now >= period.until {
            // Each write asks, so the calendar is searched once in a period. Beyond the calendar no period ends.
            *period = Span { from: now, until: schedule.next_after(now).unwrap_or(i64::MAX) };
        }
        period.until
    }

    /// The last reset, in seconds since 1970; 0 if there was none since the board was made.
    #[must_use]
    pub fn last_reset(&self, now: i64) -> i64 {
        let last = self.schedule.as_ref().and_then(|schedule| schedule.last_until(now));
        last.filter(|last| *last > self.created_at_ms.div_euclid(1_000)).unwrap_or(NEVER)
    }

    /// The first reset that nobody was told of, if it has come.
    pub(super) fn untold_reset(&self, now: i64) -> Option<i64> {
        let reset = self.untold.load(Ordering::Relaxed);
        (reset <= now).then_some(reset)
    }

    /// Notes that resets were told up to this one.
    pub(super) fn note_told(&self, reset: i64) {
        let next = self.schedule.as_ref().and_then(|schedule| schedule.next_after(reset));
        self.untold.store(next.unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Whether `new` is better than `old` here.
    pub(super) fn is_better(&self, new: Score, old: Score) -> bool {
        match self.definition.order {
            RankOrder::Ascending => new < old,
            RankOrder::Descending => new > old,
        }
    }

    /// Reads what [`COLUMNS`] names.
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

/// The columns that [`Board::read`] reads.
pub(super) const COLUMNS: &str =
    "id, authoritative, sort_order, operator, reset_schedule, metadata, created_at, reset_told_until";

impl Operator {
    /// The number by which the database knows it.
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

/// The number by which the database and the wire know an order.
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

/// Refuses what is no JSON object, or too long.
pub(super) fn check_object(json: &str, bytes_max: usize) -> Result<(), ServiceError> {
    if json.len() > bytes_max {
        return Err(ServiceError::invalid(format!("Metadata must have at most {bytes_max} bytes.")));
    }
    let is_object = json.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(json).is_ok();
    if is_object { Ok(()) } else { Err(ServiceError::invalid("Metadata must be a JSON object.")) }
}
