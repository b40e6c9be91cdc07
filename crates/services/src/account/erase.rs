//! The end of an account: all that belongs to it, in one transaction.

use super::{Accounts, NOT_FOUND};
use crate::error::ServiceError;
use crate::leaderboard::Leaderboards;
use aether_store::{StoreError, Transaction, outbox, values};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

/// Something that is done in the transaction in which an account is erased, before its rows go: for those who keep more
/// about a user than rows, such as ranks in memory.
pub type Eraser = Box<dyn Fn(&mut Transaction<'_>, Uuid) -> Result<(), StoreError> + Send + Sync>;

/// Rows that do not go by themselves with the row in `users`, by table and column.
const OWNED: [(&str, &str); 5] = [
    ("sessions", "user_id"),
    ("storage_objects", "user_id"),
    ("leaderboard_records", "owner_id"),
    ("room_players", "user_id"),
    ("room_visits", "user_id"),
];

/// Rows that stay without their owner: a purchase must not be used again by another account. What the store said about
/// it goes.
const DISOWNED: [(&str, &str); 2] = [("purchases", ""), ("subscriptions", ", notification = ''")];

impl Accounts {
    /// Erases an account with all that belongs to it, and ends its sessions. That it was erased is remembered by its id
    /// alone, so that a backup does not bring it back.
    pub async fn delete(&self, user: Uuid) -> Result<(), ServiceError> {
        let (now, announce) = (self.clock.now_ms(), self.settings.announce);
        let (revocations, erasers) = (Arc::clone(&self.revocations), Arc::clone(&self.erasers));
        let operation = move |transaction: &mut Transaction<'_>| {
            // Whoever writes for the user relies on this lock, or on the reference of a table: see `for_presence`.
            let select = format!("SELECT id FROM users WHERE id = ?1{}", transaction.for_update());
            transaction.row(&select, values![user], |_| Ok(()))?.ok_or(NOT_FOUND)?;
            erasers.iter().try_for_each(|eraser| eraser(transaction, user))?;
            erase(transaction, user, now)?;
            if announce {
                let told = json!({ "user_id": user }).to_string();
                outbox::push(transaction, "account.deleted", &told, now)?;
            }
            let revocations = Arc::clone(&revocations);
            transaction.after_commit(move || revocations.erase_user(user, now.div_euclid(1_000)));
            Ok(())
        };
        // In one order with the user's scores, so that a write that is under way does not come after it in memory.
        self.store.write_in_turn(Leaderboards::turn(user), operation).await
    }
}

fn erase(transaction: &mut Transaction<'_>, user: Uuid, now: i64) -> Result<(), StoreError> {
    for (table, column) in OWNED {
        transaction.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), values![user])?;
    }
    for (table, also) in DISOWNED {
        let update = format!("UPDATE {table} SET user_id = ?2, response = '{{}}'{also} WHERE user_id = ?1");
        transaction.execute(&update, values![user, Uuid::nil()])?;
    }
    transaction.execute("DELETE FROM users WHERE id = ?1", values![user])?;
    let remember = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, ?2) ON CONFLICT (user_id) DO NOTHING";
    transaction.execute(remember, values![user, now])?;
    Ok(())
}
