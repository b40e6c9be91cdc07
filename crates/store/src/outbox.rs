//! The outbox: messages to other systems, stored in the same transaction as the change that they report.
//!
//! A message is delivered at least once. It is claimed for some time, and deleted when its delivery is confirmed. Its id
//! is the idempotency key, by which a receiver recognizes duplicates.

use crate::error::StoreError;
use crate::transaction::{Dialect, Transaction};
use crate::values;
use uuid::Uuid;

/// A message of the outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Id, and idempotency key.
    pub id: Uuid,
    /// Topic, such as `account.created`.
    pub topic: String,
    /// Payload, as JSON.
    pub payload: String,
    /// Time of creation, in milliseconds since 1970.
    pub created_at: i64,
    /// Number of claims, including this one.
    pub attempts: i64,
}

/// Adds a message, in the transaction of the change that it reports.
pub fn push(transaction: &mut Transaction<'_>, topic: &str, payload: &str, now: i64) -> Result<Uuid, StoreError> {
    // Version 7 ids are ordered by time, so that the oldest message comes first.
    let id = Uuid::now_v7();
    let insert = "INSERT INTO outbox (id, topic, payload, created_at, due_at, attempts, parked)
        VALUES (?1, ?2, ?3, ?4, ?4, 0, FALSE)";
    transaction.execute(insert, values![id, topic, payload, now])?;
    Ok(id)
}

/// Claims up to `count` due messages until `until`. Messages that are not confirmed by then are due again.
pub fn claim(transaction: &mut Transaction<'_>, now: i64, until: i64, count: i64) -> Result<Vec<Message>, StoreError> {
    let skip = match transaction.dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => " FOR UPDATE SKIP LOCKED",
    };
    // Materialized, because PostgreSQL could otherwise run the subquery for each row and claim too many.
    let update = format!(
        "WITH due AS MATERIALIZED
            (SELECT id FROM outbox WHERE due_at <= ?1 AND NOT parked ORDER BY due_at, id LIMIT ?3{skip})
        UPDATE outbox SET due_at = ?2, attempts = attempts + 1 WHERE id IN (SELECT id FROM due)
        RETURNING id, topic, payload, created_at, attempts"
    );
    let mut messages = transaction.rows(&update, values![now, until, count], |row| {
        Ok(Message {
            id: row.get(0)?,
            topic: row.get(1)?,
            payload: row.get(2)?,
            created_at: row.get(3)?,
            attempts: row.get(4)?,
        })
    })?;
    messages.sort_by_key(|message| message.id);
    Ok(messages)
}

/// Deletes a delivered message.
pub fn confirm(transaction: &mut Transaction<'_>, id: Uuid) -> Result<(), StoreError> {
    transaction.execute("DELETE FROM outbox WHERE id = ?1", values![id]).map(|_| ())
}

/// Records a failed delivery. The message is due again at `due_at`; without it, the message is parked.
pub fn fail(transaction: &mut Transaction<'_>, id: Uuid, why: &str, due_at: Option<i64>) -> Result<(), StoreError> {
    let update = "UPDATE outbox SET last_error = ?2, due_at = coalesce(?3, due_at), parked = ?4 WHERE id = ?1";
    transaction.execute(update, values![id, why, due_at, due_at.is_none()]).map(|_| ())
}

/// Returns the number of waiting messages and of parked ones.
pub fn depth(transaction: &mut Transaction<'_>) -> Result<(i64, i64), StoreError> {
    let count = "SELECT count(*), coalesce(sum(CASE WHEN parked THEN 1 ELSE 0 END), 0) FROM outbox";
    let counted = transaction.row(count, &[], |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))?;
    let (all, parked) = counted.unwrap_or_default();
    Ok((all - parked, parked))
}
