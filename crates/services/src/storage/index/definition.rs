//! Definitions of storage indexes.

use super::limits::{
    INDEX_ENTRIES_MAX, INDEX_FIELD_BYTES_MAX, INDEX_FIELDS_MAX, INDEX_NAME_BYTES_MAX, SORTABLE_FIELDS_MAX,
};
use crate::error::ServiceError;
use crate::storage::{COLLECTION_BYTES_MAX, KEY_BYTES_MAX, Object, ObjectId};
use std::fmt;
use std::sync::Arc;

/// Decides which objects are in an index. It must be fast, and the same object must always get the same answer.
pub type IndexFilter = Arc<dyn Fn(&Object) -> bool + Send + Sync>;

/// Definition of a storage index.
///
/// ```
/// use aether_services::storage::IndexDefinition;
///
/// let index = IndexDefinition::new("guilds", "guild", ["name", "region", "members"])
///     .sortable(["members"])
///     .entries_max(50_000)
///     .index_only();
/// ```
#[derive(Clone)]
pub struct IndexDefinition {
    /// Name of the index.
    pub name: String,
    /// Collection of the objects.
    pub collection: String,
    /// Key of the objects; all keys if there is none.
    pub key: Option<String>,
    /// Fields of the objects that queries can use: keys of the outermost JSON object. An object without any of them is not
    /// in the index.
    pub fields: Vec<String>,
    /// Fields that lists can be sorted by; each is one of the fields.
    pub sortable: Vec<String>,
    /// Maximum number of entries. Beyond, the object that was written longest ago leaves the index.
    pub entries_max: usize,
    /// True if lists are answered from memory, with the fields of the index only.
    pub index_only: bool,
    /// Decides which objects are in the index; all if there is none.
    pub filter: Option<IndexFilter>,
}

impl IndexDefinition {
    /// Creates a definition for all objects of a collection, with up to 10,000 entries.
    pub fn new<F: Into<String>>(
        name: impl Into<String>,
        collection: impl Into<String>,
        fields: impl IntoIterator<Item = F>,
    ) -> IndexDefinition {
        IndexDefinition {
            name: name.into(),
            collection: collection.into(),
            key: None,
            fields: fields.into_iter().map(Into::into).collect(),
            sortable: Vec::new(),
            entries_max: 10_000,
            index_only: false,
            filter: None,
        }
    }

    /// Restricts the index to objects with this key.
    #[must_use]
    pub fn of_key(mut self, key: impl Into<String>) -> IndexDefinition {
        self.key = Some(key.into());
        self
    }

    /// Sets the fields that lists can be sorted by.
    #[must_use]
    pub fn sortable<F: Into<String>>(mut self, fields: impl IntoIterator<Item = F>) -> IndexDefinition {
        self.sortable = fields.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the maximum number of entries.
    #[must_use]
    pub fn entries_max(mut self, entries: usize) -> IndexDefinition {
        self.entries_max = entries;
        self
    }

    /// Answers lists from memory, with the fields of the index only.
    #[must_use]
    pub fn index_only(mut self) -> IndexDefinition {
        self.index_only = true;
        self
    }

    /// Sets a function that decides which objects are in the index.
    #[must_use]
    pub fn filter(mut self, filter: impl Fn(&Object) -> bool + Send + Sync + 'static) -> IndexDefinition {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Returns true if an object of this id can be in the index.
    pub(super) fn covers(&self, id: &ObjectId) -> bool {
        self.collection == id.collection && self.key.as_ref().is_none_or(|key| *key == id.key)
    }

    pub(super) fn check(&self) -> Result<(), ServiceError> {
        let name = &self.name;
        let is_named = |text: &str, bytes_max: usize| (1..=bytes_max).contains(&text.len());
        if !is_named(name, INDEX_NAME_BYTES_MAX) {
            return Err(invalid(name, format!("its name must have 1 to {INDEX_NAME_BYTES_MAX} bytes")));
        }
        if !is_named(&self.collection, COLLECTION_BYTES_MAX) {
            return Err(invalid(name, format!("its collection must have 1 to {COLLECTION_BYTES_MAX} bytes")));
        }
        if self.key.as_ref().is_some_and(|key| !is_named(key, KEY_BYTES_MAX)) {
            return Err(invalid(name, format!("its key must have 1 to {KEY_BYTES_MAX} bytes")));
        }
        let fields = &self.fields;
        if fields.is_empty() || fields.len() > INDEX_FIELDS_MAX {
            return Err(invalid(name, format!("it must have 1 to {INDEX_FIELDS_MAX} fields")));
        }
        if !fields.iter().all(|field| is_named(field, INDEX_FIELD_BYTES_MAX)) {
            return Err(invalid(name, format!("names of fields must have 1 to {INDEX_FIELD_BYTES_MAX} bytes")));
        }
        if self.sortable.len() > SORTABLE_FIELDS_MAX {
            return Err(invalid(name, format!("it has at most {SORTABLE_FIELDS_MAX} sortable fields")));
        }
        if let Some(field) = self.sortable.iter().find(|field| !fields.contains(field)) {
            return Err(invalid(name, format!("sortable field {field} is not one of its fields")));
        }
        if !(1..=INDEX_ENTRIES_MAX).contains(&self.entries_max) {
            return Err(invalid(name, format!("it must have room for 1 to {INDEX_ENTRIES_MAX} entries")));
        }
        Ok(())
    }
}

impl fmt::Debug for IndexDefinition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("IndexDefinition");
        text.field("name", &self.name).field("collection", &self.collection).field("key", &self.key);
        text.field("fields", &self.fields).field("sortable", &self.sortable).field("entries_max", &self.entries_max);
        text.field("index_only", &self.index_only).finish_non_exhaustive()
    }
}

fn invalid(name: &str, why: String) -> ServiceError {
    ServiceError::invalid(format!("Storage index {name:.64} cannot be added: {why}."))
}
