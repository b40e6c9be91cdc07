//! Storage indexes of the configuration.

use super::Config;
use super::declare::section;
use aether_services::storage::IndexDefinition;

section! {
    /// An index of the objects of a storage collection.
    pub struct StorageIndex {
        /// Collection of the objects. Required.
        collection: Option<String> = None;
        /// Key of the objects. Default: all keys.
        key: Option<String> = None;
        /// Fields of the objects that queries can use: keys of the outermost JSON object. Required.
        fields: Vec<String> = Vec::new();
        /// Fields that lists can be sorted by; each is one of `fields`.
        sortable: Vec<String> = Vec::new();
        /// Maximum number of objects in the index, which are in memory. Beyond, the one that was written longest ago leaves it.
        entries_max: u32 = 10000, within 1..=1000000;
        /// Answers lists from memory, with the fields of the index only.
        index_only: bool = false;
    }
}

impl Config {
    /// Returns a storage index, to change it. Adds it if it is missing.
    pub fn storage_index_mut(&mut self, name: &str) -> &mut StorageIndex {
        self.storage_index.entry(name.to_owned()).or_default()
    }

    /// Returns the definitions of the storage indexes.
    pub(crate) fn storage_indexes(&self) -> impl Iterator<Item = IndexDefinition> {
        self.storage_index.iter().map(|(name, index)| IndexDefinition {
            name: name.clone(),
            collection: index.collection.clone().unwrap_or_default(),
            key: index.key.clone(),
            fields: index.fields.clone(),
            sortable: index.sortable.clone(),
            entries_max: usize::try_from(index.entries_max).unwrap_or(usize::MAX),
            index_only: index.index_only,
            filter: None,
        })
    }
}
