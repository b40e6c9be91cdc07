//! Friends: invites, friendships and blocks between users.
//!
//! A relation is stored as an edge of each side ([`relation`]). One transaction changes all edges of a call, the edge
//! counts of the users, and the notifications that follow. All its users are locked in the order of their ids, so
//! concurrent calls wait for each other and never deadlock.

mod change;
mod import;
mod limits;
mod list;
mod of_friends;
pub mod relation;
pub(crate) mod serve;

pub use limits::{
    BLOCKED_MAX, FRIENDS_MAX, IMPORTED_MAX, INVITES_RECEIVED_MAX, LIST_BYTES_MAX, LISTED_MAX, METADATA_BYTES_MAX,
    OF_FRIENDS_LISTED_DEFAULT, OF_FRIENDS_LISTED_MAX, OF_FRIENDS_SEARCHED_MAX, USERS_PER_CALL_MAX,
};
pub use list::{Friend, FriendPage};
pub use of_friends::{FriendOfFriend, FriendOfFriendPage};
pub use relation::FriendState;

use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::notification::Notifications;
use crate::router::Router;
use crate::storage::json::check_object;
use aether_store::{Store, StoreError, Transaction, values};
use change::Change;
use relation::Action;
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

/// Users that a call names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedUsers {
    /// Ids.
    pub ids: Vec<Uuid>,
    /// Usernames.
    pub usernames: Vec<String>,
}

/// Friends of all users.
pub struct Friends {
    store: Store,
    clock: Arc<dyn WallClock>,
    router: Arc<Router>,
    notifications: Arc<Notifications>,
}

impl Friends {
    /// Creates the service over a store.
    #[must_use]
    pub fn new(
        store: Store,
        clock: Arc<dyn WallClock>,
        router: Arc<Router>,
        notifications: Arc<Notifications>,
    ) -> Friends {
        Friends { store, clock, router, notifications }
    }

    /// Invites users, and accepts the invites of those who sent one, all or none. Users that do not exist are ignored, if
    /// there is another one. Metadata is a JSON object of the user about these friends; an empty text keeps it.
    pub async fn add(&self, user: Uuid, others: NamedUsers, metadata: &str) -> Result<(), ServiceError> {
        let metadata = (!metadata.is_empty()).then(|| metadata.to_owned());
        metadata
            .as_deref()
            .map_or(Ok(()), |text| check_object("The metadata of a friend", text, METADATA_BYTES_MAX))?;
        self.change(user, others, Action::Add, metadata).await.map(drop)
    }

    /// Ends friendships and blocks, takes invites back and rejects them, all or none.
    pub async fn delete(&self, user: Uuid, others: NamedUsers) -> Result<(), ServiceError> {
        self.change(user, others, Action::Delete, None).await.map(drop)
    }

    /// Blocks users, all or none. A block ends a friendship, and the two no longer follow each other.
    pub async fn block(&self, user: Uuid, others: NamedUsers) -> Result<(), ServiceError> {
        for other in self.change(user, others, Action::Block, None).await? {
            self.router.unfollow_each_other(user, other);
        }
        Ok(())
    }

    /// Returns those of the given users who block the user, or whom the user blocks.
    pub async fn blocked_among(&self, user: Uuid, others: Vec<Uuid>) -> Result<BTreeSet<Uuid>, ServiceError> {
        if others.is_empty() {
            return Ok(BTreeSet::new());
        }
        Ok(self.store.read(move |transaction| blocked_among(transaction, user, &others)).await?)
    }

    /// Runs an action on named users. Returns those whose relation changed.
    async fn change(
        &self,
        user: Uuid,
        others: NamedUsers,
        action: Action,
        metadata: Option<String>,
    ) -> Result<Vec<Uuid>, ServiceError> {
        others.check()?;
        let now_ms = self.clock.now_ms();
        let notifications = Arc::clone(&self.notifications);
        let operation = move |transaction: &mut Transaction<'_>| {
            let others = change::find(transaction, user, &others, action)?;
            let change = Change { user, others, action, metadata: metadata.as_deref(), is_strict: true, now_ms };
            change.run(transaction, &notifications)
        };
        let changed = self.store.write(operation).await?;
        self.notifications.deliver(changed.notifications);
        Ok(changed.users)
    }
}

impl NamedUsers {
    fn check(&self) -> Result<(), ServiceError> {
        if self.ids.len() > USERS_PER_CALL_MAX || self.usernames.len() > USERS_PER_CALL_MAX {
            let message = format!("At most {USERS_PER_CALL_MAX} ids and {USERS_PER_CALL_MAX} usernames can be sent.");
            return Err(ServiceError::invalid(message));
        }
        if self.usernames.iter().any(|name| name.contains('\0')) {
            return Err(ServiceError::invalid("A username must not contain control characters."));
        }
        Ok(())
    }
}

/// Returns true if one of two users blocks the other.
pub fn is_blocked(transaction: &mut Transaction<'_>, a: Uuid, b: Uuid) -> Result<bool, StoreError> {
    let select = "SELECT 1 FROM friend_edges
        WHERE state = 3 AND ((user_id = ?1 AND other_id = ?2) OR (user_id = ?2 AND other_id = ?1))";
    Ok(transaction.row(select, values![a, b], |_| Ok(()))?.is_some())
}

/// Returns those of the given users who block the user, or whom the user blocks.
pub fn blocked_among(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    others: &[Uuid],
) -> Result<BTreeSet<Uuid>, StoreError> {
    let mut blocked = BTreeSet::new();
    for (own, other) in [("user_id", "other_id"), ("other_id", "user_id")] {
        let select = format!("SELECT {other} FROM friend_edges WHERE {own} = ?1 AND state = 3 AND {other} IN ");
        change::each_of(transaction, &select, values![user], others, |row| {
            blocked.insert(row.get(0)?);
            Ok(())
        })?;
    }
    Ok(blocked)
}
