//! Join metadata: texts by key that a client sends to the game with its hello.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Join metadata of a player: texts by key, which the game reads when the player joins.
///
/// Encoding and decoding check it: at most [`METADATA_ENTRIES_MAX`](crate::limits::METADATA_ENTRIES_MAX) entries with
/// different keys, of bounded length.
///
/// ```
/// use aether_wire::JoinMetadata;
///
/// let metadata = JoinMetadata::from([("profile", "mage"), ("team", "red")]);
/// assert_eq!(metadata.get("team"), Some("red"));
/// assert_eq!(metadata.get("colour"), None);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct JoinMetadata {
    /// None without entries. On the heap, because messages of clients wait in queues, and few of them are a hello.
    entries: Option<Box<Entries>>,
}

/// Entries, ordered by key. A decoded message may repeat a key, until it is checked.
#[derive(Clone, Default, PartialEq, Eq)]
struct Entries(Vec<(String, String)>);

impl JoinMetadata {
    /// Returns the text of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        let index = self.entries().binary_search_by(|(known, _)| known.as_str().cmp(key)).ok()?;
        Some(&self.entries()[index].1)
    }

    /// Sets the text of a key.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let key = key.into();
        let Entries(entries) = &mut **self.entries.get_or_insert_default();
        match entries.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(index) => entries[index].1 = value.into(),
            Err(index) => entries.insert(index, (key, value.into())),
        }
    }

    /// Returns the entries, ordered by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.entries().iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Returns the number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Returns true if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_none()
    }

    /// Rejects metadata beyond the limits of a hello: the number of entries, and the bytes of keys and texts.
    pub fn check(&self) -> Result<(), crate::DecodeError> {
        crate::check::check_metadata(self)
    }

    /// Collects received entries, also repeated keys.
    pub(crate) fn from_received(mut entries: Vec<(String, String)>) -> JoinMetadata {
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        JoinMetadata { entries: (!entries.is_empty()).then(|| Box::new(Entries(entries))) }
    }

    fn entries(&self) -> &[(String, String)] {
        self.entries.as_deref().map_or(&[], |Entries(entries)| entries)
    }

    pub(crate) fn has_repeated_key(&self) -> bool {
        self.entries().windows(2).any(|pair| pair[0].0 == pair[1].0)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for JoinMetadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> JoinMetadata {
        let mut metadata = JoinMetadata::default();
        entries.into_iter().for_each(|(key, value)| metadata.insert(key, value));
        metadata
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for JoinMetadata {
    fn from(entries: [(K, V); N]) -> JoinMetadata {
        entries.into_iter().collect()
    }
}

impl fmt::Debug for JoinMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for JoinMetadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for JoinMetadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JoinMetadata, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = JoinMetadata;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of texts")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<JoinMetadata, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(JoinMetadata::from_received(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}
