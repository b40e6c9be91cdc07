//! Bans and roles.

use super::{Accounts, NOT_FOUND, end_sessions};
use crate::error::ServiceError;
use crate::leaderboard::Leaderboards;
use crate::session::end_sessions_of;
use crate::session::tokens::Role;
use aether_store::{Transaction, values};
use std::sync::Arc;
use uuid::Uuid;

/// Maximum number of users to ban or unban at once.
const USERS_MAX: usize = 1_024;

impl Accounts {
    /// Bans users and ends their sessions, all or none. Returns those who were not banned before.
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

    /// Unbans users. Returns those who were banned.
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

    /// Sets the role of a user. It applies at once, also to open connections. For server code only.
    pub async fn set_role(&self, user: Uuid, role: Role) -> Result<(), ServiceError> {
        let now = self.clock.now_ms();
        let roles = Arc::clone(&self.roles);
        let operation = move |transaction: &mut Transaction<'_>| {
            let update = "UPDATE users SET role = ?2, updated_at = ?3 WHERE id = ?1";
            if transaction.execute(update, values![user, role.name(), now])? == 0 {
                return Err(NOT_FOUND);
            }
            let roles = Arc::clone(&roles);
            transaction.after_commit(move || roles.set(user, role));
            Ok(())
        };
        // In order, so that of two concurrent changes the stored one is also the one in memory.
        self.store.write_in_order(Leaderboards::turn(user), operation).await
    }
}

/// Deduplicates and sorts users, so that concurrent bans cannot deadlock.
fn in_order(mut users: Vec<Uuid>) -> Result<Vec<Uuid>, ServiceError> {
    if users.len() > USERS_MAX {
        return Err(ServiceError::invalid(format!("At most {USERS_MAX} users can be banned or unbanned at once.")));
    }
    users.sort_unstable();
    users.dedup();
    Ok(users)
}
