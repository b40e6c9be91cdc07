//! Collections of JSON objects of users and of the server.
//!
//! An object is identified by its collection, its key and its owner. Its permissions apply to calls on behalf of users;
//! server code bypasses them. Every object has a version, on which a write can be made conditional. A batch is applied
//! in one transaction, all or nothing. A reserved collection is changed by server code only.

mod delete;
pub mod index;
mod indexed;
pub(crate) mod json;
mod object;
pub mod query;
mod quota;
mod read;
pub(crate) mod serve;
mod write;

pub use delete::Delete;
pub use index::{IndexDefinition, IndexQuery, StorageIndexes};
pub use json::{DEPTH_MAX, NUMBER_BYTES_MAX};
pub use object::{COLLECTION_BYTES_MAX, KEY_BYTES_MAX, Object, ObjectId, Permission, VALUE_BYTES_MAX};
pub use query::Query;
pub use quota::Quota;
pub use read::{LIST_MAX, Page, VALUES_BYTES_MAX};
pub use write::{Ack, Condition, Write};

pub(crate) use delete::Checked as CheckedDelete;
pub(crate) use write::Checked as CheckedWrite;

use crate::caller::Caller;
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError, TOKEN_REQUIRED};
use aether_metrics::Registry;
use aether_store::{Statements, Store, StoreError, Transaction};
use read::{Listing, ObjectSize, readable};
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

/// Maximum number of objects in one call. Each is a statement of the same transaction.
pub const BATCH_MAX: usize = 128;

/// Stored objects.
#[derive(Clone)]
pub struct Storage {
    store: Store,
    clock: Arc<dyn WallClock>,
    quota: Quota,
    /// Collections that only server code may change.
    reserved: Arc<BTreeSet<String>>,
    /// Indexes in memory.
    indexes: Arc<StorageIndexes>,
}

/// User on whose behalf objects change, with the quota.
#[derive(Clone, Copy, Default)]
pub(crate) struct Author {
    /// User. `None` for the server.
    user: Option<Uuid>,
    quota: Quota,
}

/// Change of an object within a batch.
pub(crate) enum Change {
    Write(CheckedWrite),
    Delete(CheckedDelete),
}

impl Storage {
    /// Creates the service over a store, without a quota.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Storage {
        Storage { store, clock, quota: Quota::default(), reserved: Arc::default(), indexes: Arc::default() }
    }

    /// Sets the quota of users.
    #[must_use]
    pub fn with_quota(mut self, quota: Quota) -> Storage {
        self.quota = quota;
        self
    }

    /// Reserves collections for server code: users may read their objects, but neither write nor delete them.
    #[must_use]
    pub fn with_reserved(mut self, collections: BTreeSet<String>) -> Storage {
        self.reserved = Arc::new(collections);
        self
    }

    /// Sets the indexes, which follow the changes of this service.
    #[must_use]
    pub fn with_indexes(mut self, indexes: Arc<StorageIndexes>) -> Storage {
        self.indexes = indexes;
        self
    }

    /// Adds an index and fills it from the database. `is_running` says that objects may change meanwhile; then adding it
    /// takes some seconds. Fails if there is an index of this name.
    pub async fn add_index(
        &self,
        definition: IndexDefinition,
        registry: &Registry,
        is_running: bool,
    ) -> Result<(), ServiceError> {
        self.indexes.add(definition, (&self.store, registry), is_running).await
    }

    /// Returns the names of the indexes, sorted.
    #[must_use]
    pub fn index_names(&self) -> Vec<String> {
        self.indexes.names()
    }

    /// Writes objects, all or none. Acknowledgements are in the order of the writes.
    ///
    /// Users write their own objects, and change the value of others' objects that are open to
    /// [`Permission::Everyone`], except in reserved collections.
    pub async fn write(&self, caller: &Caller, writes: Vec<Write>) -> Result<Vec<Ack>, ServiceError> {
        let author = Author { user: user_of(caller)?, quota: self.quota };
        check_count(writes.len())?;
        self.check_reserved(author, writes.iter().map(|write| &write.id))?;
        if writes.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.clock.now_ms();
        let changes = writes.into_iter().map(|write| Ok(Change::Write(write.check()?)));
        let changes = changes.collect::<Result<Vec<_>, ServiceError>>()?;
        if self.covers_any(&changes) {
            return self.change_indexed(author, changes, now).await;
        }
        if let [Change::Write(write)] = changes.as_slice()
            && let Some(statement) = write.statement(author, now, self.store.dialect())
            && let Some(created_at) = self.store.run(statement, |answers| answers.row(0, |row| row.get(0))).await?
        {
            return Ok(vec![write.ack(created_at, now)]);
        }
        // Several writes, or a rejected one, whose reason has to be found.
        self.store.write(move |transaction| apply(transaction, author, &changes, now)).await
    }

    /// Deletes objects, all or none. A missing object is not an error, unless a version is expected.
    pub async fn delete(&self, caller: &Caller, deletes: Vec<Delete>) -> Result<(), ServiceError> {
        // Users over the quota must be able to delete.
        let author = Author { user: user_of(caller)?, quota: Quota::default() };
        check_count(deletes.len())?;
        self.check_reserved(author, deletes.iter().map(|delete| &delete.id))?;
        if deletes.is_empty() {
            return Ok(());
        }
        let now = self.clock.now_ms();
        let changes = deletes.into_iter().map(|delete| Ok(Change::Delete(delete.check()?)));
        let changes = changes.collect::<Result<Vec<_>, ServiceError>>()?;
        if self.covers_any(&changes) {
            return self.change_indexed(author, changes, now).await.map(|_| ());
        }
        if let [Change::Delete(delete)] = changes.as_slice()
            && let Some(statement) = delete.statement(author.user, self.store.dialect())
            && self.store.run(statement, |answers| Ok::<_, StoreError>(answers.changed(0))).await? > 0
        {
            return Ok(());
        }
        self.store.write(move |transaction| apply(transaction, author, &changes, now)).await?;
        Ok(())
    }

    /// Reads objects, in the order of the ids. Objects that are missing or not readable by the caller are omitted.
    pub async fn read(&self, caller: &Caller, ids: Vec<ObjectId>) -> Result<Vec<Object>, ServiceError> {
        let user = user_of(caller)?;
        check_count(ids.len())?;
        ids.iter().try_for_each(ObjectId::check)?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(search) = read::size_search(user, &ids) {
            let sizes = self.store.run(search, |answers| answers.rows(0, ObjectSize::from_row)).await?;
            read::check_sizes(user, &sizes)?;
        }
        let search = read::search(&ids);
        self.store.run(search, move |answers| Ok(readable(user, &ids, answers.rows(0, Object::from_row)?))).await
    }

    /// Lists the objects of a collection, of one owner or of all.
    ///
    /// The server sees everything. A user sees own objects that the owner may read, and others' objects that everyone
    /// may read. Without an owner, a user sees what everyone may read.
    pub async fn list(
        &self,
        caller: &Caller,
        collection: &str,
        owner: Option<Uuid>,
        limit: i32,
        cursor: &str,
    ) -> Result<Page, ServiceError> {
        let mut listing = Listing::check(collection, owner, user_of(caller)?, limit, cursor)?;
        if let Some(search) = listing.size_search() {
            listing.shorten(&self.store.run(search, |answers| answers.rows(0, ObjectSize::from_row)).await?);
        }
        let search = listing.search();
        self.store.run(search, move |answers| Ok(listing.page(answers.rows(0, Object::from_row)?))).await
    }

    /// Finds objects of a collection by their contents.
    ///
    /// It scans every object of the collection, or of the owner in it, so clients cannot call it unless server code
    /// exposes it. On behalf of a user, it finds readable objects only.
    pub async fn query(&self, caller: &Caller, query: Query) -> Result<Page, ServiceError> {
        let checked = query.check(user_of(caller)?)?;
        self.store.read(move |transaction| checked.run(transaction)).await
    }

    /// Lists objects of a [storage index](index) that match a query.
    ///
    /// An index that answers from memory returns the indexed fields only. On behalf of a user, it finds readable objects
    /// only.
    pub async fn list_index(&self, caller: &Caller, query: &IndexQuery) -> Result<Page, ServiceError> {
        let (ids, page, cursor) = self.indexes.search(&self.store, query, user_of(caller)?).await?;
        match page {
            Some(page) => Ok(page),
            // Objects that were deleted in the meantime are missing.
            None => Ok(Page { objects: self.read(caller, ids).await?, cursor }),
        }
    }

    /// Rejects changes of a user in reserved collections.
    fn check_reserved<'a>(
        &self,
        author: Author,
        mut ids: impl Iterator<Item = &'a ObjectId>,
    ) -> Result<(), ServiceError> {
        match ids.find(|id| author.user.is_some() && self.reserved.contains(&id.collection)) {
            None => Ok(()),
            Some(ObjectId { collection, .. }) => Err(ServiceError::with(
                GrpcCode::PermissionDenied,
                format!("Collection `{collection}` is reserved for the server. Use another collection."),
            )),
        }
    }
}

/// Applies changes in the order in which all transactions lock objects, so that they cannot deadlock. Changes of the
/// same object keep their order. Acknowledgements are in the given order.
pub(crate) fn apply(
    transaction: &mut Transaction<'_>,
    author: Author,
    changes: &[Change],
    now: i64,
) -> Result<Vec<Ack>, ServiceError> {
    let Author { user, quota } = author;
    let limited_user = user.filter(|_| quota.is_set());
    let mut order: Vec<usize> = (0..changes.len()).collect();
    // Owners first, because their rows are locked too, each before the owner's objects, in the order of their ids.
    order.sort_by_key(|&index| (changes[index].id().owner, changes[index].id()));
    let dialect = transaction.dialect();
    let statements = order.iter().map(|&index| match &changes[index] {
        Change::Write(write) => {
            write.statement(Author { user, ..Author::default() }, now, dialect).ok_or(write::DENIED)
        }
        Change::Delete(delete) => delete.statement(user, dialect).ok_or(delete::DENIED),
    });
    let statements = statements.collect::<Result<Vec<_>, _>>()?;
    let answers = transaction.answers(&Statements::all(statements))?;
    let mut acks = Vec::with_capacity(changes.len());
    for (number, index) in order.into_iter().enumerate() {
        match &changes[index] {
            Change::Write(write) => match answers.row(number, |row| row.get(0))? {
                Some(created_at) => acks.push((index, write.ack(created_at, now))),
                None => return Err(write.rejection_reason(transaction, user)?),
            },
            Change::Delete(delete) if answers.changed(number) == 0 => delete.check_absence(transaction, user)?,
            Change::Delete(_) => {}
        }
    }
    // The row of the user is locked if one of the objects is theirs, so no concurrent write goes uncounted.
    if let Some(user) = limited_user.filter(|user| changes.iter().any(|change| change.id().owner == *user)) {
        quota.check(transaction, user)?;
    }
    acks.sort_by_key(|(index, _)| *index);
    Ok(acks.into_iter().map(|(_, ack)| ack).collect())
}

impl Change {
    pub(crate) fn id(&self) -> &ObjectId {
        match self {
            Change::Write(write) => write.id(),
            Change::Delete(delete) => delete.id(),
        }
    }
}

/// Returns the user of a caller, or `None` for the server.
fn user_of(caller: &Caller) -> Result<Option<Uuid>, ServiceError> {
    match caller {
        Caller::Server => Ok(None),
        Caller::User(identity) => Ok(Some(identity.user)),
        Caller::Anonymous => Err(TOKEN_REQUIRED),
    }
}

/// Rejects too many objects in one call.
pub(crate) fn check_count(count: usize) -> Result<(), ServiceError> {
    match count <= BATCH_MAX {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!("At most {BATCH_MAX} objects may be handled at once."))),
    }
}
