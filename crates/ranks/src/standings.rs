//! Records in the order of their ranks.

use std::fmt;
use std::iter::FusedIterator;

use crate::index::{OrderedIndex, RecordSlot};
use crate::record::{RankOrder, RankOwner, Record, Score};

/// A record and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedRecord {
    /// Its rank; the best is 1.
    pub rank: u64,
    /// Whose it is.
    pub owner: RankOwner,
    /// What it is ranked by.
    pub score: Score,
}

/// Neighbouring records of a ranking, best first.
#[derive(Clone)]
pub struct RankedRecords<'a> {
    pub(crate) records: &'a [Record],
    pub(crate) by_score: &'a OrderedIndex<Record>,
    pub(crate) order: RankOrder,
    /// The rank of the next record.
    pub(crate) rank: u64,
    /// How many records are left; all of them exist.
    pub(crate) left: usize,
    /// What is left of the leaf that the next record is in.
    pub(crate) run: &'a [RecordSlot],
}

impl RankOrder {
    /// The position, counted from the least record of `len`, that has this 0-based place counted from the
    /// best; and the other way round, because either order is its own inverse.
    pub(crate) fn mirror(self, place: usize, len: usize) -> usize {
        match self {
            RankOrder::Ascending => place,
            RankOrder::Descending => len - 1 - place,
        }
    }
}

impl Iterator for RankedRecords<'_> {
    type Item = RankedRecord;

    fn next(&mut self) -> Option<RankedRecord> {
        self.left = self.left.checked_sub(1)?;
        if self.run.is_empty() {
            let position = self.order.mirror(self.rank as usize - 1, self.by_score.len());
            let (leaf, at) = self.by_score.leaf_at(position);
            self.run = match self.order {
                RankOrder::Ascending => &leaf[at..],
                RankOrder::Descending => &leaf[..=at],
            };
        }
        let (slot, rest) = match self.order {
            RankOrder::Ascending => self.run.split_first(),
            RankOrder::Descending => self.run.split_last(),
        }?;
        self.run = rest;
        let record = self.records[*slot as usize];
        let standing = RankedRecord { rank: self.rank, owner: record.owner, score: record.score };
        self.rank += 1;
        Some(standing)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for RankedRecords<'_> {}

impl FusedIterator for RankedRecords<'_> {}

impl fmt::Debug for RankedRecords<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Standings").field("rank", &self.rank).field("left", &self.left).finish_non_exhaustive()
    }
}
