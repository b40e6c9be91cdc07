//! The outbox: messages to other systems, stored in the same transaction as the change that they report.
//!
//! A message is delivered at least once. It is claimed for some time, and deleted when its delivery is confirmed. Its id
//! is the idempotency key, by which a receiver recognizes duplicates.

use crate::error::StoreError;
use crate::statement::Statements;
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
    push_from(transaction, None, topic, payload, now)
}

/// Adds a message that an account caused.
pub fn push_from(
    transaction: &mut Transaction<'_>,
    account: Option<Uuid>,
    topic: &str,
    payload: &str,
    now: i64,
) -> Result<Uuid, StoreError> {
    // Version 7 ids are ordered by time, so that the oldest message comes first.
    let id = Uuid::now_v7();
    let insert = "INSERT INTO outbox (id, topic, payload, created_at, due_at, attempts, parked, account)
        VALUES (?1, ?2, ?3, ?4, ?4, 0, FALSE, ?5)";
    transaction.execute(insert, values![id, topic, payload, now, account])?;
    Ok(id)
}

/// Adds a message to statements that create a user, if they do.
#[must_use]
pub fn push_if_user(statements: Statements, user: Uuid, topic: &str, payload: &str, now: i64) -> Statements {
    let insert = "INSERT INTO outbox (id, topic, payload, created_at, due_at, attempts, parked)
        SELECT ?1, ?2, ?3, ?4, ?4, 0, FALSE FROM users WHERE id = ?5";
    statements.and(insert, values![Uuid::now_v7(), topic, payload, now, user])
}

/// Returns the number of messages that an account caused, parked ones included. Counts up to `max`.
pub fn count_of_account(transaction: &mut Transaction<'_>, account: Uuid, max: i64) -> Result<i64, StoreError> {
    let count = "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE account = ?1 LIMIT ?2) AS found";
    Ok(transaction.row(count, values![account, max], |row| row.get::<i64>(0))?.unwrap_or(0))
}

/// Returns the number of messages of a topic, parked ones included. Counts up to `max`.
pub fn count_of_topic(transaction: &mut Transaction<'_>, topic: &str, max: i64) -> Result<i64, StoreError> {
    let count = "SELECT count(*) FROM (SELECT 1 FROM outbox WHERE topic = ?1 LIMIT ?2) AS found";
    Ok(transaction.row(count, values![topic, max], |row| row.get::<i64>(0))?.unwrap_or(0))
}

/// Claims up to `count` due messages until `until`. Messages that are not confirmed by then are due again.
///
/// Topics take turns, so that many messages of one do not delay those of another.
pub fn claim(transaction: &mut Transaction<'_>, now: i64, until: i64, count: i64) -> Result<Vec<Message>, StoreError> {
    let mut due = Vec::new();
    for topic in topics(transaction)? {
        due.push(due_of(transaction, &topic, now, count)?);
    }
    let turns = due.iter().map(Vec::len).max().unwrap_or(0);
    let chosen = (0..turns).flat_map(|turn| due.iter().filter_map(move |ids| ids.get(turn)));
    let mut messages = Vec::new();
    for id in chosen.take(usize::try_from(count).unwrap_or(0)) {
        let update = "UPDATE outbox SET due_at = ?2, attempts = attempts + 1 WHERE id = ?1
            RETURNING id, topic, payload, created_at, attempts";
        messages.extend(transaction.rows(update, values![*id, until], |row| {
            Ok(Message {
                id: row.get(0)?,
                topic: row.get(1)?,
                payload: row.get(2)?,
                created_at: row.get(3)?,
                attempts: row.get(4)?,
            })
        })?);
    }
    messages.sort_by_key(|message| message.id);
    Ok(messages)
}

/// Returns the topics of waiting and parked messages, each found by one step in the index.
fn topics(transaction: &mut Transaction<'_>) -> Result<Vec<String>, StoreError> {
    let mut topics: Vec<String> = Vec::new();
    loop {
        let last = topics.last().map_or("", String::as_str);
        let next = "SELECT topic FROM outbox WHERE topic > ?1 ORDER BY topic LIMIT 1";
        match transaction.row(next, values![last], |row| row.get::<String>(0))? {
            Some(topic) => topics.push(topic),
            None => return Ok(topics),
        }
    }
}

fn due_of(transaction: &mut Transaction<'_>, topic: &str, now: i64, count: i64) -> Result<Vec<Uuid>, StoreError> {
    let skip = match transaction.dialect() {
        Dialect::Sqlite => "",
        Dialect::Postgres => " FOR UPDATE SKIP LOCKED",
    };
    let select = format!(
        "SELECT id FROM outbox WHERE topic = ?1 AND parked = FALSE AND due_at <= ?2 ORDER BY due_at, id LIMIT ?3{skip}"
    );
    transaction.rows(&select, values![topic, now, count], |row| row.get(0))
}

/// Deletes up to `count` parked messages that were created before a time. Returns their number.
pub fn prune(transaction: &mut Transaction<'_>, created_before: i64, count: i64) -> Result<u64, StoreError> {
    let delete = "DELETE FROM outbox WHERE id IN
        (SELECT id FROM outbox WHERE parked AND created_at < ?1 ORDER BY created_at LIMIT ?2)";
    transaction.execute(delete, values![created_before, count])
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
