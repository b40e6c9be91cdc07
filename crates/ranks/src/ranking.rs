//! A ranking: scores by owner, and their ranks.

use std::fmt;

use crate::index::{OrderedIndex, RecordSlot};
use crate::record::{RankOrder, RankOwner, Record, Score};
use crate::standings::{RankedRecord, RankedRecords};

/// One score for each owner, and everyone's rank.
///
/// Ranks begin at 1 and have neither gaps nor ties; the [crate] says how equal scores are ordered.
pub struct Ranking {
    order: RankOrder,
    /// The records, in places that they keep for as long as they exist.
    records: Vec<Record>,
    /// Places whose record was removed.
    vacant: Vec<RecordSlot>,
    by_owner: OrderedIndex<RankOwner>,
    by_score: OrderedIndex<Record>,
}

impl Ranking {
    /// An empty ranking.
    #[must_use]
    pub fn new(order: RankOrder) -> Self {
        Ranking {
            order,
            records: Vec::new(),
            vacant: Vec::new(),
            by_owner: OrderedIndex::new(),
            by_score: OrderedIndex::new(),
        }
    }

    /// A ranking of many records at once, in far less time than one by one. Of several records of an owner the last
    /// counts.
    ///
    /// # Panics
    ///
    /// If there are 2³² records or more.
    #[must_use]
    pub fn from_records(order: RankOrder, records: impl IntoIterator<Item = (RankOwner, Score)>) -> Self {
        let mut records: Vec<Record> = records.into_iter().map(|(owner, score)| Record { score, owner }).collect();
        records.sort_by_key(|record| record.owner);
        records.dedup_by(|later, kept| {
            let same = later.owner == kept.owner;
            if same {
                *kept = *later;
            }
            same
        });
        records.shrink_to_fit();
        let end = slot_number(records.len());
        // The records lie in the order of their owners, so that among equal scores the slots are in that order as well.
        let mut by_score: Vec<(Score, RecordSlot)> = records.iter().map(|record| record.score).zip(0..end).collect();
        by_score.sort_unstable();
        let by_score =
            OrderedIndex::from_sorted(by_score.into_iter().map(|(_, slot)| slot), |slot| record(&records, slot));
        let by_owner = OrderedIndex::from_sorted(0..end, |slot| record(&records, slot).owner);
        Ranking { order, records, vacant: Vec::new(), by_owner, by_score }
    }

    /// Which end is rank 1.
    #[must_use]
    pub fn order(&self) -> RankOrder {
        self.order
    }

    /// How many records there are, which is the last rank.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_score.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives an owner this score in place of any before, and returns the new rank.
    ///
    /// # Panics
    ///
    /// If this were record number 2³².
    pub fn set(&mut self, owner: RankOwner, score: Score) -> u64 {
        let new = Record { score, owner };
        let slot = match self.slot(owner) {
            Some(slot) => {
                self.withdraw(slot);
                self.records[slot as usize] = new;
                slot
            }
            None => self.admit(new),
        };
        let position = self.by_score.insert(new, slot, |slot| record(&self.records, slot));
        self.rank_of(position)
    }

    /// Removes an owner's record. Returns whether there was one.
    pub fn remove(&mut self, owner: RankOwner) -> bool {
        let Some(slot) = self.slot(owner) else { return false };
        self.withdraw(slot);
        self.by_owner.remove(&owner, |slot| record(&self.records, slot).owner);
        self.vacant.push(slot);
        true
    }

    /// An owner's score.
    #[must_use]
    pub fn score(&self, owner: RankOwner) -> Option<Score> {
        self.slot(owner).map(|slot| record(&self.records, slot).score)
    }

    /// An owner's rank.
    #[must_use]
    pub fn rank(&self, owner: RankOwner) -> Option<u64> {
        self.standing(owner).map(|standing| standing.rank)
    }

    /// An owner's rank and score.
    #[must_use]
    pub fn standing(&self, owner: RankOwner) -> Option<RankedRecord> {
        let found = record(&self.records, self.slot(owner)?);
        let (position, _) = self.by_score.find(&found, |slot| record(&self.records, slot));
        Some(RankedRecord { rank: self.rank_of(position), owner, score: found.score })
    }

    /// Who stands at a rank.
    #[must_use]
    pub fn at(&self, rank: u64) -> Option<RankedRecord> {
        self.range(rank, 1).next()
    }

    /// The records whose ranks are `first_rank` and up to `count - 1` more, as far as they exist.
    #[must_use]
    pub fn range(&self, first_rank: u64, count: usize) -> RankedRecords<'_> {
        let end = first_rank.saturating_add(count as u64).min(self.len() as u64 + 1);
        let rank = first_rank.max(1);
        RankedRecords {
            records: &self.records,
            by_score: &self.by_score,
            order: self.order,
            rank,
            left: end.saturating_sub(rank) as usize,
            run: &[],
        }
    }

    /// The `count` records around an owner's, or all if there are fewer; nothing if the owner has no record.
    ///
    /// The owner is in the middle; if `count` is even, one more stands after the owner than before. Near the best and
    /// the last the window moves rather than shrinks.
    #[must_use]
    pub fn around(&self, owner: RankOwner, count: usize) -> Option<RankedRecords<'_>> {
        let rank = self.rank(owner)?;
        let before = count.saturating_sub(1) as u64 / 2;
        let last_start = (self.len() as u64 + 1).saturating_sub(count as u64).max(1);
        Some(self.range(rank.saturating_sub(before).clamp(1, last_start), count))
    }

    /// How many bytes of memory the records and their indexes take.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
            + self.vacant.capacity() * size_of::<RecordSlot>()
            + self.by_owner.memory_bytes()
            + self.by_score.memory_bytes()
    }

    fn slot(&self, owner: RankOwner) -> Option<RecordSlot> {
        self.by_owner.find(&owner, |slot| record(&self.records, slot).owner).1
    }

    /// Gives a place to the record of an owner who had none. It has no rank yet.
    fn admit(&mut self, new: Record) -> RecordSlot {
        let slot = match self.vacant.pop() {
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

    /// Takes a record out of the ranks. It keeps its place.
    fn withdraw(&mut self, slot: RecordSlot) {
        let old = record(&self.records, slot);
        self.by_score.remove(&old, |slot| record(&self.records, slot));
    }

    fn rank_of(&self, position: usize) -> u64 {
        self.order.mirror(position, self.len()) as u64 + 1
    }
}

impl fmt::Debug for Ranking {
    /// Says how many records there are, and not each of them.
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
