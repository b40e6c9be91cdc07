//! Friends: invites, friendships and blocks between users.
//!
//! A relation is stored as an edge of each side ([`relation`]). One transaction changes all edges of a call, the edge
//! counts of the users, and the notifications that follow. All its users are locked in the order of their ids, so
//! concurrent calls wait for each other and never deadlock.

mod blocks;
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

use crate::chat::Channel;
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::notification::Notifications;
use crate::router::Router;
use crate::storage::json::check_object;
use aether_store::{Statements, Store, StoreError, Transaction, values};
use blocks::Blocks;
use change::Change;
use relation::Action;
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

const NO_EDGE: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The users are not friends, and there is no invite or block. Add one first.");

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
    blocks: Arc<Blocks>,
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
        let blocks = Blocks::start(&router);
        Friends { store, clock, router, notifications, blocks }
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
        for other in self.change(user, others, Action::Delete, None).await? {
            self.reload_blocks(user, other).await?;
        }
        Ok(())
    }

    /// Blocks users, all or none. A block ends a friendship, the two no longer follow each other, and their direct chat is
    /// closed.
    pub async fn block(&self, user: Uuid, others: NamedUsers) -> Result<(), ServiceError> {
        for other in self.change(user, others, Action::Block, None).await? {
            self.router.unfollow_each_other(user, other);
            self.reload_blocks(user, other).await?;
            self.router.close_stream(Channel::direct(user, other)?.stream());
        }
        Ok(())
    }

    /// Changes the metadata of a user about another one. Metadata is a JSON object.
    pub async fn update_metadata(&self, user: Uuid, other: Uuid, metadata: &str) -> Result<(), ServiceError> {
        check_object("The metadata of a friend", metadata, METADATA_BYTES_MAX)?;
        let update = "UPDATE friend_edges SET metadata = ?3 WHERE user_id = ?1 AND other_id = ?2";
        let update = Statements::writing(update, values![user, other, metadata]);
        match self.store.run(update, |answers| Ok::<_, ServiceError>(answers.changed(0))).await? {
            0 => Err(NO_EDGE),
            _ => Ok(()),
        }
    }

    /// Reads the blocks of a user into memory, for [`Friends::blocks_of`], until the user's last session ends.
    pub async fn load_blocks(&self, user: Uuid) -> Result<(), ServiceError> {
        self.blocks.load(&self.store, user).await
    }

    /// Returns the users who block a connected user, or whom the user blocks, from memory. `None` if there are none.
    #[must_use]
    pub fn blocks_of(&self, user: Uuid) -> Option<Arc<BTreeSet<Uuid>>> {
        self.blocks.of(user)
    }

    async fn reload_blocks(&self, user: Uuid, other: Uuid) -> Result<(), ServiceError> {
        self.blocks.reload(&self.store, user).await?;
        self.blocks.reload(&self.store, other).await
    }

    /// Returns those of the given users who block the user, or whom the user blocks.
    pub async fn blocked_among(&self, user: Uuid, others: Vec<Uuid>) -> Result<BTreeSet<Uuid>, ServiceError> {
        if others.is_empty() {
            return Ok(BTreeSet::new());
        }
        Ok(self.store.read(move |transaction| blocked_among(transaction, user, &others)).await?)
    }

    /// Returns the users whom the given users block: the latest ones of each.
    pub async fn blocked_by(&self, users: Vec<Uuid>, max_of_each: i64) -> Result<BTreeSet<Uuid>, ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut blocked = BTreeSet::new();
            for user in &users {
                let select = "SELECT other_id FROM friend_edges WHERE user_id = ?1 AND state = 3
                    ORDER BY updated_at DESC, other_id DESC LIMIT ?2";
                blocked.extend(transaction.rows(select, values![user, max_of_each], |row| row.get::<Uuid>(0))?);
            }
            Ok::<_, StoreError>(blocked)
        };
        Ok(self.store.read(operation).await?)
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
