//! Collections of JSON objects, of users and of the server.
//!
//! An object is found by its collection, its key and its owner. It says who may read and write it; the server's own
//! code bypasses that, calls on behalf of a user do not. Every object has a version, by which a write can be made to
//! depend on what was read before. What is handed in together is done in one transaction, all or nothing.

mod delete;
pub(crate) mod json;
mod object;
pub mod query;
mod quota;
mod read;
pub(crate) mod serve;
mod write;

pub use delete::Delete;
pub use json::{DEPTH_MAX, NUMBER_BYTES_MAX};
pub use object::{COLLECTION_BYTES_MAX, KEY_BYTES_MAX, Object, ObjectId, Permission, VALUE_BYTES_MAX};
pub use query::Query;
pub use quota::Quota;
pub use read::{LIST_MAX, Page};
pub use write::{Ack, Condition, Write};

pub(crate) use delete::Checked as CheckedDelete;
pub(crate) use write::Checked as CheckedWrite;

use crate::caller::Caller;
use crate::clock::WallClock;
use crate::error::{ServiceError, TOKEN_REQUIRED};
use aether_store::{Store, Transaction};
use read::Listing;
use std::sync::Arc;
use uuid::Uuid;

/// Objects that are written, read or removed at once. Each is a statement of the same transaction.
pub const BATCH_MAX: usize = 128;

/// The stored objects.
#[derive(Clone)]
pub struct Storage {
    store: Store,
    clock: Arc<dyn WallClock>,
    quota: Quota,
}

/// For whom something happens to objects, and how much they may keep.
#[derive(Clone, Copy, Default)]
pub(crate) struct Author {
    /// The user; none for the server.
    user: Option<Uuid>,
    quota: Quota,
}

/// Something that happens to an object, within a batch.
pub(crate) enum Change {
    Write(CheckedWrite),
    Delete(CheckedDelete),
}

impl Storage {
    /// Storage over a store, of which everyone may take as much as they want.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Storage {
        Storage { store, clock, quota: Quota::default() }
    }

    /// Lets a user keep only so much.
    #[must_use]
    pub fn with_quota(mut self, quota: Quota) -> Storage {
        self.quota = quota;
        self
    }

    /// Writes objects, all or none; the answers are in the order of the writes.
    ///
    /// A user writes what is theirs, and changes the value of what others have opened to [`Permission::Everyone`].
    pub async fn write(&self, caller: &Caller, writes: Vec<Write>) -> Result<Vec<Ack>, ServiceError> {
        let author = Author { user: user_of(caller)?, quota: self.quota };
        check_count(writes.len())?;
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now_ms();
        let changes = writes.into_iter().map(|write| Ok(Change::Write(write.check()?)));
        let changes = changes.collect::<Result<Vec<_>, ServiceError>>()?;
        self.store.write(move |transaction| apply(transaction, author, &changes, now)).await
    }

    /// Removes objects, all or none. One that is not there is no failure, unless a version of it was expected.
    pub async fn delete(&self, caller: &Caller, deletes: Vec<Delete>) -> Result<(), ServiceError> {
        // Whoever has too much must be able to delete.
        let author = Author { user: user_of(caller)?, quota: Quota::default() };
        check_count(deletes.len())?;
        if deletes.is_empty() {
            return Ok(());
        }
        let now = self.clock.now_ms();
        let changes = deletes.into_iter().map(|delete| Ok(Change::Delete(delete.check()?)));
        let changes = changes.collect::<Result<Vec<_>, ServiceError>>()?;
        self.store.write(move |transaction| apply(transaction, author, &changes, now)).await?;
        Ok(())
    }

    /// Reads objects, in the order of the ids. What is not there or not for the caller is left out.
    pub async fn read(&self, caller: &Caller, ids: Vec<ObjectId>) -> Result<Vec<Object>, ServiceError> {
        let user = user_of(caller)?;
        check_count(ids.len())?;
        ids.iter().try_for_each(ObjectId::check)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        self.store.read(move |transaction| read::read(transaction, user, &ids)).await
    }

    /// Lists the objects of a collection, of one owner or of all.
    ///
    /// The server sees everything. A user sees of their own what they may read, and of others what everyone may; and
    /// without an owner, what everyone may read.
    pub async fn list(
        &self,
        caller: &Caller,
        collection: &str,
        owner: Option<Uuid>,
        limit: i32,
        cursor: &str,
    ) -> Result<Page, ServiceError> {
        let listing = Listing::check(collection, owner, user_of(caller)?, limit, cursor)?;
        self.store.read(move |transaction| listing.run(transaction)).await
    }

    /// Finds objects of a collection by what they say.
    ///
    /// This looks at every object of the collection, or of the owner in it, so no client reaches it unless the server's
    /// code offers it. On behalf of a user, only what they may read is found.
    pub async fn query(&self, caller: &Caller, query: Query) -> Result<Page, ServiceError> {
        let checked = query.check(user_of(caller)?)?;
        self.store.read(move |transaction| checked.run(transaction)).await
    }
}

/// Does changes in the order in which every transaction locks objects, so that no two wait for each other; those of the
/// same object in the order given. The answers to writes are in the order given.
pub(crate) fn apply(
    transaction: &mut Transaction<'_>,
    author: Author,
    changes: &[Change],
    now: i64,
) -> Result<Vec<Ack>, ServiceError> {
    let Author { user, quota } = author;
    let bounded = user.filter(|_| quota.is_set());
    let mut is_held = false;
    let mut order: Vec<usize> = (0..changes.len()).collect();
    // Owners first, because their rows are locked too, by others in the order of their ids.
    order.sort_by_key(|&index| (changes[index].id().owner, changes[index].id()));
    let mut acks = Vec::with_capacity(changes.len());
    for index in order {
        // In its place in the order, because the row of an owner is locked before their objects.
        if let Some(user) = bounded.filter(|user| !is_held && changes[index].id().owner == *user) {
            Quota::hold(transaction, user)?;
            is_held = true;
        }
        match &changes[index] {
            Change::Write(write) => acks.push((index, write.apply(transaction, user, now)?)),
            Change::Delete(delete) => delete.apply(transaction, user)?,
        }
    }
    if let Some(user) = bounded.filter(|_| is_held) {
        quota.check(transaction, user)?;
    }
    acks.sort_by_key(|(index, _)| *index);
    Ok(acks.into_iter().map(|(_, ack)| ack).collect())
}

impl Change {
    fn id(&self) -> &ObjectId {
        match self {
            Change::Write(write) => write.id(),
            Change::Delete(delete) => delete.id(),
        }
    }
}

/// The user for whom something is done; none for the server.
fn user_of(caller: &Caller) -> Result<Option<Uuid>, ServiceError> {
    match caller {
        Caller::Server => Ok(None),
        Caller::User(identity) => Ok(Some(identity.user)),
        Caller::Stranger => Err(TOKEN_REQUIRED),
    }
}

/// Refuses more than may be handed in at once.
pub(crate) fn check_count(count: usize) -> Result<(), ServiceError> {
    match count <= BATCH_MAX {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!("At most {BATCH_MAX} objects may be handled at once."))),
    }
}
