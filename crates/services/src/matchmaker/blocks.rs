//! Index of the tickets that can be found, in blocks by age.
//!
//! A search reads the blocks from the oldest to the youngest, and ends when it has found enough. So its time depends on the
//! tickets that it finds, and not on all that would suit.

use super::limits::BLOCK_TICKETS;
use super::ticket::TicketKey;
use aether_query::{Document, DocumentIndex};
use std::collections::BTreeMap;
use std::ops::Bound;

/// Fewer tickets than these are moved into a neighbor, if both together have at most [`MERGED_TICKETS_MAX`].
const SMALL_TICKETS: usize = BLOCK_TICKETS / 4;
const MERGED_TICKETS_MAX: usize = BLOCK_TICKETS / 2;

/// Index of one block.
pub(super) type TicketIndex = DocumentIndex<TicketKey>;

/// Blocks by the age of their first ticket. A block has the tickets up to the start of the next one; the oldest block also
/// has those before its start.
#[derive(Default)]
pub(super) struct TicketBlocks {
    blocks: BTreeMap<u64, TicketIndex>,
}

impl TicketBlocks {
    /// Adds a document. Returns one that shares names and texts with others, so that searches find them in the cache.
    pub fn insert(&mut self, key: TicketKey, document: Document) -> Document {
        let start = match self.start_of(key) {
            Some(start) if self.has_space(start, key) => start,
            _ => key.age,
        };
        let block = self.blocks.entry(start).or_default();
        block.insert(key, document);
        block.get(&key).cloned().unwrap_or_default()
    }

    /// Removes a document.
    pub fn remove(&mut self, key: TicketKey) {
        let Some(start) = self.start_of(key) else { return };
        let Some(block) = self.blocks.get_mut(&start) else { return };
        block.remove(&key);
        match block.len() {
            0 => drop(self.blocks.remove(&start)),
            count if count < SMALL_TICKETS => self.merge(start, count),
            _ => {}
        }
    }

    /// Returns the blocks with tickets younger than a key, the oldest first.
    pub fn after(&self, after: Option<TicketKey>) -> impl Iterator<Item = &TicketIndex> {
        let start = after.and_then(|after| self.start_of(after)).map_or(Bound::Unbounded, Bound::Included);
        self.blocks.range((start, Bound::Unbounded)).map(|(_, block)| block)
    }

    /// Start of the block that a key belongs to.
    fn start_of(&self, key: TicketKey) -> Option<u64> {
        let before = self.blocks.range(..=key.age).next_back();
        before.or_else(|| self.blocks.first_key_value()).map(|(start, _)| *start)
    }

    /// Returns false if a key starts a new block: it is the youngest of all, and the last block is full.
    fn has_space(&self, start: u64, key: TicketKey) -> bool {
        let Some((last, block)) = self.blocks.last_key_value() else { return false };
        *last != start
            || block.len() < BLOCK_TICKETS
            || block.keys().next_back().is_some_and(|youngest| *youngest > key)
    }

    /// Moves a small block and a neighbor into one, if they fit.
    fn merge(&mut self, start: u64, count: usize) {
        let fits = |(_, block): &(&u64, &TicketIndex)| count + block.len() <= MERGED_TICKETS_MAX;
        let next = self.blocks.range((Bound::Excluded(start), Bound::Unbounded)).next().filter(fits);
        let previous = self.blocks.range(..start).next_back().filter(fits);
        let (first, second) = match (next, previous) {
            (Some((next, _)), _) => (start, *next),
            (None, Some((previous, _))) => (*previous, start),
            (None, None) => return,
        };
        let [Some(mut larger), Some(mut smaller)] = [first, second].map(|start| self.blocks.remove(&start)) else {
            return;
        };
        if larger.len() < smaller.len() {
            std::mem::swap(&mut larger, &mut smaller);
        }
        for (key, document) in smaller.into_documents() {
            larger.insert(key, document);
        }
        self.blocks.insert(first, larger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(age: u64) -> TicketKey {
        TicketKey { age, slot: age as u32 }
    }

    fn keys(blocks: &TicketBlocks, after: Option<u64>) -> Vec<u64> {
        blocks.after(after.map(key)).flat_map(|block| block.keys()).map(|key| key.age).collect()
    }

    #[test]
    fn blocks_keep_the_order_of_age_and_small_ones_are_merged() {
        let count = 5 * BLOCK_TICKETS as u64;
        let mut blocks = TicketBlocks::default();
        for age in 1..=count {
            blocks.insert(key(age), Document::default());
        }
        assert_eq!(blocks.blocks.len(), 5);
        assert_eq!(keys(&blocks, None), (1..=count).collect::<Vec<u64>>());
        // A ticket that was held returns to its block, also before the first one that is left.
        for age in [1, 2, BLOCK_TICKETS as u64, count] {
            blocks.remove(key(age));
        }
        for age in [count, 2, BLOCK_TICKETS as u64, 1] {
            blocks.insert(key(age), Document::default());
        }
        assert_eq!(keys(&blocks, None), (1..=count).collect::<Vec<u64>>());
        assert_eq!(blocks.blocks.len(), 5);
        assert!(keys(&blocks, Some(count - 1)).len() <= BLOCK_TICKETS, "earlier blocks are skipped");
        // Of each block, few tickets remain.
        let remains = |age: &u64| age.is_multiple_of(1_000);
        for age in (1..=count).filter(|age| !remains(age)) {
            blocks.remove(key(age));
        }
        assert_eq!(keys(&blocks, None), (1..=count).filter(remains).collect::<Vec<u64>>());
        assert_eq!(blocks.blocks.len(), 1);
        for age in (1..=count).filter(remains) {
            blocks.remove(key(age));
        }
        assert!(blocks.blocks.is_empty());
    }
}
