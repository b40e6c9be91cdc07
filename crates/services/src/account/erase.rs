//! Erases an account and all its data.
//!
//! One transaction erases the account, so that it is erased as a whole or not at all. An account with many rows first
//! loses most of them in small operations, between which other accounts take their turns.

use super::{Accounts, NOT_FOUND};
use crate::error::ServiceError;
use crate::group;
use crate::leaderboard::Leaderboards;
use crate::notification;
use crate::session::tokens::Role;
use aether_store::{StoreError, Transaction, outbox, values};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

/// Function that runs in the transaction that erases an account, before its rows are deleted. For services that hold
/// more than rows about a user, such as ranks in memory.
pub type Eraser = Box<dyn Fn(&mut Transaction<'_>, Uuid) -> Result<(), StoreError> + Send + Sync>;

/// Tables without a foreign key to `users`, with the column of the user.
const OWNED: &[(&str, &str)] = &[
    ("sessions", "user_id"),
    ("storage_objects", "user_id"),
    ("storage_totals", "user_id"),
    ("leaderboard_records", "owner_id"),
    ("tournament_entrants", "owner_id"),
    ("bracket_entrants", "user_id"),
    ("room_players", "user_id"),
    ("room_visits", "user_id"),
    ("room_creators", "user_id"),
    ("audit_entries", "actor_id"),
    ("audit_entries", "user_id"),
    ("chat_messages", "sender_id"),
    ("notifications", "sender_id"),
    ("friend_edges", "user_id"),
    ("friend_edges", "other_id"),
];

/// Tables whose rows stay without an owner, because another account must not use the purchase again. The shop's answer
/// is deleted.
const DISOWNED: [(&str, &str); 2] = [("purchases", ""), ("subscriptions", ", notification = ''")];

/// Tables in which one account can have many rows, with the column of the user and the other columns of the key.
const LARGE: &[(&str, &str, &str)] = &[
    ("storage_objects", "user_id", "collection, key"),
    ("wallet_ledger", "user_id", "id"),
    ("sessions", "user_id", "id"),
    ("room_visits", "user_id", "id"),
    ("chat_messages", "sender_id", "channel_id, sequence"),
    ("notifications", "user_id", "number"),
    ("notifications", "sender_id", "id"),
];

/// Rows of a large table that one operation deletes: with values of 256 KiB, 25 MiB.
const BATCH_MAX: u64 = 100;
/// Batches per table. A user who writes during the erasure cannot prolong it beyond these.
const BATCHES_MAX: u32 = 100_000;

impl Accounts {
    /// Erases an account with all its data, and ends its sessions. Only the id is remembered, so that a backup does not
    /// restore the account.
    ///
    /// If it fails, the account still exists. It may have lost rows if it had more than 100 in one table.
    pub async fn delete(&self, user: Uuid) -> Result<(), ServiceError> {
        for &(table, column, key) in LARGE {
            self.thin_out(user, table, column, key).await?;
        }
        self.delete_rest(user).await
    }

    /// Deletes rows of a large table until at most one batch is left.
    async fn thin_out(&self, user: Uuid, table: &str, column: &str, key: &str) -> Result<(), ServiceError> {
        // A small account keeps its rows until the last transaction.
        let more = format!("SELECT 1 FROM {table} WHERE {column} = ?1 LIMIT 1 OFFSET {BATCH_MAX}");
        let batch = format!(
            "DELETE FROM {table} WHERE {column} = ?1
                AND ({key}) IN (SELECT {key} FROM {table} WHERE {column} = ?1 LIMIT {BATCH_MAX})"
        );
        for _ in 0..BATCHES_MAX {
            let (more, batch) = (more.clone(), batch.clone());
            let operation = move |transaction: &mut Transaction<'_>| {
                if transaction.row(&more, values![user], |_| Ok(()))?.is_none() {
                    return Ok::<_, ServiceError>(false);
                }
                transaction.execute(&batch, values![user])?;
                Ok(true)
            };
            if !self.store.write(operation).await? {
                break;
            }
        }
        Ok(())
    }

    /// Erases the account and the rows that are left, in one transaction.
    async fn delete_rest(&self, user: Uuid) -> Result<(), ServiceError> {
        let (now, announce) = (self.clock.now_ms(), self.settings.announce);
        let (revocations, erasers) = (Arc::clone(&self.revocations), Arc::clone(&self.erasers));
        let roles = Arc::clone(&self.roles);
        let operation = move |transaction: &mut Transaction<'_>| {
            // Writes for the user rely on this lock, or on a foreign key: see `for_presence`.
            let select = format!("SELECT id FROM users WHERE id = ?1{}", transaction.for_update());
            transaction.row(&select, values![user], |_| Ok(()))?.ok_or(NOT_FOUND)?;
            erasers.iter().try_for_each(|eraser| eraser(transaction, user))?;
            erase(transaction, user, now)?;
            if announce {
                let payload = json!({ "user_id": user }).to_string();
                outbox::push(transaction, "account.deleted", &payload, now)?;
            }
            let revocations = Arc::clone(&revocations);
            let roles = Arc::clone(&roles);
            transaction.after_commit(move || {
                revocations.erase_user(user, now.div_euclid(1_000));
                roles.set(user, Role::Player);
            });
            Ok(())
        };
        // Ordered with the user's score writes, so that a concurrent write does not reach memory after the erasure.
        self.store.write_in_order(Leaderboards::turn(user), operation).await
    }
}

fn erase(transaction: &mut Transaction<'_>, user: Uuid, now: i64) -> Result<(), StoreError> {
    group::forget_user(transaction, user, now)?;
    let others = "UPDATE users SET edge_count = edge_count - 1
        WHERE id IN (SELECT user_id FROM friend_edges WHERE other_id = ?1)";
    transaction.execute(others, values![user])?;
    for &(table, column) in OWNED {
        transaction.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), values![user])?;
    }
    for (table, also) in DISOWNED {
        let update = format!("UPDATE {table} SET user_id = ?2, response = '{{}}'{also} WHERE user_id = ?1");
        transaction.execute(&update, values![user, Uuid::nil()])?;
    }
    let waiting = "DELETE FROM outbox WHERE account = ?1 AND topic = ?2";
    transaction.execute(waiting, values![user, notification::TOPIC])?;
    transaction.execute("DELETE FROM users WHERE id = ?1", values![user])?;
    let remember = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, ?2) ON CONFLICT (user_id) DO NOTHING";
    transaction.execute(remember, values![user, now])?;
    Ok(())
}
