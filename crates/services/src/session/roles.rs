//! Roles of accounts. Held in memory, so that every use of a permission sees the current role.
//!
//! A token never grants a role, except a development token: it only names the account, and the role is looked up here.
//! So a changed role applies at once, to tokens and connections that exist already.

use super::tokens::Role;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use uuid::Uuid;

/// Roles of all accounts.
#[derive(Debug, Default)]
pub struct Roles {
    epoch: AtomicU64,
    /// Accounts with another role than [`Role::Player`]. Only operators give roles, so there are few.
    given: RwLock<HashMap<Uuid, Role>>,
}

impl Roles {
    /// Returns a number that changes with every change of a role.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Returns the role of an account. A user without an account is a player.
    #[must_use]
    pub fn of(&self, user: Uuid) -> Role {
        self.given.read().unwrap_or_else(PoisonError::into_inner).get(&user).copied().unwrap_or_default()
    }

    /// Sets the role of an account, after it was stored.
    pub(crate) fn set(&self, user: Uuid, role: Role) {
        let mut given = self.given.write().unwrap_or_else(PoisonError::into_inner);
        match role {
            Role::Player => given.remove(&user),
            role => given.insert(user, role),
        };
        drop(given);
        self.epoch.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_at_once_and_changes_the_epoch() {
        let (roles, user) = (Roles::default(), Uuid::from_u128(7));
        assert_eq!(roles.of(user), Role::Player);
        for role in [Role::Developer, Role::Admin, Role::Player] {
            let before = roles.epoch();
            roles.set(user, role);
            assert_eq!(roles.of(user), role);
            assert_ne!(roles.epoch(), before);
        }
        assert!(roles.given.read().unwrap().is_empty(), "players take no memory");
    }
}
