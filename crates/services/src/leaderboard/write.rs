//! Writes and deletes records.
//!
//! Commits of an owner reach memory in the same order, because all of them run in the owner's turn, even if the caller
//! is gone.

use super::board::{Board, Operator, check_object};
use super::pending::{Pending, UncertainRecord};
use super::period::Period;
use super::periods::Periods;
use super::record::{Record, read_one, record_columns, search_one};
use super::{BOARD_NOT_FOUND, Leaderboards};
use crate::caller::Caller;
use crate::error::{GrpcCode, ServiceError, TOKEN_REQUIRED};
use aether_ranks::{RankOrder, Score};
use aether_store::{SqlValue, Statements, StoreError, Transaction, values};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::Uuid;

/// Maximum bytes of a record's metadata. A page of a thousand records carries it a thousand times.
pub const RECORD_METADATA_BYTES_MAX: usize = 4 << 10;
/// Maximum bytes of the username in a record, as long as usernames may be.
const USERNAME_BYTES_MAX: usize = 128;

/// Write of a score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordWrite {
    /// Owner of the record. Users write their own only.
    pub owner: Uuid,
    /// Username, shown with the record. If empty, the previous one stays.
    pub username: String,
    /// Score and subscore: one value.
    pub score: Score,
    /// Operator, if different from the board's.
    pub operator: Option<Operator>,
    /// JSON object. `None` keeps the previous one.
    pub metadata: Option<String>,
}

/// Write in progress.
struct Upsert {
    board: Arc<Board>,
    periods: Arc<Periods>,
    period: Arc<Period>,
    expiry: i64,
    now_ms: i64,
    write: RecordWrite,
    action: Action,
    /// Rank after the commit.
    rank: AtomicU64,
}

/// Attempts of an owner in a period of a tournament.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attempts {
    /// Attempts so far, including the one in progress.
    pub used: i64,
    /// Maximum attempts. 0 for no limit.
    pub max: i64,
}

/// Action of a write. Operators that differ only in a sign share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Best,
    Set,
    Add,
}

impl Leaderboards {
    /// Writes a score. Returns the resulting record with its rank, even if the write did not change it.
    ///
    /// Fails if the score leaves the range of 64 bits, or if a user writes to an authoritative board.
    pub async fn write(&self, caller: &Caller, board_id: &str, write: RecordWrite) -> Result<Record, ServiceError> {
        let board = self.board(board_id)?;
        may_change(caller, &board, write.owner)?;
        let mut record = self.write_ranked(&board, write).await?;
        record.show_rank_of(&board);
        Ok(record)
    }

    async fn write_ranked(&self, board: &Arc<Board>, write: RecordWrite) -> Result<Record, ServiceError> {
        let now_ms = self.clock.now_ms();
        let expiry = board.expiry(now_ms.div_euclid(1_000));
        let upsert = self.begin_upsert(Arc::clone(board), expiry, now_ms, write).await?;
        if let Some(record) = self.unchanged_record(&upsert).await? {
            return Ok(record);
        }
        let upsert = Arc::new(upsert);
        let done = Arc::clone(&upsert);
        if let Some(record) = self.try_upsert(&upsert).await? {
            return Ok(record);
        }
        let written = self.store.write_in_order(turn(upsert.write.owner), move |transaction| upsert.run(transaction));
        let mut record = written.await.map_err(|error| done.explain(error))?;
        record.rank = done.rank.load(Ordering::Relaxed);
        Ok(record)
    }

    /// Writes a score of a tournament. `enter` counts the attempt in the same transaction, or refuses it.
    pub(crate) async fn write_attempt(
        &self,
        board: Arc<Board>,
        expiry: i64,
        write: RecordWrite,
        enter: impl Fn(&mut Transaction<'_>) -> Result<Attempts, ServiceError> + Send + 'static,
    ) -> Result<Record, ServiceError> {
        let upsert = Arc::new(self.begin_upsert(board, expiry, self.clock.now_ms(), write).await?);
        let done = Arc::clone(&upsert);
        let written = self.store.write_in_order(turn(upsert.write.owner), move |transaction| {
            let Attempts { used, max } = enter(transaction)?;
            let record = upsert.run(transaction)?;
            transaction.execute(
                "UPDATE leaderboard_records SET num_score = ?4, max_num_score = ?5 \
                 WHERE leaderboard_id = ?1 AND expiry = ?2 AND owner_id = ?3",
                values![&upsert.board.definition.id, upsert.expiry, upsert.write.owner, used, max],
            )?;
            Ok(Record { num_score: used, max_num_score: max, ..record })
        });
        let mut record = written.await.map_err(|error| done.explain(error))?;
        record.rank = done.rank.load(Ordering::Relaxed);
        record.show_rank_of(&done.board);
        Ok(record)
    }

    /// Checks a write and loads its period.
    async fn begin_upsert(
        &self,
        board: Arc<Board>,
        expiry: i64,
        now_ms: i64,
        write: RecordWrite,
    ) -> Result<Upsert, ServiceError> {
        write.check()?;
        let (action, score) = resolve(write.operator.unwrap_or(board.definition.operator), write.score)?;
        let period = self.periods.ready(&board, expiry, now_ms.div_euclid(1_000)).await?;
        let write = RecordWrite { score, ..write };
        let (periods, rank) = (Arc::clone(&self.periods), AtomicU64::new(0));
        Ok(Upsert { board, periods, period, expiry, now_ms, write, action, rank })
    }

    /// Deletes an owner's record in the current period. Returns true if it existed.
    pub async fn delete_record(&self, caller: &Caller, board_id: &str, owner: Uuid) -> Result<bool, ServiceError> {
        let board = self.board(board_id)?;
        may_change(caller, &board, owner)?;
        let expiry = board.expiry(self.clock.now_seconds());
        self.delete_in_period(board, expiry, owner).await
    }

    /// Deletes an owner's record in a period. Returns true if it existed.
    pub(crate) async fn delete_in_period(
        &self,
        board: Arc<Board>,
        expiry: i64,
        owner: Uuid,
    ) -> Result<bool, ServiceError> {
        let periods = Arc::clone(&self.periods);
        let deleted = self.store.write_in_order(turn(owner), move |transaction| {
            let deleted = transaction.execute(
                "DELETE FROM leaderboard_records WHERE leaderboard_id = ?1 AND expiry = ?2 AND owner_id = ?3",
                values![&board.definition.id, expiry, owner],
            )?;
            let pending = Pending::new(&periods, UncertainRecord { board: Arc::clone(&board), expiry, owner });
            transaction.after_commit(move || {
                pending.settle(None);
            });
            Ok::<_, StoreError>(deleted > 0)
        });
        Ok(deleted.await?)
    }

    /// Deletes all records of an owner in all boards and periods.
    pub async fn forget_owner(self: &Arc<Self>, owner: Uuid) -> Result<(), ServiceError> {
        let leaderboards = Arc::clone(self);
        let turn = Leaderboards::turn(owner);
        let forgotten =
            self.store.write_in_order(turn, move |transaction| leaderboards.forget_within(transaction, owner));
        Ok(forgotten.await?)
    }

    /// Like [`Leaderboards::forget_owner`], within a larger transaction. It has to run by
    /// [`Store::write_in_order`](aether_store::Store::write_in_order) in the owner's [turn](Leaderboards::turn),
    /// otherwise a concurrent write could reach memory after it.
    pub fn forget_within(&self, transaction: &mut Transaction<'_>, owner: Uuid) -> Result<(), StoreError> {
        let deleted = transaction.rows(
            "DELETE FROM leaderboard_records WHERE owner_id = ?1 RETURNING leaderboard_id, expiry",
            values![owner],
            |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)),
        )?;
        let pending = deleted.into_iter().filter_map(|(board_id, expiry)| {
            let board = self.any_board(&board_id)?;
            Some(Pending::new(&self.periods, UncertainRecord { board, expiry, owner }))
        });
        let pending: Vec<Pending> = pending.collect();
        transaction.after_commit(move || {
            for pending in pending {
                pending.settle(None);
            }
        });
        Ok(())
    }

    /// Returns the key that serializes an owner's writes.
    #[must_use]
    pub fn turn(owner: Uuid) -> u64 {
        turn(owner)
    }

    /// Writes with one statement. Returns `None` if it changed nothing, whose reason has to be found.
    async fn try_upsert(&self, upsert: &Arc<Upsert>) -> Result<Option<Record>, ServiceError> {
        let pending = Pending::new(&upsert.periods, upsert.record_key());
        let statement = upsert.statement().in_order(turn(upsert.write.owner));
        let written = self.store.run(statement, move |answers| {
            let record = answers.row(0, Record::read)?;
            let Some(record) = record else {
                pending.cancel();
                return Ok(None);
            };
            let rank = pending.settle(Some(record.score)).unwrap_or(0);
            Ok(Some(Record { rank, ..record }))
        });
        written.await.map_err(|error| upsert.explain(error))
    }

    /// Returns the current record if the ranking shows that the write changes nothing. Such a write never reaches the
    /// database.
    async fn unchanged_record(&self, upsert: &Upsert) -> Result<Option<Record>, ServiceError> {
        let owner = upsert.write.owner;
        let Some(ranked) = upsert.period.ranked_record(owner) else { return Ok(None) };
        if upsert.action != Action::Best || upsert.board.is_better(upsert.write.score, ranked.score) {
            return Ok(None);
        }
        let (board, expiry) = (&upsert.board, upsert.expiry);
        let search = search_one(&board.definition.id, expiry, owner);
        let read = self.store.run(search, |answers| answers.row(0, Record::read));
        // A concurrent write may have changed it; then the database decides which is better.
        let record = read.await?.filter(|record: &Record| record.score == ranked.score);
        Ok(record.map(|record| Record { rank: ranked.rank, ..record }))
    }
}

impl RecordWrite {
    fn check(&self) -> Result<(), ServiceError> {
        if self.username.len() > USERNAME_BYTES_MAX || self.username.contains('\0') {
            return Err(ServiceError::invalid(format!(
                "A username must have at most {USERNAME_BYTES_MAX} bytes and no U+0000."
            )));
        }
        self.metadata.as_ref().map_or(Ok(()), |metadata| check_object(metadata, RECORD_METADATA_BYTES_MAX))
    }
}

/// One statement per action, which inserts the record or updates the existing one; `num_score` counts the changes. It
/// returns no row if there is nothing to change, the sum would overflow, or the owner was erased. An erasure runs in
/// the owner's turn too, so it is complete before this begins or starts after it.
macro_rules! upsert {
    (set $set:literal where $condition:literal) => {
        concat!(
            "INSERT INTO leaderboard_records AS r (leaderboard_id, expiry, owner_id, username, score, subscore, \
             num_score, metadata, created_at, updated_at) \
             SELECT ?1, ?2, ?3, ?4, ?5, ?6, 1, COALESCE(?7, '{}'), ?8, ?8 \
             WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?3) \
             ON CONFLICT (leaderboard_id, expiry, owner_id) DO UPDATE SET ",
            $set,
            ", username = CASE excluded.username WHEN '' THEN r.username ELSE excluded.username END, \
             metadata = COALESCE(?7, r.metadata), num_score = r.num_score + 1, updated_at = excluded.updated_at WHERE ",
            $condition,
            " RETURNING ",
            record_columns!()
        )
    };
}

const BEST_OF_ASCENDING: &str = upsert!(
    set "score = excluded.score, subscore = excluded.subscore"
    where "(excluded.score, excluded.subscore) < (r.score, r.subscore)"
);
const BEST_OF_DESCENDING: &str = upsert!(
    set "score = excluded.score, subscore = excluded.subscore"
    where "(excluded.score, excluded.subscore) > (r.score, r.subscore)"
);
const SET: &str = upsert!(
    set "score = excluded.score, subscore = excluded.subscore"
    where "excluded.score <> r.score OR excluded.subscore <> r.subscore OR COALESCE(?7, r.metadata) <> r.metadata"
);
/// The sum is computed only if it fits: SQLite would switch to a float, and PostgreSQL would fail.
const ADD: &str = upsert!(
    set "score = r.score + excluded.score, subscore = r.subscore + excluded.subscore"
    where "r.score BETWEEN ?9 AND ?10 AND r.subscore BETWEEN ?11 AND ?12 \
           AND (excluded.score <> 0 OR excluded.subscore <> 0 OR COALESCE(?7, r.metadata) <> r.metadata)"
);

impl Upsert {
    fn record_key(&self) -> UncertainRecord {
        UncertainRecord { board: Arc::clone(&self.board), expiry: self.expiry, owner: self.write.owner }
    }

    fn statement(&self) -> Statements {
        let Upsert { board, expiry, now_ms, write, .. } = self;
        let RecordWrite { owner, username, score, metadata, .. } = write;
        let mut parameters: Vec<SqlValue<'_>> = Vec::with_capacity(12);
        parameters.extend_from_slice(values![&board.definition.id, *expiry, owner, username]);
        parameters.extend_from_slice(values![score.score, score.subscore, metadata, *now_ms]);
        let statement = match (self.action, board.definition.order) {
            (Action::Best, RankOrder::Ascending) => BEST_OF_ASCENDING,
            (Action::Best, RankOrder::Descending) => BEST_OF_DESCENDING,
            (Action::Set, _) => SET,
            (Action::Add, _) => {
                for range in [addable_range(score.score), addable_range(score.subscore)] {
                    parameters.extend_from_slice(values![*range.start(), *range.end()]);
                }
                ADD
            }
        };
        Statements::writing(statement, &parameters)
    }

    fn run(self: &Arc<Self>, transaction: &mut Transaction<'_>) -> Result<Record, ServiceError> {
        let Some(record) = transaction.answers(&self.statement())?.row(0, Record::read)? else {
            return self.unchanged(transaction);
        };
        let pending = Pending::new(&self.periods, self.record_key());
        let (upsert, score) = (Arc::clone(self), record.score);
        transaction.after_commit(move || {
            let rank = pending.settle(Some(score));
            upsert.rank.store(rank.unwrap_or(0), Ordering::Relaxed);
        });
        Ok(record)
    }

    /// Returns the current record, unless it is unchanged because the sum overflows.
    fn unchanged(self: &Arc<Self>, transaction: &mut Transaction<'_>) -> Result<Record, ServiceError> {
        let record = read_one(transaction, &self.board.definition.id, self.expiry, self.write.owner)?;
        // The statement has just seen the record, and nobody else can delete it meanwhile, unless the owner was erased.
        let record = record.ok_or(ServiceError::new(GrpcCode::NotFound, "User account not found."))?;
        let (current, added) = (record.score, self.write.score);
        let fits =
            current.score.checked_add(added.score).is_some() && current.subscore.checked_add(added.subscore).is_some();
        if self.action == Action::Add && !fits {
            return Err(OUT_OF_RANGE);
        }
        let upsert = Arc::clone(self);
        transaction.after_commit(move || {
            let ranked = upsert.period.ranked_record(upsert.write.owner);
            upsert.rank.store(ranked.map_or(0, |ranked| ranked.rank), Ordering::Relaxed);
        });
        Ok(record)
    }

    /// A board that is deleted during a write is not an internal error.
    fn explain(&self, error: ServiceError) -> ServiceError {
        if self.board.deleted.load(Ordering::Relaxed) { BOARD_NOT_FOUND } else { error }
    }
}

const OUT_OF_RANGE: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "The score would leave the range of 64-bit integers. Write a smaller change.",
);

/// Rejects a caller that may not change an owner's record.
pub(crate) fn may_change(caller: &Caller, board: &Board, owner: Uuid) -> Result<(), ServiceError> {
    let identity = match caller {
        Caller::Server => return Ok(()),
        Caller::Anonymous => return Err(TOKEN_REQUIRED),
        Caller::User(identity) => identity,
    };
    if board.definition.authoritative {
        let why = match board.definition.tournament {
            None => "Only the server may change records of an authoritative leaderboard.",
            Some(_) => "Only the server may change records of an authoritative tournament.",
        };
        return Err(ServiceError::new(GrpcCode::PermissionDenied, why));
    }
    if identity.user != owner {
        return Err(ServiceError::new(GrpcCode::PermissionDenied, "Users may change only their own records."));
    }
    Ok(())
}

/// Resolves an operator to an action and a value.
fn resolve(operator: Operator, score: Score) -> Result<(Action, Score), ServiceError> {
    Ok(match operator {
        Operator::Best => (Action::Best, score),
        Operator::Set => (Action::Set, score),
        Operator::Increment => (Action::Add, score),
        Operator::Decrement => {
            let negated = |value: i64| value.checked_neg().ok_or(OUT_OF_RANGE);
            (Action::Add, Score { score: negated(score.score)?, subscore: negated(score.subscore)? })
        }
    })
}

/// Returns the values to which this one can be added without overflow.
fn addable_range(added: i64) -> RangeInclusive<i64> {
    if added > 0 { i64::MIN..=i64::MAX - added } else { i64::MIN - added..=i64::MAX }
}

/// Deleting an owner affects all boards, so the key depends on the owner only.
fn turn(owner: Uuid) -> u64 {
    // Ids are random, so the mixed halves are well distributed.
    let (high, low) = owner.as_u64_pair();
    high ^ low
}

#[cfg(test)]
mod tests {
    use super::addable_range;

    #[test]
    fn the_range_is_exact() {
        for added in [i64::MIN, -1, 0, 1, i64::MAX] {
            let range = addable_range(added);
            assert!(range.start().checked_add(added).is_some() && range.end().checked_add(added).is_some());
            assert!(*range.start() == i64::MIN || (range.start() - 1).checked_add(added).is_none());
            assert!(*range.end() == i64::MAX || (range.end() + 1).checked_add(added).is_none());
        }
    }
}
