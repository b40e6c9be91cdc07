//! Boards and their current periods.

use super::schedule::Schedule;
use crate::error::ServiceError;
use crate::tournament::{Deadlines, Terms, Timetable};
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
    /// Terms, if it is a tournament.
    pub tournament: Option<Terms>,
}

/// Event of a board that is reported to hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Active time of a tournament ended at this time.
    End(i64),
    /// Reset at this time.
    Reset(i64),
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
    /// Time of the first unreported end of a tournament's active time, in seconds since 1970.
    first_unreported_end: AtomicI64,
    /// Distinguishes successive boards with the same id.
    pub(super) number: u64,
    /// Set when the board is deleted, for those who still hold it.
    pub(super) deleted: AtomicBool,
    /// False if its records show no ranks.
    has_ranks: AtomicBool,
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
            tournament: None,
        }
    }

    /// Makes it a tournament with these terms.
    #[must_use]
    pub fn tournament(mut self, terms: Terms) -> Definition {
        self.tournament = Some(terms);
        self
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
        self.tournament.as_ref().map_or(Ok(()), Terms::check)?;
        check_object(&self.metadata, BOARD_METADATA_BYTES_MAX)
    }
}

impl Board {
    /// Creates a board. `reported_until` are the times up to which resets and ends were reported, in seconds since 1970.
    pub(super) fn new(
        definition: Definition,
        created_at_ms: i64,
        reported_until: [i64; 2],
    ) -> Result<Board, ServiceError> {
        static BOARDS: AtomicU64 = AtomicU64::new(0);
        let schedule = match definition.reset_schedule.as_str() {
            "" => None,
            text => Some(Schedule::parse(text, reported_until[0])?),
        };
        let board = Board {
            definition,
            created_at_ms,
            schedule,
            period: Mutex::new(Span { from: i64::MAX, until: i64::MIN }),
            first_unreported: AtomicI64::new(i64::MAX),
            first_unreported_end: AtomicI64::new(i64::MAX),
            number: BOARDS.fetch_add(1, Ordering::Relaxed),
            deleted: AtomicBool::new(false),
            has_ranks: AtomicBool::new(true),
        };
        board.mark_reported(Due::Reset(reported_until[0]));
        board.mark_reported(Due::End(reported_until[1]));
        Ok(board)
    }

    /// Returns the deadlines at a time in seconds since 1970, if it is a tournament.
    #[must_use]
    pub fn deadlines(&self, now: i64) -> Option<Deadlines> {
        self.timetable().map(|timetable| timetable.deadlines(now))
    }

    /// Returns the timetable of a tournament.
    pub(crate) fn timetable(&self) -> Option<Timetable<'_>> {
        let terms = self.definition.tournament.as_ref()?;
        Some(Timetable::new(terms, self.schedule.as_ref(), self.created_at_ms.div_euclid(1_000)))
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

    /// Returns the first unreported event, if it is due. An end precedes a reset at the same time.
    pub(super) fn unreported(&self, now: i64) -> Option<Due> {
        let reset = self.first_unreported.load(Ordering::Relaxed);
        let end = self.first_unreported_end.load(Ordering::Relaxed);
        match end <= reset {
            true => (end <= now).then_some(Due::End(end)),
            false => (reset <= now).then_some(Due::Reset(reset)),
        }
    }

    /// Marks events of a kind up to this one as reported.
    pub(super) fn mark_reported(&self, due: Due) {
        let (next, first) = match due {
            Due::End(end) => (self.timetable().and_then(|times| times.next_end(end)), &self.first_unreported_end),
            Due::Reset(reset) => {
                let next = match self.timetable() {
                    Some(times) => times.next_reset(reset),
                    None => self.schedule.as_ref().and_then(|schedule| schedule.next_after(reset)),
                };
                (next, &self.first_unreported)
            }
        };
        first.store(next.unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Returns true if its records show ranks.
    #[must_use]
    pub fn has_ranks(&self) -> bool {
        self.has_ranks.load(Ordering::Relaxed)
    }

    /// Sets if its records show ranks.
    pub(super) fn show_ranks(&self, has_ranks: bool) {
        self.has_ranks.store(has_ranks, Ordering::Relaxed);
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
            tournament: read_terms(row)?,
        };
        let board = Board::new(definition, row.get(6)?, [row.get(7)?, row.get(8)?]);
        let board = board.map_err(|_| damaged("schedule"))?;
        board.show_ranks(row.get(18)?);
        Ok(board)
    }
}

fn read_terms(row: &SqlRow<'_>) -> Result<Option<Terms>, StoreError> {
    let duration: i64 = row.get(9)?;
    if duration == 0 {
        return Ok(None);
    }
    Ok(Some(Terms {
        title: row.get(10)?,
        description: row.get(11)?,
        category: row.get::<i64>(12)?.try_into().unwrap_or(0),
        start_time: row.get(13)?,
        end_time: row.get(14)?,
        duration,
        max_size: row.get(15)?,
        max_num_score: row.get(16)?,
        join_required: row.get(17)?,
    }))
}

/// Columns that [`Board::read`] reads.
pub(super) const COLUMNS: &str = "id, authoritative, sort_order, operator, reset_schedule, metadata, created_at, \
     reset_told_until, end_reported_until, duration, title, description, category, start_time, end_time, max_size, \
     max_num_score, join_required, has_ranks";

impl Operator {
    /// Returns the number used in the database.
    pub(crate) fn number(self) -> i64 {
        match self {
            Operator::Best => 0,
            Operator::Set => 1,
            Operator::Increment => 2,
            Operator::Decrement => 3,
        }
    }

    /// Returns the number used in messages, in which 0 is no operator.
    pub(crate) fn number_on_wire(self) -> i32 {
        self.number() as i32 + 1
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
