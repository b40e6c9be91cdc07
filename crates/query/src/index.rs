//! Index of documents.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::document::Document;
use crate::order::{Ranked, SearchOrder};
use crate::plan::{Fields, Plan};
use crate::postings::Slot;
use crate::query::{MatchScore, Query};

/// Documents under keys, searched by queries.
///
/// ```
/// use aether_query::{Document, DocumentIndex, Query, SearchOrder};
///
/// let mut index = DocumentIndex::new();
/// for (ticket, skill) in [("ann", 1200.0), ("bob", 1900.0), ("cleo", 1250.0)] {
///     index.insert(ticket, Document::builder().number("properties.skill", skill).build()?);
/// }
/// let query = Query::parse("+properties.skill:>=1100 +properties.skill:<=1300")?;
/// assert_eq!(index.search(&query, 10, &SearchOrder::best_then_oldest()), ["ann", "cleo"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DocumentIndex<K> {
    entries: Vec<Option<Entry<K>>>,
    /// Slots without a document.
    free: Vec<Slot>,
    slots: BTreeMap<K, Slot>,
    fields: Fields,
    next_sequence: u64,
}

/// A document and its key.
#[derive(Clone, Debug)]
struct Entry<K> {
    key: K,
    document: Document,
    /// Position in the order of insertion.
    sequence: u64,
}

/// A document that matches.
struct Hit {
    slot: Slot,
    score: MatchScore,
}

impl<K: Clone + Ord> DocumentIndex<K> {
    /// Creates an index without documents.
    pub fn new() -> DocumentIndex<K> {
        DocumentIndex::default()
    }

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if there are no documents.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds a document, or replaces the one with this key, which keeps its position in the order of insertion.
    pub fn insert(&mut self, key: K, document: Document) {
        let replaced = self.take(&key).map(|entry| entry.sequence);
        let sequence = replaced.unwrap_or_else(|| {
            self.next_sequence += 1;
            self.next_sequence
        });
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            // Four billion documents do not fit into memory.
            (self.entries.len() - 1) as Slot
        });
        let mut document = document;
        self.index_values(&mut document, slot);
        self.slots.insert(key.clone(), slot);
        self.entries[slot as usize] = Some(Entry { key, document, sequence });
    }

    /// Removes a document and returns it.
    pub fn remove(&mut self, key: &K) -> Option<Document> {
        self.take(key).map(|entry| entry.document)
    }

    /// Returns the document with this key.
    pub fn get(&self, key: &K) -> Option<&Document> {
        self.slots.get(key).and_then(|slot| self.entry(*slot)).map(|entry| &entry.document)
    }

    /// Returns the keys, sorted.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.slots.keys()
    }

    /// Returns the keys after a key, sorted.
    pub fn keys_after(&self, after: Option<K>) -> impl Iterator<Item = &K> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.slots.range((start, Bound::Unbounded)).map(|(key, _)| key)
    }

    /// Returns all documents with their keys, unordered.
    pub fn into_documents(self) -> impl Iterator<Item = (K, Document)> {
        self.entries.into_iter().flatten().map(|entry| (entry.key, entry.document))
    }

    /// Returns the keys of the first `limit` matching documents in an order.
    pub fn search(&self, query: &Query, limit: usize, order: &SearchOrder) -> Vec<K> {
        self.search_scored(query, limit, order).into_iter().map(|(key, _)| key).collect()
    }

    /// Searches as [`search`](Self::search) does, and also returns the scores.
    pub fn search_scored(&self, query: &Query, limit: usize, order: &SearchOrder) -> Vec<(K, MatchScore)> {
        let mut hits = self.hits(query);
        let compare = |left: &Hit, right: &Hit| match (self.ranked(left), self.ranked(right)) {
            (Some(left), Some(right)) => order.compare(&left, &right),
            (left, right) => left.is_none().cmp(&right.is_none()),
        };
        if limit < hits.len() {
            hits.select_nth_unstable_by(limit, compare);
            hits.truncate(limit);
        }
        hits.sort_unstable_by(compare);
        let keyed = hits.into_iter().filter_map(|hit| Some((self.entry(hit.slot)?.key.clone(), hit.score)));
        keyed.collect()
    }

    /// Returns the keys of the documents that a search would check, unordered, or `None` if it would check all of them.
    ///
    /// For callers that check the documents themselves and stop early: every match is among them.
    pub fn candidates(&self, query: &Query) -> Option<Vec<K>> {
        let slots = Plan::choose(query, &self.fields, self.len()).slots()?;
        Some(slots.into_iter().filter_map(|slot| Some(self.entry(slot)?.key.clone())).collect())
    }

    /// Returns all matching documents, unordered.
    fn hits(&self, query: &Query) -> Vec<Hit> {
        let check = |slot: Slot| {
            let score = query.matches(&self.entry(slot)?.document)?;
            Some(Hit { slot, score })
        };
        match Plan::choose(query, &self.fields, self.len()).slots() {
            None => (0..self.entries.len() as Slot).filter_map(check).collect(),
            Some(slots) => slots.into_iter().filter_map(check).collect(),
        }
    }

    fn ranked(&self, hit: &Hit) -> Option<Ranked<'_>> {
        let entry = self.entry(hit.slot)?;
        Some(Ranked { score: hit.score, sequence: entry.sequence, document: &entry.document })
    }

    fn entry(&self, slot: Slot) -> Option<&Entry<K>> {
        self.entries.get(slot as usize)?.as_ref()
    }

    fn take(&mut self, key: &K) -> Option<Entry<K>> {
        let slot = self.slots.remove(key)?;
        let entry = self.entries.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        for values in entry.document.fields().chunk_by(|left, right| left.name == right.name) {
            let name = &values[0].name;
            let Some(field) = self.fields.get_mut(name) else { continue };
            field.remove(values, slot);
            if field.is_empty() {
                self.fields.remove(name);
            }
        }
        Some(entry)
    }

    /// Indexes the values of a document. It then shares names and texts with the index.
    fn index_values(&mut self, document: &mut Document, slot: Slot) {
        for values in document.fields_mut().chunk_by_mut(|left, right| left.name == right.name) {
            let name = match self.fields.get_key_value(&values[0].name) {
                Some((name, _)) => Arc::clone(name),
                None => Arc::clone(&values[0].name),
            };
            for value in values.iter_mut() {
                value.name = Arc::clone(&name);
            }
            self.fields.entry(name).or_default().insert(values, slot);
        }
    }
}

impl<K> Default for DocumentIndex<K> {
    fn default() -> DocumentIndex<K> {
        DocumentIndex {
            entries: Vec::new(),
            free: Vec::new(),
            slots: BTreeMap::new(),
            fields: Fields::new(),
            next_sequence: 0,
        }
    }
}
