//! Writing and deleting records.
//!
//! What is committed for an owner is taken over into memory in the same order, because all of it goes in the owner's
//! turn, also when whoever asked has gone away.

use super::board::{Board, Operator, check_object};
use super::pending::{Doubt, Pending};
use super::period::Period;
use super::periods::Periods;
use super::record::{Record, read_one, record_columns};
use super::{BOARD_NOT_FOUND, Leaderboards};
use crate::caller::Caller;
use crate::error::{GrpcCode, ServiceError, TOKEN_REQUIRED};
use aether_ranks::{RankOrder, Score};
use aether_store::{SqlValue, StoreError, Transaction, values};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::Uuid;

/// Bytes of a record's metadata. A page of a thousand records carries it a thousand times.
pub const RECORD_METADATA_BYTES_MAX: usize = 4 << 10;
/// Bytes of the name in a record, as long as names of users may be.
const USERNAME_BYTES_MAX: usize = 128;

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordWrite {
    /// Whose record it is. A user writes their own only.
    pub owner: Uuid,
    /// Their name, shown with the record. If empty, the one of an earlier write stays.
    pub username: String,
    /// The score and its subscore: one value.
    pub score: Score,
    /// What is done with the score that stands, if it is not what the board says.
    pub operator: Option<Operator>,
    /// A JSON object. If none is given, the one of an earlier write stays.
    pub metadata: Option<String>,
}

/// A write on its way to the database.
struct Upsert {
    board: Arc<Board>,
    periods: Arc<Periods>,
    period: Arc<Period>,
    expiry: i64,
    now_ms: i64,
    write: RecordWrite,
    action: Action,
    /// Where the record stands after the commit.
    rank: AtomicU64,
}

/// What a write does, once the operators that only differ in a sign are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Best,
    Set,
    Add,
}

impl Leaderboards {
    /// Writes a score. The answer is the record as it stands now, with its rank, whether or not the write changed it.
    ///
    /// A write that would leave the 64 bits of a score is refused, and so is one by a user to an authoritative board.
    pub async fn write(&self, caller: &Caller, board_id: &str, write: RecordWrite) -> Result<Record, ServiceError> {
        let board = self.board(board_id)?;
        may_change(caller, &board, write.owner)?;
        write.check()?;
        let (action, score) = resolve(write.operator.unwrap_or(board.definition.operator), write.score)?;
        let now_ms = self.clock.now_ms();
        let now = now_ms.div_euclid(1_000);
        let expiry = board.expiry(now);
        let period = self.periods.ready(&board, expiry, now).await?;
        let write = RecordWrite { score, ..write };
        let (periods, rank) = (Arc::clone(&self.periods), AtomicU64::new(0));
        let upsert = Upsert { board, periods, period, expiry, now_ms, write, action, rank };
        if let Some(record) = self.standing_record(&upsert).await? {
            return Ok(record);
        }
        let upsert = Arc::new(upsert);
        let done = Arc::clone(&upsert);
        let written = self.store.write_in_turn(turn(upsert.write.owner), move |transaction| upsert.run(transaction));
        let mut record = written.await.map_err(|refusal| done.explain(refusal))?;
        record.rank = done.rank.load(Ordering::Relaxed);
        Ok(record)
    }

    /// Deletes an owner's record in the current period. Tells whether there was one.
    pub async fn delete_record(&self, caller: &Caller, board_id: &str, owner: Uuid) -> Result<bool, ServiceError> {
        let board = self.board(board_id)?;
        may_change(caller, &board, owner)?;
        let now = self.clock.now_seconds();
        let expiry = board.expiry(now);
        let periods = Arc::clone(&self.periods);
        let deleted = self.store.write_in_turn(turn(owner), move |transaction| {
            let deleted = transaction.execute(
                "DELETE FROM leaderboard_records WHERE leaderboard_id = ?1 AND expiry = ?2 AND owner_id = ?3",
                values![&board.definition.id, expiry, owner],
            )?;
            let pending = Pending::new(&periods, Doubt { board: Arc::clone(&board), expiry, owner });
            transaction.after_commit(move || {
                pending.settle(None);
            });
            Ok::<_, StoreError>(deleted > 0)
        });
        Ok(deleted.await?)
    }

    /// Deletes all records of an owner, of all boards and periods: they have left.
    pub async fn forget_owner(self: &Arc<Self>, owner: Uuid) -> Result<(), ServiceError> {
        let leaderboards = Arc::clone(self);
        let turn = Leaderboards::turn(owner);
        let forgotten =
            self.store.write_in_turn(turn, move |transaction| leaderboards.forget_within(transaction, owner));
        Ok(forgotten.await?)
    }

    /// As [`Leaderboards::forget_owner`], within a transaction that does more. It has to be run by
    /// [`Store::write_in_turn`](aether_store::Store::write_in_turn) in the owner's [turn](Leaderboards::turn), or a
    /// write that is under way could come after it in memory.
    pub fn forget_within(&self, transaction: &mut Transaction<'_>, owner: Uuid) -> Result<(), StoreError> {
        let deleted = transaction.rows(
            "DELETE FROM leaderboard_records WHERE owner_id = ?1 RETURNING leaderboard_id, expiry",
            values![owner],
            |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)),
        )?;
        let pending = deleted.into_iter().filter_map(|(board_id, expiry)| {
            let board = self.board(&board_id).ok()?;
            Some(Pending::new(&self.periods, Doubt { board, expiry, owner }))
        });
        let pending: Vec<Pending> = pending.collect();
        transaction.after_commit(move || {
            for pending in pending {
                pending.settle(None);
            }
        });
        Ok(())
    }

    /// The number under which an owner's writes go one after the other.
    #[must_use]
    pub fn turn(owner: Uuid) -> u64 {
        turn(owner)
    }

    /// The record that stands, if memory says that this write changes nothing about it: then it is not even tried.
    async fn standing_record(&self, upsert: &Upsert) -> Result<Option<Record>, ServiceError> {
        let owner = upsert.write.owner;
        let Some(standing) = upsert.period.standing(owner) else { return Ok(None) };
        if upsert.action != Action::Best || upsert.board.is_better(upsert.write.score, standing.score) {
            return Ok(None);
        }
        let (board, expiry) = (Arc::clone(&upsert.board), upsert.expiry);
        let read = self.store.read(move |transaction| read_one(transaction, &board.definition.id, expiry, owner));
        // Another write may have come in between; then it is for the database to say which is the better one.
        let record = read.await?.filter(|record: &Record| record.score == standing.score);
        Ok(record.map(|record| Record { rank: standing.rank, ..record }))
    }
}

impl RecordWrite {
    fn check(&self) -> Result<(), ServiceError> {
        if self.username.len() > USERNAME_BYTES_MAX || self.username.contains('\0') {
            return Err(ServiceError::invalid(format!(
                "A username must have at most {USERNAME_BYTES_MAX} bytes, none zero."
            )));
        }
        self.metadata.as_ref().map_or(Ok(()), |metadata| check_object(metadata, RECORD_METADATA_BYTES_MAX))
    }
}

/// One statement for each action, which writes the record or changes the one that stands; `num_score` counts the
/// changes. If there is nothing to change, the sum would not fit, or the owner was erased, no row comes back. An erasure
/// has the owner's turn too, so it is over before this begins or comes after it.
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
/// The sum is only formed where it fits: SQLite would go on with a float, and PostgreSQL would fail.
const ADD: &str = upsert!(
    set "score = r.score + excluded.score, subscore = r.subscore + excluded.subscore"
    where "r.score BETWEEN ?9 AND ?10 AND r.subscore BETWEEN ?11 AND ?12 \
           AND (excluded.score <> 0 OR excluded.subscore <> 0 OR COALESCE(?7, r.metadata) <> r.metadata)"
);

impl Upsert {
    fn run(self: &Arc<Self>, transaction: &mut Transaction<'_>) -> Result<Record, ServiceError> {
        let Upsert { board, expiry, now_ms, write, .. } = &**self;
        let RecordWrite { owner, username, score, metadata, .. } = write;
        let mut parameters: Vec<SqlValue<'_>> = Vec::with_capacity(12);
        parameters.extend_from_slice(values![&board.definition.id, *expiry, owner, username]);
        parameters.extend_from_slice(values![score.score, score.subscore, metadata, *now_ms]);
        let statement = match (self.action, board.definition.order) {
            (Action::Best, RankOrder::Ascending) => BEST_OF_ASCENDING,
            (Action::Best, RankOrder::Descending) => BEST_OF_DESCENDING,
            (Action::Set, _) => SET,
            (Action::Add, _) => {
                for room in [room_for(score.score), room_for(score.subscore)] {
                    parameters.extend_from_slice(values![*room.start(), *room.end()]);
                }
                ADD
            }
        };
        let Some(record) = transaction.row(statement, &parameters, Record::read)? else {
            return self.unchanged(transaction);
        };
        let doubt = Doubt { board: Arc::clone(board), expiry: *expiry, owner: *owner };
        let (upsert, score, pending) = (Arc::clone(self), record.score, Pending::new(&self.periods, doubt));
        transaction.after_commit(move || {
            let rank = pending.settle(Some(score));
            upsert.rank.store(rank.unwrap_or(0), Ordering::Relaxed);
        });
        Ok(record)
    }

    /// The record that stands, unless it is unchanged because the sum does not fit.
    fn unchanged(self: &Arc<Self>, transaction: &mut Transaction<'_>) -> Result<Record, ServiceError> {
        let record = read_one(transaction, &self.board.definition.id, self.expiry, self.write.owner)?;
        // The statement has just met it, and nobody else can delete it meanwhile; unless the owner was erased.
        let record = record.ok_or(ServiceError::new(GrpcCode::NotFound, "User account not found."))?;
        let (stands, added) = (record.score, self.write.score);
        let fits =
            stands.score.checked_add(added.score).is_some() && stands.subscore.checked_add(added.subscore).is_some();
        if self.action == Action::Add && !fits {
            return Err(OUT_OF_RANGE);
        }
        let upsert = Arc::clone(self);
        transaction.after_commit(move || {
            let standing = upsert.period.standing(upsert.write.owner);
            upsert.rank.store(standing.map_or(0, |standing| standing.rank), Ordering::Relaxed);
        });
        Ok(record)
    }

    /// A board that is deleted while a record is written to it is no defect.
    fn explain(&self, refusal: ServiceError) -> ServiceError {
        if self.board.deleted.load(Ordering::Relaxed) { BOARD_NOT_FOUND } else { refusal }
    }
}

const OUT_OF_RANGE: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "The score would leave the range of 64-bit integers. Write a smaller change.",
);

fn may_change(caller: &Caller, board: &Board, owner: Uuid) -> Result<(), ServiceError> {
    let identity = match caller {
        Caller::Server => return Ok(()),
        Caller::Stranger => return Err(TOKEN_REQUIRED),
        Caller::User(identity) => identity,
    };
    if board.definition.authoritative {
        let why = "Only the server changes the records of an authoritative leaderboard.";
        return Err(ServiceError::new(GrpcCode::PermissionDenied, why));
    }
    if identity.user != owner {
        return Err(ServiceError::new(GrpcCode::PermissionDenied, "Users change their own records only."));
    }
    Ok(())
}

/// What an operator does, and with which value.
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

/// The values to which this one can be added.
fn room_for(added: i64) -> RangeInclusive<i64> {
    if added > 0 { i64::MIN..=i64::MAX - added } else { i64::MIN - added..=i64::MAX }
}

/// Forgetting an owner concerns all boards, so the turn is the owner's alone.
fn turn(owner: Uuid) -> u64 {
    // The halves of a random id are random.
    let (high, low) = owner.as_u64_pair();
    high ^ low
}

#[cfg(test)]
mod tests {
    use super::room_for;

    #[test]
    fn there_is_room_exactly_where_a_sum_fits() {
        for added in [i64::MIN, -1, 0, 1, i64::MAX] {
            let room = room_for(added);
            assert!(room.start().checked_add(added).is_some() && room.end().checked_add(added).is_some());
            assert!(*room.start() == i64::MIN || (room.start() - 1).checked_add(added).is_none());
            assert!(*room.end() == i64::MAX || (room.end() + 1).checked_add(added).is_none());
        }
    }
}
