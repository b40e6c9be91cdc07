//! Entrants of a period: joining it, and counting attempts.

use crate::error::{GrpcCode, ServiceError};
use crate::leaderboard::Attempts;
use aether_store::{SqlValue, StoreError, Transaction, values};
use std::collections::HashMap;
use std::fmt::Write as _;
use uuid::Uuid;

const FULL: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "The tournament is full: it has reached its maximum number of entrants.",
);
const JOIN_REQUIRED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "Join the tournament before you submit a score.");
const ATTEMPTS_USED_UP: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "All attempts are used up: the maximum number of scores was submitted.",
);
const NOT_JOINED: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The owner has not entered the current period of the tournament.");
const USER_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Entry of an owner into a period.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub tournament: String,
    pub expiry: i64,
    pub owner: Uuid,
    pub now_ms: i64,
    pub max_num_score: i64,
    pub join_required: bool,
}

/// Enters a period. With `is_attempt`, it also counts an attempt. Returns the attempts, and true for a new entrant.
///
/// It has to run in the owner's turn, so that the owner is not erased in between.
pub(super) fn enter(
    transaction: &mut Transaction<'_>,
    entry: &Entry,
    is_attempt: bool,
) -> Result<(Attempts, bool), ServiceError> {
    let attempt = i64::from(is_attempt);
    let known = transaction.row(
        "UPDATE tournament_entrants SET attempts = attempts + ?4 \
         WHERE tournament = ?1 AND expiry = ?2 AND owner_id = ?3 RETURNING attempts, attempts_added",
        values![&entry.tournament, entry.expiry, entry.owner, attempt],
        |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)),
    )?;
    let (used, added) = match known {
        Some(known) => known,
        None if is_attempt && entry.join_required => return Err(JOIN_REQUIRED),
        None => {
            add(transaction, entry, attempt)?;
            (attempt, 0)
        }
    };
    let max = attempts_max(entry.max_num_score, added);
    // An error undoes the count.
    match is_attempt && entry.max_num_score > 0 && used > max {
        true => Err(ATTEMPTS_USED_UP),
        false => Ok((Attempts { used, max }, known.is_none())),
    }
}

/// Adds an entrant, if there is a place. The place is taken in the row of the tournament, so concurrent entrants wait for each
/// other and never exceed the maximum.
fn add(transaction: &mut Transaction<'_>, entry: &Entry, attempts: i64) -> Result<(), ServiceError> {
    let Entry { tournament, expiry, owner, now_ms, .. } = entry;
    let placed = transaction.execute(
        "UPDATE leaderboards SET size = CASE WHEN size_expiry = ?2 THEN size + 1 ELSE 1 END, size_expiry = ?2 \
         WHERE id = ?1 AND (max_size = 0 OR size < max_size OR size_expiry <> ?2)",
        values![tournament, *expiry],
    )?;
    if placed == 0 {
        return Err(FULL);
    }
    let inserted = transaction.execute(
        "INSERT INTO tournament_entrants (tournament, expiry, owner_id, attempts, joined_at) \
         SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?3)",
        values![tournament, *expiry, *owner, attempts, *now_ms],
    )?;
    if inserted == 0 { Err(USER_NOT_FOUND) } else { Ok(()) }
}

/// Adds attempts to an entrant. Returns the maximum afterwards.
pub(super) fn add_attempts(
    transaction: &mut Transaction<'_>,
    (tournament, expiry, owner): (&str, i64, Uuid),
    attempts: i64,
    count: i64,
) -> Result<i64, ServiceError> {
    let added = transaction.row(
        "UPDATE tournament_entrants SET attempts_added = attempts_added + ?4 \
         WHERE tournament = ?1 AND expiry = ?2 AND owner_id = ?3 RETURNING attempts_added",
        values![tournament, expiry, owner, count],
        |row| row.get::<i64>(0),
    )?;
    let max = attempts_max(attempts, added.ok_or(NOT_JOINED)?);
    transaction.execute(
        "UPDATE leaderboard_records SET max_num_score = ?4 \
         WHERE leaderboard_id = ?1 AND expiry = ?2 AND owner_id = ?3",
        values![tournament, expiry, owner, max],
    )?;
    Ok(max)
}

/// Deletes an owner from all tournaments. Places in the periods that are counted become free.
pub(super) fn forget_entrant(transaction: &mut Transaction<'_>, owner: Uuid) -> Result<(), StoreError> {
    let entered = transaction.rows(
        "DELETE FROM tournament_entrants WHERE owner_id = ?1 RETURNING tournament, expiry",
        values![owner],
        |row| Ok((row.get::<String>(0)?, row.get::<i64>(1)?)),
    )?;
    for (tournament, expiry) in entered {
        transaction.execute(
            "UPDATE leaderboards SET size = size - 1 WHERE id = ?1 AND size_expiry = ?2 AND size > 0",
            values![&tournament, expiry],
        )?;
    }
    Ok(())
}

/// Returns the number of entrants of tournaments, with the expiry of the period in which they were counted.
pub(super) fn sizes(
    transaction: &mut Transaction<'_>,
    ids: &[String],
) -> Result<HashMap<String, (i64, i64)>, StoreError> {
    let Some(last) = ids.last() else { return Ok(HashMap::new()) };
    // Statements are cached by their text. Padding to a power of two leaves only a few.
    let count = ids.len().next_power_of_two();
    let mut sql = String::from("SELECT id, size, size_expiry FROM leaderboards WHERE id IN (?1");
    for index in 2..=count {
        let _ = write!(sql, ",?{index}");
    }
    sql.push(')');
    let padding = std::iter::repeat_n(last, count - ids.len());
    let parameters: Vec<SqlValue<'_>> = ids.iter().chain(padding).map(SqlValue::from).collect();
    let rows = transaction.rows(&sql, &parameters, |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
    Ok(rows.into_iter().collect())
}

fn attempts_max(attempts: i64, added: i64) -> i64 {
    if attempts == 0 { 0 } else { attempts.saturating_add(added).max(0) }
}
