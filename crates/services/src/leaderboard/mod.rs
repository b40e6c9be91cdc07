//! Leaderboards: boards, records of owners, and ranks.
//!
//! # Records
//! A record belongs to a board, a period and an owner. Score and subscore are one value: the subscore decides between
//! equal scores, and a record never combines the score of one run with the subscore of another. Scores may be negative.
//! A write that changes nothing, such as one that is not better, leaves the whole record unchanged. Omitted metadata
//! stays.
//!
//! # Periods
//! A board with a [`Schedule`] is reset at each of its times. A period is identified by its end, the `expiry`. Earlier
//! periods stay readable. Without a schedule there is one period, whose expiry is 0.
//!
//! # Ranks
//! Ranks are held in memory: for current periods always, for earlier ones on request. They follow the commits. Equal
//! scores are ordered by the bytes of the owner's id, so no two records share a rank: ascending boards have the lower
//! id first and descending ones the higher, like `ORDER BY score, subscore, owner_id` in the database, with `DESC` on
//! all columns for descending boards.
//!
//! Only one server at a time may use the boards of a database.
//!
//! A board with [`Terms`](crate::tournament::Terms) is a [tournament](crate::tournament). It has the same records and
//! periods, and is created, written and listed by that service only.

mod board;
mod hooks;
mod list;
mod pending;
mod period;
mod periods;
mod record;
mod reset;
mod schedule;
pub(crate) mod serve;
mod write;

#[cfg(test)]
mod tests;

pub use aether_ranks::{RankOrder, Score};
pub use board::{BOARD_ID_BYTES_MAX, BOARD_METADATA_BYTES_MAX, Board, Definition, Operator, order_number};
pub use hooks::PeriodHooks;
pub(crate) use list::ListLimits;
pub use list::{AROUND_LIMIT_MAX, RECORD_LIMIT_MAX, RecordList, RecordQuery};
pub use record::Record;
#[cfg(test)]
pub(crate) use reset::Report;
pub use reset::{Reset, ResetHook, TournamentEnd, TournamentReset};
pub use schedule::Schedule;
pub(crate) use write::{Attempts, may_change};
pub use write::{RECORD_METADATA_BYTES_MAX, RecordWrite};

use crate::clock::WallClock;
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Store, StoreError, Transaction, values};
use board::COLUMNS;
use periods::Periods;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError, RwLock};

/// Maximum boards per page.
pub const BOARD_LIMIT_MAX: usize = 100;
/// Records deleted per transaction with their board. Other writers get their turn in between.
const DELETE_STEP: i64 = 10_000;

/// Error for a missing board.
pub(super) const BOARD_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Leaderboard not found.");

/// All leaderboards.
pub struct Leaderboards {
    store: Store,
    clock: Arc<dyn WallClock>,
    boards: RwLock<BTreeMap<String, Arc<Board>>>,
    periods: Arc<Periods>,
    reset_hooks: Vec<ResetHook>,
    /// Serializes creating and deleting boards, so that a board is not created while it is still being deleted.
    board_changes: tokio::sync::Mutex<()>,
    /// Serializes the reports of resets.
    reporting: tokio::sync::Mutex<()>,
}

/// Page of boards.
#[derive(Clone, Debug)]
pub struct BoardList {
    /// Boards, by id.
    pub boards: Vec<Arc<Board>>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
}

#[derive(Serialize, Deserialize)]
struct BoardCursor {
    after: String,
}

impl Leaderboards {
    /// Opens the service. Loads the boards and the ranks of their current periods.
    pub async fn open(store: Store, clock: Arc<dyn WallClock>) -> Result<Leaderboards, ServiceError> {
        let sql = format!("SELECT {COLUMNS} FROM leaderboards ORDER BY id");
        let boards: Vec<Board> =
            store.read(move |transaction| transaction.rows(&sql, &[], Board::read).map_err(ServiceError::from)).await?;
        let now = clock.now_seconds();
        let periods = Arc::new(Periods::new(store.clone()));
        let boards: Vec<Arc<Board>> = boards.into_iter().map(Arc::new).collect();
        for board in &boards {
            periods.ready(board, board.expiry(now), now).await?;
        }
        let boards = boards.into_iter().map(|board| (board.definition.id.clone(), board));
        Ok(Leaderboards {
            store,
            clock,
            boards: RwLock::new(boards.collect()),
            periods,
            reset_hooks: Vec::new(),
            board_changes: tokio::sync::Mutex::default(),
            reporting: tokio::sync::Mutex::default(),
        })
    }

    /// Creates a board. Returns an existing board with the same id and the same definition; fails with
    /// [`GrpcCode::AlreadyExists`] if the definition differs. An existing board that is open to clients becomes
    /// authoritative if the definition differs only in that; its records stay.
    pub async fn create(&self, definition: Definition) -> Result<Arc<Board>, ServiceError> {
        match definition.tournament {
            None => self.create_board(definition).await,
            Some(_) => Err(ServiceError::invalid("Create a tournament with `services.tournaments`.")),
        }
    }

    /// Creates a board or a tournament, as [`Leaderboards::create`] does.
    pub(crate) async fn create_board(&self, definition: Definition) -> Result<Arc<Board>, ServiceError> {
        definition.check()?;
        let _turn = self.board_changes.lock().await;
        let board = match self.any_board(&definition.id) {
            Some(board) => board,
            None => self.insert_board(definition.clone()).await?,
        };
        if is_same(&board.definition, &definition) {
            return Ok(board);
        }
        let is_open = !board.definition.authoritative;
        let closed = Definition { authoritative: true, ..board.definition.clone() };
        if is_open && is_same(&closed, &definition) {
            self.close_to_clients(&board).await
        } else {
            Err(other_settings(&board))
        }
    }

    /// Stores a board that this server does not know. Returns the stored one if another server on the same database has
    /// created it meanwhile.
    async fn insert_board(&self, definition: Definition) -> Result<Arc<Board>, ServiceError> {
        let now_ms = self.clock.now_ms();
        let new = Board::new(definition, now_ms, [now_ms.div_euclid(1_000); 2])?;
        let definition = new.definition.clone();
        let select = format!("SELECT {COLUMNS} FROM leaderboards WHERE id = ?1");
        let operation = move |transaction: &mut Transaction<'_>| {
            if insert(transaction, &definition, now_ms)? {
                return Ok(None);
            }
            transaction.row(&select, values![&definition.id], Board::read)
        };
        let stored = self.store.write(operation).await.map_err(|error: StoreError| ServiceError::from(error))?;
        let board = Arc::new(stored.unwrap_or(new));
        self.boards_mut(|boards| boards.insert(board.definition.id.clone(), Arc::clone(&board)));
        Ok(board)
    }

    /// Deletes a board with all its records, including those of earlier periods. Returns true if it existed.
    ///
    /// A board with many records is deleted in steps. If the server stops in between, the board still exists with fewer
    /// records: delete it again.
    pub async fn delete(&self, board_id: &str) -> Result<bool, ServiceError> {
        match self.board(board_id) {
            Ok(_) => self.delete_board(board_id).await,
            Err(_) => Ok(false),
        }
    }

    /// Deletes a board or a tournament, as [`Leaderboards::delete`] does.
    pub(crate) async fn delete_board(&self, board_id: &str) -> Result<bool, ServiceError> {
        let _turn = self.board_changes.lock().await;
        let Some(board) = self.boards_mut(|boards| boards.remove(board_id)) else { return Ok(false) };
        self.periods.forget(&board);
        let outcome = self.delete_rows(board_id).await;
        if outcome.is_err() {
            // The rest is still a board. It is created anew, because holders of the old one are cut off.
            let Board { definition, created_at_ms, .. } = &*board;
            let reported_until = board.last_reset(self.clock.now_seconds()).max(created_at_ms.div_euclid(1_000));
            let rest = Board::new(definition.clone(), *created_at_ms, [reported_until; 2])?;
            rest.show_ranks(board.has_ranks());
            self.boards_mut(|boards| boards.insert(board_id.to_owned(), Arc::new(rest)));
        }
        outcome.map(|()| true)
    }

    /// Shows no ranks in records of a board from now on. Records are still listed in their order. Returns false if there
    /// is no such board.
    pub async fn disable_ranks(&self, board_id: &str) -> Result<bool, ServiceError> {
        match self.board(board_id) {
            Ok(board) => self.disable_ranks_of(&board).await.map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Shows no ranks of a board or a tournament, as [`Leaderboards::disable_ranks`] does.
    pub(crate) async fn disable_ranks_of(&self, board: &Board) -> Result<(), ServiceError> {
        let id = board.definition.id.clone();
        let sql = "UPDATE leaderboards SET has_ranks = FALSE WHERE id = ?1";
        let stored = self.store.write(move |transaction| transaction.execute(sql, values![&id]));
        stored.await.map_err(|error: StoreError| ServiceError::from(error))?;
        board.show_ranks(false);
        Ok(())
    }

    /// Returns a board. A tournament is none.
    pub fn board(&self, board_id: &str) -> Result<Arc<Board>, ServiceError> {
        self.any_board(board_id).filter(|board| board.definition.tournament.is_none()).ok_or(BOARD_NOT_FOUND)
    }

    /// Returns a board or a tournament.
    pub(crate) fn any_board(&self, board_id: &str) -> Option<Arc<Board>> {
        self.boards.read().unwrap_or_else(PoisonError::into_inner).get(board_id).map(Arc::clone)
    }

    /// Returns all tournaments.
    pub(crate) fn tournaments(&self) -> Vec<Arc<Board>> {
        let boards = self.boards.read().unwrap_or_else(PoisonError::into_inner);
        boards.values().filter(|board| board.definition.tournament.is_some()).map(Arc::clone).collect()
    }

    /// Lists boards by id, page by page, without tournaments.
    pub fn boards(&self, limit: usize, cursor: &str) -> Result<BoardList, ServiceError> {
        if limit == 0 || limit > BOARD_LIMIT_MAX {
            return Err(ServiceError::invalid(format!("A list has 1 to {BOARD_LIMIT_MAX} leaderboards.")));
        }
        let position: Option<BoardCursor> = cursor::decode(cursor)?;
        let from = position.as_ref().map_or(Bound::Unbounded, |position| Bound::Excluded(position.after.as_str()));
        let boards = self.boards.read().unwrap_or_else(PoisonError::into_inner);
        let rest = boards.range::<str, _>((from, Bound::Unbounded)).map(|(_, board)| Arc::clone(board));
        let mut rest = rest.filter(|board| board.definition.tournament.is_none());
        let page: Vec<Arc<Board>> = rest.by_ref().take(limit).collect();
        let last = page.last().filter(|_| rest.next().is_some());
        let cursor = last.map(|last| cursor::encode(&BoardCursor { after: last.definition.id.clone() }));
        Ok(BoardList { boards: page, cursor: cursor.unwrap_or_default() })
    }

    /// Makes a board authoritative. It is read anew, and holders of the open board are cut off.
    async fn close_to_clients(&self, board: &Arc<Board>) -> Result<Arc<Board>, ServiceError> {
        let id = board.definition.id.clone();
        let sql = format!("UPDATE leaderboards SET authoritative = TRUE WHERE id = ?1 RETURNING {COLUMNS}");
        let closed = self.store.write(move |transaction| transaction.row(&sql, values![&id], Board::read));
        let closed = closed.await.map_err(|error: StoreError| ServiceError::from(error))?;
        let closed = Arc::new(closed.ok_or(BOARD_NOT_FOUND)?);
        self.periods.forget(board);
        self.boards_mut(|boards| boards.insert(closed.definition.id.clone(), Arc::clone(&closed)));
        Ok(closed)
    }

    async fn delete_rows(&self, board_id: &str) -> Result<(), ServiceError> {
        for (table, column) in [("leaderboard_records", "leaderboard_id"), ("tournament_entrants", "tournament")] {
            let sql = format!(
                "DELETE FROM {table} WHERE {column} = ?1 AND (expiry, owner_id) IN \
                 (SELECT expiry, owner_id FROM {table} WHERE {column} = ?1 LIMIT ?2)"
            );
            loop {
                let (id, sql) = (board_id.to_owned(), sql.clone());
                let step = self.store.write(move |transaction| transaction.execute(&sql, values![&id, DELETE_STEP]));
                let deleted = step.await.map_err(|error: StoreError| ServiceError::from(error))?;
                if deleted < DELETE_STEP as u64 {
                    break;
                }
            }
        }
        let id = board_id.to_owned();
        // Deletes records written meanwhile as well, by foreign key.
        let last = self
            .store
            .write(move |transaction| transaction.execute("DELETE FROM leaderboards WHERE id = ?1", values![&id]));
        last.await.map(|_| ()).map_err(|error: StoreError| ServiceError::from(error))
    }

    fn boards_mut<T>(&self, change: impl FnOnce(&mut BTreeMap<String, Arc<Board>>) -> T) -> T {
        change(&mut self.boards.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Inserts a board. Returns false if there is one with its id.
fn insert(transaction: &mut Transaction<'_>, definition: &Definition, now_ms: i64) -> Result<bool, StoreError> {
    let Definition { id, authoritative, order, operator, reset_schedule, metadata, tournament } = definition;
    let now = now_ms.div_euclid(1_000);
    let mut parameters = values![id, *authoritative, order_number(*order), operator.number()].to_vec();
    parameters.extend_from_slice(values![reset_schedule, metadata, now_ms, now]);
    let inserted = transaction.execute(
        "INSERT INTO leaderboards (id, authoritative, sort_order, operator, reset_schedule, metadata, created_at, \
         reset_told_until, end_reported_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8) ON CONFLICT (id) DO NOTHING",
        &parameters,
    )?;
    let (Some(terms), 1) = (tournament, inserted) else { return Ok(inserted == 1) };
    let mut parameters = values![id, &terms.title, &terms.description, i64::from(terms.category)].to_vec();
    parameters.extend_from_slice(values![terms.start_time, terms.end_time, terms.duration]);
    parameters.extend_from_slice(values![terms.max_size, terms.max_num_score, terms.join_required]);
    transaction.execute(
        "UPDATE leaderboards SET title = ?2, description = ?3, category = ?4, start_time = ?5, end_time = ?6, \
         duration = ?7, max_size = ?8, max_num_score = ?9, join_required = ?10 WHERE id = ?1",
        &parameters,
    )?;
    Ok(true)
}

/// Returns true if two definitions are equal, ignoring the formatting of metadata.
fn is_same(one: &Definition, other: &Definition) -> bool {
    let parsed = |definition: &Definition| serde_json::from_str::<serde_json::Value>(&definition.metadata).ok();
    let same_metadata = one.metadata == other.metadata || parsed(one) == parsed(other);
    same_metadata && *one == Definition { metadata: one.metadata.clone(), ..other.clone() }
}

fn other_settings(board: &Board) -> ServiceError {
    let id = &board.definition.id;
    let why =
        format!("Leaderboard \"{id}\" already exists with other settings. Delete it first, or choose another id.");
    ServiceError::with(GrpcCode::AlreadyExists, why)
}
