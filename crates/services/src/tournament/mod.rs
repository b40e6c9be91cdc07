//! Tournaments: leaderboards that begin, end, and are joined.
//!
//! A tournament is a [leaderboard](crate::leaderboard) with [`Terms`]: its records, ranks and periods are those of a
//! leaderboard. It is active for a duration after its start, or after each reset. Scores are accepted only then.
//!
//! # Entrants
//! An owner enters a period by joining it, or by the first score where joining is not required. Each period has its own
//! entrants, at most as many as the terms allow. A joined owner has a record only after the first score, so those who have
//! not played are not ranked.
//!
//! # Attempts
//! Each accepted score is an attempt, also one that does not change the record. A deleted record gives no attempts back, and
//! its owner stays an entrant.

mod deadlines;
mod entrants;
pub mod limits;
mod list;
pub(crate) mod serve;
mod terms;

#[cfg(test)]
mod tests;

pub use deadlines::Deadlines;
pub(crate) use deadlines::Timetable;
pub use list::{TournamentList, TournamentQuery};
pub use terms::Terms;

use crate::caller::Caller;
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::leaderboard::{
    Board, Definition, Leaderboards, ListLimits, Record, RecordList, RecordQuery, RecordWrite, may_change,
};
use aether_store::{Store, StoreError, Transaction};
use entrants::{Entry, enter, forget_entrant};
use limits::{AROUND_LIMIT_MAX, ATTEMPTS_ADDED_MAX, RECORD_LIMIT_DEFAULT, RECORD_LIMIT_MAX};
use std::sync::Arc;
use uuid::Uuid;

const NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Tournament not found.");
const NOT_ACTIVE_FOR_JOINS: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "The tournament is not active, so it cannot be joined. Join between start_active and end_active.",
);
const NOT_ACTIVE_FOR_SCORES: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "The tournament is not active, so it accepts no scores. Submit them between start_active and end_active.",
);
const NO_ATTEMPT_LIMIT: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "The tournament does not limit attempts, so there are none to add.",
);

/// All tournaments.
pub struct Tournaments {
    store: Store,
    clock: Arc<dyn WallClock>,
    boards: Arc<Leaderboards>,
}

/// Tournament at a moment.
#[derive(Clone, Debug)]
pub struct Tournament {
    /// Board with the definition.
    pub board: Arc<Board>,
    /// Deadlines.
    pub deadlines: Deadlines,
    /// Number of entrants of the period.
    pub size: i64,
    /// True if it is active and has a free place.
    pub can_enter: bool,
}

impl Tournaments {
    /// Creates the service over the boards.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>, boards: Arc<Leaderboards>) -> Tournaments {
        Tournaments { store, clock, boards }
    }

    /// Creates a tournament. Returns an existing one with the same id and the same definition; fails with
    /// [`GrpcCode::AlreadyExists`] if the definition differs.
    ///
    /// ```no_run
    /// # async fn create(services: &aether_services::Services) -> Result<(), aether_services::ServiceError> {
    /// use aether_services::leaderboard::Definition;
    /// use aether_services::tournament::Terms;
    ///
    /// let terms = Terms { title: "Daily dash".to_owned(), max_num_score: 3, ..Terms::lasting(3_600) };
    /// let dash = Definition { reset_schedule: "0 12 * * *".to_owned(), ..Definition::new("dash").tournament(terms) };
    /// services.tournaments.create(dash).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn create(&self, definition: Definition) -> Result<Tournament, ServiceError> {
        let Some(terms) = &definition.tournament else {
            return Err(ServiceError::invalid("A tournament needs terms. Set them with `Definition::tournament`."));
        };
        let is_over = terms.end_time > 0 && terms.end_time <= self.clock.now_seconds();
        if is_over && self.board(&definition.id).is_err() {
            return Err(ServiceError::invalid("A tournament must end in the future."));
        }
        let board = self.boards.create_board(definition).await?;
        self.at_present(vec![board]).await?.pop().ok_or(NOT_FOUND)
    }

    /// Deletes a tournament with all its records and entrants. Returns true if it existed. If the server stops in between,
    /// delete it again.
    pub async fn delete(&self, id: &str) -> Result<bool, ServiceError> {
        match self.board(id) {
            Ok(_) => self.boards.delete_board(id).await,
            Err(_) => Ok(false),
        }
    }

    /// Joins the current period. Returns true if the owner had not joined it before.
    pub async fn join(&self, id: &str, owner: Uuid) -> Result<bool, ServiceError> {
        let board = self.board(id)?;
        let entry = self.entry(&board, owner, NOT_ACTIVE_FOR_JOINS)?;
        let joined = self.store.write_in_order(Leaderboards::turn(owner), move |transaction| {
            enter(transaction, &entry, false).map(|(_, is_new)| is_new)
        });
        joined.await.map_err(|error| self.explain(id, error))
    }

    /// Writes a score. Returns the resulting record with its rank, even if the write did not change it. It is an attempt in
    /// both cases.
    pub async fn write(&self, caller: &Caller, id: &str, write: RecordWrite) -> Result<Record, ServiceError> {
        let board = self.board(id)?;
        may_change(caller, &board, write.owner)?;
        let entry = self.entry(&board, write.owner, NOT_ACTIVE_FOR_SCORES)?;
        let expiry = entry.expiry;
        let count =
            move |transaction: &mut Transaction<'_>| enter(transaction, &entry, true).map(|(attempts, _)| attempts);
        self.boards.write_attempt(board, expiry, write, count).await.map_err(|error| self.explain(id, error))
    }

    /// Deletes an owner's record in the current period. Returns true if it existed. The owner stays an entrant, with the
    /// attempts so far.
    pub async fn delete_record(&self, caller: &Caller, id: &str, owner: Uuid) -> Result<bool, ServiceError> {
        let board = self.board(id)?;
        may_change(caller, &board, owner)?;
        let expiry = self.current_expiry(&board);
        self.boards.delete_in_period(board, expiry, owner).await
    }

    /// Adds attempts to an entrant of the current period, or removes some. Returns the attempts that the entrant has in all.
    pub async fn add_attempt(&self, id: &str, owner: Uuid, count: i64) -> Result<i64, ServiceError> {
        let board = self.board(id)?;
        if count == 0 || count.abs() > ATTEMPTS_ADDED_MAX {
            let why = format!("The number of attempts must be from 1 to {ATTEMPTS_ADDED_MAX}, or negative.");
            return Err(ServiceError::invalid(why));
        }
        let attempts = board.definition.tournament.as_ref().map_or(0, |terms| terms.max_num_score);
        if attempts == 0 {
            return Err(NO_ATTEMPT_LIMIT);
        }
        let expiry = self.current_expiry(&board);
        let added = self.store.write_in_order(Leaderboards::turn(owner), move |transaction| {
            entrants::add_attempts(transaction, (&board.definition.id, expiry, owner), attempts, count)
        });
        added.await
    }

    /// Lists records by rank, and those of given owners. Without an expiry, those of the current period; after the end of
    /// the tournament, those of the last one.
    pub async fn records(&self, id: &str, owners: &[Uuid], query: &RecordQuery) -> Result<RecordList, ServiceError> {
        let board = self.board(id)?;
        let limits = ListLimits { default: RECORD_LIMIT_DEFAULT, max: RECORD_LIMIT_MAX };
        let page = self.boards.page(&board, self.current_expiry(&board), owners, query, limits);
        Ok(page.await?.shown_by(&board))
    }

    /// Lists the records around an owner's record, including it. Empty if the owner has none.
    pub async fn records_around(&self, id: &str, owner: Uuid, query: &RecordQuery) -> Result<RecordList, ServiceError> {
        let board = self.board(id)?;
        let limits = ListLimits { default: AROUND_LIMIT_MAX, max: AROUND_LIMIT_MAX };
        let page = self.boards.page_around(&board, self.current_expiry(&board), owner, query, limits);
        Ok(page.await?.shown_by(&board))
    }

    /// Shows no ranks in records of a tournament from now on. Returns false if there is no such tournament.
    pub async fn disable_ranks(&self, id: &str) -> Result<bool, ServiceError> {
        match self.board(id) {
            Ok(board) => self.boards.disable_ranks_of(&board).await.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Deletes an owner from all tournaments, in the transaction that erases the account, and in the owner's
    /// [turn](Leaderboards::turn). The places in current periods become free.
    pub fn forget_within(&self, transaction: &mut Transaction<'_>, owner: Uuid) -> Result<(), StoreError> {
        forget_entrant(transaction, owner)
    }

    /// Returns the board of a tournament.
    fn board(&self, id: &str) -> Result<Arc<Board>, ServiceError> {
        self.boards.any_board(id).filter(|board| board.definition.tournament.is_some()).ok_or(NOT_FOUND)
    }

    fn current_expiry(&self, board: &Board) -> i64 {
        board.deadlines(self.clock.now_seconds()).map_or(0, |deadlines| deadlines.expiry)
    }

    /// Returns the entry of an owner into the current period, unless the tournament is not active.
    fn entry(&self, board: &Board, owner: Uuid, not_active: ServiceError) -> Result<Entry, ServiceError> {
        let now_ms = self.clock.now_ms();
        let now = now_ms.div_euclid(1_000);
        let deadlines = board.deadlines(now).filter(|deadlines| deadlines.is_active(now)).ok_or(not_active)?;
        let terms = board.definition.tournament.as_ref().ok_or(NOT_FOUND)?;
        Ok(Entry {
            tournament: board.definition.id.clone(),
            expiry: deadlines.expiry,
            owner,
            now_ms,
            max_num_score: terms.max_num_score,
            join_required: terms.join_required,
        })
    }

    /// Adds the number of entrants to tournaments.
    async fn at_present(&self, boards: Vec<Arc<Board>>) -> Result<Vec<Tournament>, ServiceError> {
        let ids: Vec<String> = boards.iter().map(|board| board.definition.id.clone()).collect();
        let read = self.store.read(move |transaction| entrants::sizes(transaction, &ids));
        let sizes = read.await.map_err(|error: StoreError| ServiceError::from(error))?;
        let now = self.clock.now_seconds();
        let tournaments = boards.into_iter().filter_map(|board| {
            let deadlines = board.deadlines(now)?;
            let size = sizes.get(&board.definition.id).filter(|(_, expiry)| *expiry == deadlines.expiry);
            let size = size.map_or(0, |(size, _)| *size);
            let max_size = board.definition.tournament.as_ref()?.max_size;
            let can_enter = deadlines.is_active(now) && (max_size == 0 || size < max_size);
            Some(Tournament { board, deadlines, size, can_enter })
        });
        Ok(tournaments.collect())
    }

    /// A tournament that is deleted during a write is not an internal error.
    fn explain(&self, id: &str, error: ServiceError) -> ServiceError {
        if self.board(id).is_err() { NOT_FOUND } else { error }
    }
}

const _: () = assert!(limits::TOURNAMENT_LIMIT_MAX <= 1_000, "a page is read with one statement");
const _: () = assert!(AROUND_LIMIT_MAX <= crate::leaderboard::AROUND_LIMIT_MAX);
