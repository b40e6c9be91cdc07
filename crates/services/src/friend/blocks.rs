//! Blocks of users who chat, in memory, so that a message needs no query.

use crate::error::ServiceError;
use crate::router::{Router, StreamId};
use aether_store::{Store, StoreError, Transaction, values};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Users who block a user or whom the user blocks, for users with a connected session that asked for them.
#[derive(Default)]
pub(super) struct Blocks {
    by_user: Mutex<HashMap<Uuid, Entry>>,
}

#[derive(Default)]
struct Entry {
    /// Number of the last read that has begun. Earlier ones, which may miss a change, do not count.
    read: u64,
    /// `None` until the first read has ended.
    blocked: Option<Arc<BTreeSet<Uuid>>>,
}

impl Blocks {
    /// Creates the table. The entry of a user ends with the last session.
    pub fn start(router: &Arc<Router>) -> Arc<Blocks> {
        let blocks = Arc::new(Blocks::default());
        let (table, sessions) = (Arc::downgrade(&blocks), Arc::downgrade(router));
        router.on_end(move |socket, _| {
            if let (Some(table), Some(sessions)) = (table.upgrade(), sessions.upgrade())
                && sessions.count(&StreamId::notifications(socket.user)) == 0
            {
                table.lock().remove(&socket.user);
            }
        });
        blocks
    }

    /// Returns the blocks of a user for whom they were loaded. `None` if there are none.
    pub fn of(&self, user: Uuid) -> Option<Arc<BTreeSet<Uuid>>> {
        self.lock().get(&user)?.blocked.clone().filter(|blocked| !blocked.is_empty())
    }

    /// Reads the blocks of a user, if they are not in memory.
    pub async fn load(&self, store: &Store, user: Uuid) -> Result<(), ServiceError> {
        if self.lock().get(&user).is_some_and(|entry| entry.blocked.is_some()) {
            return Ok(());
        }
        self.lock().entry(user).or_default();
        self.reload(store, user).await
    }

    /// Reads the blocks of a user again after a change, if they are in memory.
    pub async fn reload(&self, store: &Store, user: Uuid) -> Result<(), ServiceError> {
        let Some(read) = self.begin_read(user) else { return Ok(()) };
        let blocked = store.read(move |transaction| read_blocks(transaction, user)).await;
        let mut by_user = self.lock();
        let Some(entry) = by_user.get_mut(&user).filter(|entry| entry.read == read) else { return Ok(()) };
        // After an error the next use reads them again.
        entry.blocked = blocked.as_ref().ok().cloned().map(Arc::new);
        Ok(blocked.map(drop)?)
    }

    fn begin_read(&self, user: Uuid) -> Option<u64> {
        let mut by_user = self.lock();
        let entry = by_user.get_mut(&user)?;
        entry.read += 1;
        Some(entry.read)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Entry>> {
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_blocks(transaction: &mut Transaction<'_>, user: Uuid) -> Result<BTreeSet<Uuid>, StoreError> {
    let select = "SELECT other_id FROM friend_edges WHERE user_id = ?1 AND state = 3
        UNION SELECT user_id FROM friend_edges WHERE other_id = ?1 AND state = 3";
    Ok(transaction.rows(select, values![user], |row| row.get::<Uuid>(0))?.into_iter().collect())
}
