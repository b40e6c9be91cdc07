//! Imports friends from a social network: users of the game who are friends there become friends here.

use super::change::{Change, Changed};
use super::relation::Action;
use super::{Friends, IMPORTED_MAX, USERS_PER_CALL_MAX};
use crate::account::Accounts;
use crate::account::provider::ProviderProof;
use crate::error::ServiceError;
use aether_store::{StoreError, Transaction, values};
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

impl Friends {
    /// Makes friends of the user and the users of the game who are their friends at a provider. Blocked users stay blocked,
    /// and users beyond a limit are left out. With `reset`, friendships with users of the provider who are not friends
    /// there end first. Works in steps of [`USERS_PER_CALL_MAX`] users, each of them one transaction. Returns the number of
    /// new friends.
    pub async fn import(
        &self,
        accounts: &Accounts,
        user: Uuid,
        provider: &'static str,
        proof: &ProviderProof,
        reset: bool,
    ) -> Result<usize, ServiceError> {
        let subjects = accounts.friends_at(provider, proof, IMPORTED_MAX).await?;
        let found = self.users_of(provider, subjects).await?;
        if reset {
            let former = self.friends_of_provider(user, provider).await?;
            self.run_in_steps(user, former.difference(&found).copied().collect(), Action::Delete).await?;
        }
        let others: Vec<Uuid> = found.into_iter().filter(|other| *other != user).collect();
        self.run_in_steps(user, others, Action::Befriend).await
    }

    /// Returns the users with these ids at a provider.
    async fn users_of(
        &self,
        provider: &'static str,
        mut subjects: Vec<String>,
    ) -> Result<BTreeSet<Uuid>, ServiceError> {
        subjects.retain(|subject| !subject.contains('\0'));
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut users = BTreeSet::new();
            for subject in &subjects {
                let select = "SELECT user_id FROM user_identities WHERE provider = ?1 AND subject = ?2";
                users.extend(transaction.row(select, values![provider, subject], |row| row.get::<Uuid>(0))?);
            }
            Ok::<_, StoreError>(users)
        };
        Ok(self.store.read(operation).await?)
    }

    /// Returns the friends of a user who have an identity of a provider.
    async fn friends_of_provider(&self, user: Uuid, provider: &'static str) -> Result<BTreeSet<Uuid>, ServiceError> {
        let select = "SELECT e.other_id FROM friend_edges e
            JOIN user_identities i ON i.user_id = e.other_id AND i.provider = ?2
            WHERE e.user_id = ?1 AND e.state = 0";
        let read = move |transaction: &mut Transaction<'_>| {
            transaction.rows(select, values![user, provider], |row| row.get::<Uuid>(0))
        };
        Ok(self.store.read(read).await?.into_iter().collect())
    }

    /// Runs an action on users, some of them in each transaction. Returns the number of changed relations.
    async fn run_in_steps(&self, user: Uuid, others: Vec<Uuid>, action: Action) -> Result<usize, ServiceError> {
        let now_ms = self.clock.now_ms();
        let mut count = 0;
        for others in others.chunks(USERS_PER_CALL_MAX) {
            let (others, notifications) =
                (BTreeSet::from_iter(others.iter().copied()), Arc::clone(&self.notifications));
            let operation = move |transaction: &mut Transaction<'_>| {
                let others = others.clone();
                let change = Change { user, others, action, metadata: None, is_strict: false, now_ms };
                change.run(transaction, &notifications)
            };
            let Changed { users, notifications } = self.store.write(operation).await?;
            self.notifications.deliver(notifications);
            count += users.len();
        }
        Ok(count)
    }
}
