//! A ranking: one score per owner, and their ranks.

use std::fmt;

use crate::index::{OrderedIndex, RecordSlot};
use crate::ranked_records::{RankedRecord, RankedRecords};
use crate::record::{RankOrder, RankOwner, Record, Score};

/// One score for each owner, and their ranks.
///
/// Ranks begin at 1 and have neither gaps nor ties; see the [crate] for the order of equal scores.
pub struct Ranking {
    order: RankOrder,
    /// Records by slot. A record never changes its slot.
    records: Vec<Record>,
    /// Slots without a record.
    free: Vec<RecordSlot>,
    by_owner: OrderedIndex<RankOwner>,
    by_score: OrderedIndex<Record>,
}

impl Ranking {
    /// Creates an empty ranking.
    #[must_use]
    pub fn new(order: RankOrder) -> Self {
        Ranking {
            order,
            records: Vec::new(),
            free: Vec::new(),
            by_owner: OrderedIndex::new(),
            by_score: OrderedIndex::new(),
        }
    }

    /// Creates a ranking of many records, much faster than one by one. Of several records of an owner the last counts.
    ///
    /// # Panics
    ///
    /// Panics if there are 2³² records or more.
    #[must_use]
    pub fn from_records(order: RankOrder, records: impl IntoIterator<Item = (RankOwner, Score)>) -> Self {
        let mut records: Vec<Record> = records.into_iter().map(|(owner, score)| Record { score, owner }).collect();
        records.sort_by_key(|record| record.owner);
        records.dedup_by(|later, earlier| {
            let same = later.owner == earlier.owner;
            if same {
                *earlier = *later;
            }
            same
        });
        records.shrink_to_fit();
        let end = slot_number(records.len());
        // Records are sorted by owner, so slots of equal scores are in the order of their owners.
        let mut by_score: Vec<(Score, RecordSlot)> = records.iter().map(|record| record.score).zip(0..end).collect();
        by_score.sort_unstable();
        let by_score =
            OrderedIndex::from_sorted(by_score.into_iter().map(|(_, slot)| slot), |slot| record(&records, slot));
        let by_owner = OrderedIndex::from_sorted(0..end, |slot| record(&records, slot).owner);
        Ranking { order, records, free: Vec::new(), by_owner, by_score }
    }

    /// Returns the order.
    #[must_use]
    pub fn order(&self) -> RankOrder {
        self.order
    }

    /// Returns the number of records, which is the last rank.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_score.len()
    }

    /// Returns true if there are no records.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Sets the score of an owner. Returns the new rank.
    ///
    /// # Panics
    ///
    /// Panics if the ranking would have 2³² records.
    pub fn set(&mut self, owner: RankOwner, score: Score) -> u64 {
        let new = Record { score, owner };
        let slot = match self.slot(owner) {
            Some(slot) => {
                self.remove_from_ranks(slot);
                self.records[slot as usize] = new;
                slot
            }
            None => self.add_record(new),
        };
        let position = self.by_score.insert(new, slot, |slot| record(&self.records, slot));
        self.rank_of(position)
    }

    /// Removes an owner's record. Returns true if there was one.
    pub fn remove(&mut self, owner: RankOwner) -> bool {
        let Some(slot) = self.slot(owner) else { return false };
        self.remove_from_ranks(slot);
        self.by_owner.remove(&owner, |slot| record(&self.records, slot).owner);
        self.free.push(slot);
        true
    }

    /// Returns an owner's score.
    #[must_use]
    pub fn score(&self, owner: RankOwner) -> Option<Score> {
        self.slot(owner).map(|slot| record(&self.records, slot).score)
    }

    /// Returns an owner's rank.
    #[must_use]
    pub fn rank(&self, owner: RankOwner) -> Option<u64> {
        self.ranked_record(owner).map(|record| record.rank)
    }

    /// Returns an owner's rank and score.
    #[must_use]
    pub fn ranked_record(&self, owner: RankOwner) -> Option<RankedRecord> {
        let found = record(&self.records, self.slot(owner)?);
        let (position, _) = self.by_score.find(&found, |slot| record(&self.records, slot));
        Some(RankedRecord { rank: self.rank_of(position), owner, score: found.score })
    }

    /// Returns the record at a rank.
    #[must_use]
    pub fn at(&self, rank: u64) -> Option<RankedRecord> {
        self.range(rank, 1).next()
    }

    /// Returns up to `count` records from `first_rank` on.
    #[must_use]
    pub fn range(&self, first_rank: u64, count: usize) -> RankedRecords<'_> {
        let end = first_rank.saturating_add(count as u64).min(self.len() as u64 + 1);
        let rank = first_rank.max(1);
        RankedRecords {
            records: &self.records,
            by_score: &self.by_score,
            order: self.order,
            rank,
            remaining: end.saturating_sub(rank) as usize,
            leaf: &[],
        }
    }

    /// Returns the `count` records around an owner's, or all if there are fewer. Returns `None` if the owner has no record.
    ///
    /// The owner is in the middle. If `count` is even, there is one record more after the owner than before. Near the first
    /// and the last rank the window moves instead of shrinking.
    #[must_use]
    pub fn around(&self, owner: RankOwner, count: usize) -> Option<RankedRecords<'_>> {
        let rank = self.rank(owner)?;
        let before = count.saturating_sub(1) as u64 / 2;
        let last_start = (self.len() as u64 + 1).saturating_sub(count as u64).max(1);
        Some(self.range(rank.saturating_sub(before).clamp(1, last_start), count))
    }

    /// Returns the memory of the records and their indexes, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
            + self.free.capacity() * size_of::<RecordSlot>()
            + self.by_owner.memory_bytes()
            + self.by_score.memory_bytes()
    }

    fn slot(&self, owner: RankOwner) -> Option<RecordSlot> {
        self.by_owner.find(&owner, |slot| record(&self.records, slot).owner).1
    }

    /// Adds the record of a new owner. It has no rank yet.
    fn add_record(&mut self, new: Record) -> RecordSlot {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.records[slot as usize] = new;
                slot
            }
            None => {
                let slot = slot_number(self.records.len());
                self.records.push(new);
                slot
            }
        };
        self.by_owner.insert(new.owner, slot, |slot| record(&self.records, slot).owner);
        slot
    }

    /// Removes a record from the ranks. It keeps its slot.
    fn remove_from_ranks(&mut self, slot: RecordSlot) {
        let old = record(&self.records, slot);
        self.by_score.remove(&old, |slot| record(&self.records, slot));
    }

    fn rank_of(&self, position: usize) -> u64 {
        self.order.mirror(position, self.len()) as u64 + 1
    }
}

impl fmt::Debug for Ranking {
    /// Shows the number of records instead of the records.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Ranking").field("order", &self.order).field("len", &self.len()).finish_non_exhaustive()
    }
}

fn record(records: &[Record], slot: RecordSlot) -> Record {
    records[slot as usize]
}

fn slot_number(index: usize) -> RecordSlot {
    // The records alone would take 128 GiB by then.
    RecordSlot::try_from(index).expect("a ranking holds fewer than 2^32 records")
}
