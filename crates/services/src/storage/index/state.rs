//! One storage index in memory.
//!
//! Changes arrive on threads of the store, which must not wait for a search. So they are queued, and applied by the next
//! one that gets the index: the change itself, or a search before it begins.

use super::definition::IndexDefinition;
use super::entry::{EntryKey, IndexEntry, Left, PreparedEntry, key_of};
use crate::storage::{Object, ObjectId};
use aether_metrics::{Counter, Gauge, Registry};
use aether_query::{Document, DocumentIndex};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use uuid::Uuid;

/// Index of the objects of a collection.
pub(super) struct StorageIndex {
    pub definition: IndexDefinition,
    entries: RwLock<Entries>,
    queue: Mutex<Queue>,
    entry_count: Gauge,
    byte_count: Gauge,
    too_large: Counter,
}

/// Changes that wait to be applied.
#[derive(Default)]
struct Queue {
    changes: VecDeque<IndexChange>,
    /// Objects that changed while the index is being filled. What the database had before does not count for them.
    changed: Option<ChangedObjects>,
}

/// Objects and owners that changed.
#[derive(Default)]
struct ChangedObjects {
    keys: BTreeSet<EntryKey>,
    owners: BTreeSet<Uuid>,
}

/// Entries of an index.
#[derive(Default)]
pub(super) struct Entries {
    pub documents: DocumentIndex<EntryKey>,
    pub by_key: BTreeMap<EntryKey, IndexEntry>,
    /// Keys by the time of the last write, the oldest first.
    ages: BTreeSet<(i64, EntryKey)>,
    bytes: usize,
}

/// Change of an index.
pub(super) enum IndexChange {
    Put(EntryKey, Document, Box<IndexEntry>),
    Remove(EntryKey),
    RemoveOwner(Uuid),
}

/// Change of an object, before it is committed.
#[derive(Clone)]
pub(super) enum PreparedChange {
    Put(EntryKey, Box<PreparedEntry>),
    Remove(EntryKey),
}

impl StorageIndex {
    pub fn new(definition: IndexDefinition, registry: &Registry) -> StorageIndex {
        let labels = [("index", definition.name.as_str())];
        let gauge = |name, help| registry.gauge(name, help, &labels);
        let entry_count = gauge("aether_storage_index_entries", "Objects in a storage index.");
        let byte_count = gauge("aether_storage_index_bytes", "Approximate memory of a storage index.");
        let help = "Objects that are not in a storage index because their fields are too large.";
        let too_large = registry.counter("aether_storage_index_too_large_total", help, &labels);
        StorageIndex {
            definition,
            entries: RwLock::default(),
            queue: Mutex::default(),
            entry_count,
            byte_count,
            too_large,
        }
    }

    /// Prepares the change that a written object causes. Its creation time does not count.
    pub fn prepare(&self, object: &Object) -> PreparedChange {
        let key = key_of(&object.id);
        match PreparedEntry::of(&self.definition, object) {
            Ok(entry) => PreparedChange::Put(key, Box::new(entry)),
            Err(left) => {
                self.count(left);
                PreparedChange::Remove(key)
            }
        }
    }

    /// Returns the change of an object as it is stored; `None` for one that does not exist.
    pub fn change_of(&self, id: &ObjectId, object: Option<&Object>) -> IndexChange {
        match object {
            Some(object) => self.finish(self.prepare(object), object.created_at),
            None => IndexChange::Remove(key_of(id)),
        }
    }

    /// Completes a change with the creation time of the object.
    pub fn finish(&self, prepared: PreparedChange, created_at: i64) -> IndexChange {
        match prepared {
            PreparedChange::Remove(key) => IndexChange::Remove(key),
            PreparedChange::Put(key, entry) => match entry.finish(created_at) {
                Ok((document, entry)) => IndexChange::Put(key, document, Box::new(entry)),
                Err(left) => {
                    self.count(left);
                    IndexChange::Remove(key)
                }
            },
        }
    }

    /// Notes from now on which objects change, until [`StorageIndex::end_filling`].
    pub fn start_filling(&self) {
        self.queue().changed = Some(ChangedObjects::default());
    }

    /// Ends the filling: the index has all stored objects.
    pub fn end_filling(&self) {
        self.queue().changed = None;
    }

    /// Applies objects as they were read from the database, except those that changed since.
    pub fn apply_stored(&self, changes: impl IntoIterator<Item = IndexChange>) {
        let mut queue = self.queue();
        for change in changes {
            if !queue.changed.as_ref().is_some_and(|changed| changed.has(&change)) {
                queue.changes.push_back(change);
            }
        }
        drop(queue);
        self.drain_if_free();
    }

    /// Applies changes in their order. It never waits for a search.
    pub fn apply(&self, changes: impl IntoIterator<Item = IndexChange>) {
        let mut queue = self.queue();
        for change in changes {
            if let Some(changed) = &mut queue.changed {
                changed.add(&change);
            }
            queue.changes.push_back(change);
        }
        drop(queue);
        self.drain_if_free();
    }

    fn drain_if_free(&self) {
        match self.entries.try_write() {
            Ok(entries) => self.drain(entries),
            Err(TryLockError::Poisoned(poisoned)) => self.drain(poisoned.into_inner()),
            // A search runs. The next change or search applies them.
            Err(TryLockError::WouldBlock) => {}
        }
    }

    /// Returns the entries after all changes that were made before.
    pub fn entries(&self) -> RwLockReadGuard<'_, Entries> {
        if !self.queue().changes.is_empty() {
            self.drain(self.entries.write().unwrap_or_else(PoisonError::into_inner));
        }
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn drain(&self, mut entries: RwLockWriteGuard<'_, Entries>) {
        loop {
            let Some(change) = self.queue().changes.pop_front() else { break };
            entries.apply(change, self.definition.entries_max);
        }
        self.entry_count.set(entries.by_key.len() as f64);
        self.byte_count.set(entries.bytes as f64);
    }

    fn count(&self, left: Left) {
        if left == Left::TooLarge {
            self.too_large.inc();
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChangedObjects {
    fn has(&self, change: &IndexChange) -> bool {
        match change {
            IndexChange::Put(key, _, _) | IndexChange::Remove(key) => {
                self.keys.contains(key) || self.owners.contains(&key.0)
            }
            IndexChange::RemoveOwner(_) => false,
        }
    }

    fn add(&mut self, change: &IndexChange) {
        match change {
            IndexChange::Put(key, _, _) | IndexChange::Remove(key) => drop(self.keys.insert(key.clone())),
            IndexChange::RemoveOwner(owner) => drop(self.owners.insert(*owner)),
        }
    }
}

impl Entries {
    fn apply(&mut self, change: IndexChange, entries_max: usize) {
        match change {
            IndexChange::Put(key, document, entry) => self.put(key, document, *entry, entries_max),
            IndexChange::Remove(key) => self.remove(&key),
            IndexChange::RemoveOwner(owner) => {
                let from = (owner, Arc::from(""));
                let of_owner = self.by_key.range(from..).take_while(|((of, _), _)| *of == owner);
                let keys: Vec<EntryKey> = of_owner.map(|(key, _)| key.clone()).collect();
                keys.iter().for_each(|key| self.remove(key));
            }
        }
    }

    fn put(&mut self, key: EntryKey, document: Document, entry: IndexEntry, entries_max: usize) {
        self.remove(&key);
        self.ages.insert((entry.updated_at, key.clone()));
        self.bytes += entry.bytes;
        self.documents.insert(key.clone(), document);
        self.by_key.insert(key, entry);
        while self.by_key.len() > entries_max {
            let Some((_, oldest)) = self.ages.first().cloned() else { break };
            self.remove(&oldest);
        }
    }

    fn remove(&mut self, key: &EntryKey) {
        let Some(entry) = self.by_key.remove(key) else { return };
        self.bytes -= entry.bytes;
        self.ages.remove(&(entry.updated_at, key.clone()));
        self.documents.remove(key);
    }
}
