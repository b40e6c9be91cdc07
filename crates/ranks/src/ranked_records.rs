//! Records in the order of their ranks.

use std::fmt;
use std::iter::FusedIterator;

use crate::index::{OrderedIndex, RecordSlot};
use crate::record::{RankOrder, RankOwner, Record, Score};

/// A record and its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankedRecord {
    /// Rank; the best is 1.
    pub rank: u64,
    /// Owner of the record.
    pub owner: RankOwner,
    /// Score of the record.
    pub score: Score,
}

/// Iterator over consecutive records of a ranking, best first.
#[derive(Clone)]
pub struct RankedRecords<'a> {
    pub(crate) records: &'a [Record],
    pub(crate) by_score: &'a OrderedIndex<Record>,
    pub(crate) order: RankOrder,
    /// Rank of the next record.
    pub(crate) rank: u64,
    /// Number of remaining records.
    pub(crate) remaining: usize,
    /// Remaining slots of the current leaf.
    pub(crate) leaf: &'a [RecordSlot],
}

impl RankOrder {
    /// Converts between an index counted from the best record and one counted from the least of `len`. The conversion is its
    /// own inverse.
    pub(crate) fn mirror(self, index: usize, len: usize) -> usize {
        match self {
            RankOrder::Ascending => index,
            RankOrder::Descending => len - 1 - index,
        }
    }
}

impl Iterator for RankedRecords<'_> {
    type Item = RankedRecord;

    fn next(&mut self) -> Option<RankedRecord> {
        self.remaining = self.remaining.checked_sub(1)?;
        if self.leaf.is_empty() {
            let position = self.order.mirror(self.rank as usize - 1, self.by_score.len());
            let (leaf, at) = self.by_score.leaf_at(position);
            self.leaf = match self.order {
                RankOrder::Ascending => &leaf[at..],
                RankOrder::Descending => &leaf[..=at],
            };
        }
        let (slot, rest) = match self.order {
            RankOrder::Ascending => self.leaf.split_first(),
            RankOrder::Descending => self.leaf.split_last(),
        }?;
        self.leaf = rest;
        let record = self.records[*slot as usize];
        let ranked = RankedRecord { rank: self.rank, owner: record.owner, score: record.score };
        self.rank += 1;
        Some(ranked)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.remaining, Some(self.remaining))
    }
}

impl ExactSizeIterator for RankedRecords<'_> {}

impl FusedIterator for RankedRecords<'_> {}

impl fmt::Debug for RankedRecords<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RankedRecords")
            .field("rank", &self.rank)
            .field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}
