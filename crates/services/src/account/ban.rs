//! Bans, and what a user may do.

use super::{Accounts, NOT_FOUND, end_sessions};
use crate::error::ServiceError;
use crate::session::end_sessions_of;
use crate::session::tokens::Role;
use aether_store::{Transaction, values};
use std::sync::Arc;
use uuid::Uuid;

/// Users that are banned or unbanned at once.
const USERS_MAX: usize = 1_024;

impl Accounts {
    /// Lets users in no more, and ends their sessions, all or none of them. Returns those who were not banned before.
    pub async fn ban(&self, users: Vec<Uuid>) -> Result<Vec<Uuid>, ServiceError> {
        let users = in_order(users)?;
        let now = self.clock.now_ms();
        let revocations = Arc::clone(&self.revocations);
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut banned = Vec::new();
            for user in &users {
                let update = "UPDATE users SET disabled_at = ?2 WHERE id = ?1 AND disabled_at IS NULL";
                if transaction.execute(update, values![user, now])? > 0 {
                    end_sessions_of(transaction, *user, now, "banned")?;
                    transaction.after_commit(end_sessions(Arc::clone(&revocations), *user, now));
                    banned.push(*user);
                }
            }
            Ok(banned)
        };
        self.store.write(operation).await
    }

    /// Lets users in again. Returns those who were banned.
    pub async fn unban(&self, users: Vec<Uuid>) -> Result<Vec<Uuid>, ServiceError> {
        let users = in_order(users)?;
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut unbanned = Vec::new();
            for user in &users {
                let update = "UPDATE users SET disabled_at = NULL WHERE id = ?1 AND disabled_at IS NOT NULL";
                if transaction.execute(update, values![user])? > 0 {
                    unbanned.push(*user);
                }
            }
            Ok(unbanned)
        };
        self.store.write(operation).await
    }

    /// What a user may do from now on. For the server's own code alone.
    pub async fn set_role(&self, user: Uuid, role: Role) -> Result<(), ServiceError> {
        let now = self.clock.now_ms();
        let operation = move |transaction: &mut Transaction<'_>| {
            let update = "UPDATE users SET role = ?2, updated_at = ?3 WHERE id = ?1";
            if transaction.execute(update, values![user, role.name(), now])? == 0 { Err(NOT_FOUND) } else { Ok(()) }
        };
        self.store.write(operation).await
    }
}

/// Each once, and always in the same order, so that two who ban the same users do not wait for each other for ever.
fn in_order(mut users: Vec<Uuid>) -> Result<Vec<Uuid>, ServiceError> {
    if users.len() > USERS_MAX {
        return Err(ServiceError::invalid(format!("At most {USERS_MAX} users can be banned or unbanned at once.")));
    }
    users.sort_unstable();
    users.dedup();
    Ok(users)
}
