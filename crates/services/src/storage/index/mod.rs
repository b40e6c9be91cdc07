//! Storage indexes: objects of a collection in memory, found by the query language.
//!
//! An index is filled at the start, or when it is added, page by page. After that it follows the commits. A write in one turn (the objects of
//! one owner, or one object of the server) changes the index in that turn, so memory changes in the order of the commits.
//! For every other change the written objects are *uncertain*: each is read again in its own turn before the call returns.
//! So is an object whose commit has an unknown outcome, at the latest before the next list.

mod definition;
mod entry;
mod limits;
mod search;
mod state;

pub use definition::{IndexDefinition, IndexFilter};
pub use limits::{
    INDEX_ENTRIES_MAX, INDEX_ENTRY_BYTES_MAX, INDEX_FIELD_BYTES_MAX, INDEX_FIELDS_MAX, INDEX_NAME_BYTES_MAX,
    INDEXES_MAX, ORDER_FIELDS_MAX, SORT_TEXT_BYTES_MAX, SORTABLE_FIELDS_MAX, UNCERTAIN_MAX,
};
pub use search::IndexQuery;

use super::write::find;
use super::{Object, ObjectId, Page};
use crate::error::{GrpcCode, INTERNAL, ServiceError, UNAVAILABLE};
use crate::leaderboard::Leaderboards;
use aether_metrics::Registry;
use aether_store::{Store, StoreError, Transaction, values};
use limits::FILL_PAGE;
use sha2::{Digest, Sha256};
use state::{IndexChange, PreparedChange, StorageIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tracing::info;
use uuid::Uuid;

/// Objects between two lines of the log while an index is filled.
const PROGRESS_OBJECTS: usize = 50_000;
/// Time after which a change that began before an index was added has ended. Later changes reach the index.
const EARLIER_CHANGES_TIME_MAX: Duration = Duration::from_secs(2);

/// All storage indexes of a server.
#[derive(Default)]
pub struct StorageIndexes {
    by_name: RwLock<Arc<ByName>>,
    uncertain: Mutex<BTreeSet<ObjectId>>,
    /// Held while uncertain objects are read, so that nobody takes them for settled meanwhile.
    settling: tokio::sync::Mutex<()>,
}

type ByName = BTreeMap<String, Arc<StorageIndex>>;

/// Objects whose commit the indexes wait for. If it is dropped, they become uncertain.
pub(crate) struct PendingObjects {
    indexes: Arc<StorageIndexes>,
    ids: Vec<ObjectId>,
}

/// Changes of the indexes that wait for a commit, in the order of the changed objects.
#[derive(Clone)]
pub(crate) struct PreparedObject {
    id: ObjectId,
    changes: Vec<(Arc<StorageIndex>, PreparedChange)>,
}

impl StorageIndexes {
    /// Creates the indexes and fills them from the database.
    pub async fn open(
        definitions: Vec<IndexDefinition>,
        store: &Store,
        registry: &Registry,
    ) -> Result<StorageIndexes, ServiceError> {
        if definitions.len() > INDEXES_MAX {
            return Err(ServiceError::invalid(format!("A server has at most {INDEXES_MAX} storage indexes.")));
        }
        let mut by_name = BTreeMap::new();
        for definition in definitions {
            definition.check()?;
            let name = definition.name.clone();
            let index = Arc::new(StorageIndex::new(definition, registry));
            if by_name.insert(name.clone(), Arc::clone(&index)).is_some() {
                let message = format!("Storage index {name} is added twice. Choose another name.");
                return Err(ServiceError::with(GrpcCode::AlreadyExists, message));
            }
            fill(&index, store).await?;
        }
        Ok(StorageIndexes { by_name: RwLock::new(Arc::new(by_name)), ..StorageIndexes::default() })
    }

    /// Adds an index and fills it from the database. `is_running` says that objects may change meanwhile. Fails if there is
    /// an index of this name.
    pub(crate) async fn add(
        &self,
        definition: IndexDefinition,
        (store, registry): (&Store, &Registry),
        is_running: bool,
    ) -> Result<(), ServiceError> {
        definition.check()?;
        let name = definition.name.clone();
        let index = Arc::new(StorageIndex::new(definition, registry));
        index.start_filling();
        {
            let mut current = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
            if current.len() >= INDEXES_MAX {
                return Err(ServiceError::invalid(format!("A server has at most {INDEXES_MAX} storage indexes.")));
            }
            let mut by_name = ByName::clone(&current);
            if by_name.insert(name.clone(), Arc::clone(&index)).is_some() {
                let message = format!("Storage index {name} is added twice. Choose another name.");
                return Err(ServiceError::with(GrpcCode::AlreadyExists, message));
            }
            *current = Arc::new(by_name);
        }
        if is_running {
            tokio::time::sleep(EARLIER_CHANGES_TIME_MAX).await;
        }
        let filled = fill(&index, store).await;
        index.end_filling();
        if filled.is_err() {
            let mut current = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
            let mut by_name = ByName::clone(&current);
            by_name.remove(&name);
            *current = Arc::new(by_name);
        }
        filled
    }

    /// Names of the indexes, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.by_name().keys().cloned().collect()
    }

    /// Returns true if an object of this id can be in an index.
    pub(crate) fn covers(&self, id: &ObjectId) -> bool {
        self.by_name().values().any(|index| index.definition.covers(id))
    }

    /// Rejects changes while too many objects are uncertain.
    pub(crate) fn check_certain(&self) -> Result<(), ServiceError> {
        if self.uncertain().len() >= UNCERTAIN_MAX { Err(UNAVAILABLE) } else { Ok(()) }
    }

    /// Prepares what a written object changes. Its creation time does not count.
    pub(crate) fn prepare_write(&self, object: &Object) -> PreparedObject {
        let changes = self.covering(&object.id).into_iter().map(|index| {
            let change = index.prepare(object);
            (index, change)
        });
        PreparedObject { id: object.id.clone(), changes: changes.collect() }
    }

    /// Prepares what a deleted object changes.
    pub(crate) fn prepare_delete(&self, id: &ObjectId) -> PreparedObject {
        let removed = PreparedChange::Remove(entry::key_of(id));
        let changes = self.covering(id).into_iter().map(|index| (index, removed.clone()));
        PreparedObject { id: id.clone(), changes: changes.collect() }
    }

    /// Waits for the commit of objects.
    pub(crate) fn pending(self: &Arc<Self>, ids: Vec<ObjectId>) -> PendingObjects {
        PendingObjects { indexes: Arc::clone(self), ids }
    }

    /// Reads uncertain objects again.
    pub(crate) async fn settle(self: &Arc<Self>, store: &Store) -> Result<(), ServiceError> {
        if self.by_name().is_empty() {
            return Ok(());
        }
        let _settling = self.settling.lock().await;
        while let Some(id) = self.take_uncertain() {
            // If the call ends before the object is read, it stays uncertain.
            let guard = self.pending(vec![id.clone()]);
            let indexes = Arc::clone(self);
            let turn = turn(&id);
            let operation = move |transaction: &mut Transaction<'_>| {
                let object = find(transaction, &id)?;
                let pending = indexes.pending(vec![id.clone()]);
                transaction.after_commit(move || pending.settle(object.as_ref()));
                Ok::<_, ServiceError>(())
            };
            store.write_in_order(turn, operation).await?;
            guard.cancel();
        }
        Ok(())
    }

    /// Forgets the objects of an account that is being erased, in the transaction that erases it. It has to run in the
    /// account's [turn](Leaderboards::turn).
    pub(crate) fn forget_within(self: &Arc<Self>, transaction: &mut Transaction<'_>, user: Uuid) {
        let indexes = Arc::clone(self);
        transaction.after_commit(move || {
            indexes.by_name().values().for_each(|index| index.apply([IndexChange::RemoveOwner(user)]));
        });
    }

    /// Searches an index on behalf of a user, or of the server if `None`. Returns the ids of the objects with the cursor, and
    /// the objects if the index answers from memory.
    pub(super) async fn search(
        self: &Arc<Self>,
        store: &Store,
        query: &IndexQuery,
        user: Option<Uuid>,
    ) -> Result<(Vec<ObjectId>, Option<Page>, String), ServiceError> {
        let missing = || {
            let message = format!("Storage index {:.64} was not found; the server program adds indexes.", query.index);
            ServiceError::with(GrpcCode::NotFound, message)
        };
        let index = Arc::clone(self.by_name().get(&query.index).ok_or_else(missing)?);
        let search = query.check(&index, user)?;
        self.settle(store).await?;
        // A search of a large index takes milliseconds, which must not delay other tasks.
        let searching = tokio::task::spawn_blocking(move || {
            let found = search.run(&index);
            (found, index.definition.index_only)
        });
        let (found, index_only) = searching.await.map_err(|_| INTERNAL)?;
        let page = index_only.then(|| Page { objects: found.objects, cursor: found.cursor.clone() });
        Ok((found.ids, page, found.cursor))
    }

    fn by_name(&self) -> Arc<ByName> {
        Arc::clone(&self.by_name.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn covering(&self, id: &ObjectId) -> Vec<Arc<StorageIndex>> {
        self.by_name().values().filter(|index| index.definition.covers(id)).map(Arc::clone).collect()
    }

    fn take_uncertain(&self) -> Option<ObjectId> {
        self.uncertain().pop_first()
    }

    fn uncertain(&self) -> MutexGuard<'_, BTreeSet<ObjectId>> {
        self.uncertain.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingObjects {
    /// Ends the wait: nothing was committed, or the objects were settled otherwise.
    pub fn cancel(mut self) {
        self.ids.clear();
    }

    /// Applies committed changes with the creation times of the objects, in order.
    pub fn apply(self, changed: Vec<(PreparedObject, i64)>) {
        for (prepared, created_at) in changed {
            for (index, change) in prepared.changes {
                index.apply([index.finish(change, created_at)]);
            }
        }
        self.cancel();
    }

    /// Applies the stored state of the object, of which there is one.
    fn settle(self, object: Option<&Object>) {
        for id in &self.ids {
            for index in self.indexes.covering(id) {
                index.apply([index.change_of(id, object)]);
            }
        }
        self.cancel();
    }
}

impl Drop for PendingObjects {
    fn drop(&mut self) {
        if !self.ids.is_empty() {
            self.indexes.uncertain().extend(self.ids.drain(..));
        }
    }
}

impl PreparedObject {
    /// Id of the object.
    pub fn id(&self) -> &ObjectId {
        &self.id
    }
}

/// Returns the number under which changes of an object run one after the other: one for all objects of an owner, as for
/// the erasure of an account, and one for each object of the server.
pub(crate) fn turn(id: &ObjectId) -> u64 {
    if !id.owner.is_nil() {
        return Leaderboards::turn(id.owner);
    }
    let mut hash = Sha256::new();
    hash.update(id.collection.as_bytes());
    hash.update([0]);
    hash.update(id.key.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    u64::from_be_bytes(first)
}

/// Fills an index from the database, page by page.
async fn fill(index: &Arc<StorageIndex>, store: &Store) -> Result<(), ServiceError> {
    let name = index.definition.name.clone();
    let mut after = (Uuid::nil(), String::new());
    let (mut objects, mut logged) = (0, 0);
    loop {
        let (collection, key) = (index.definition.collection.clone(), index.definition.key.clone());
        let (owner, last_key) = after.clone();
        let page = store.read(move |transaction| {
            let parameters =
                values![&collection, owner, &last_key, key.is_none(), key.as_deref().unwrap_or(""), FILL_PAGE];
            transaction.rows(PAGE, parameters, Object::from_row)
        });
        let page: Vec<Object> = page.await.map_err(|error: StoreError| error)?;
        let Some(last) = page.last() else { break };
        after = (last.id.owner, last.id.key.clone());
        objects += page.len();
        let covered = page.iter().filter(|object| index.definition.covers(&object.id));
        index.apply_stored(covered.map(|object| index.change_of(&object.id, Some(object))));
        if objects >= logged + PROGRESS_OBJECTS {
            logged = objects;
            info!(index = name, objects, entries = index.entries().by_key.len(), "storage index is being filled");
        }
        if page.len() < FILL_PAGE as usize {
            break;
        }
    }
    info!(index = name, objects, entries = index.entries().by_key.len(), "storage index filled");
    Ok(())
}

/// Page of a collection. Values of other keys are not read.
const PAGE: &str = "SELECT collection, key, user_id, CASE WHEN ?4 OR key = ?5 THEN value ELSE '' END, version,
        permission_read, permission_write, created_at, updated_at
    FROM storage_objects WHERE collection = ?1 AND (user_id, key) > (?2, ?3) ORDER BY user_id, key LIMIT ?6";
