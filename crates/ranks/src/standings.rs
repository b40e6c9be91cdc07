//! Records in the order of their ranks.

use std::fmt;
use std::iter::FusedIterator;

use crate::index::{Index, Slot};
use crate::record::{Order, Owner, Record, Score};

/// A record and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its rank; the best is 1.
    pub rank: u64,
    /// Whose it is.
    pub owner: Owner,
    /// What it is ranked by.
    pub score: Score,
}

/// Neighbouring records of a ranking, best first.
#[derive(Clone)]
pub struct Standings<'a> {
    pub(crate) records: &'a [Record],
    pub(crate) by_score: &'a Index<Record>,
    pub(crate) order: Order,
    /// The rank of the next record.
    pub(crate) rank: u64,
    /// How many records are left; all of them exist.
    pub(crate) left: usize,
    /// What is left of the leaf that the next record is in.
    pub(crate) run: &'a [Slot],
}

impl Order {
    /// The position, counted from the least record of `len`, that has this 0-based place counted from the
    /// best; and the other way round, because either order is its own inverse.
    pub(crate) fn mirror(self, place: usize, len: usize) -> usize {
        match self {
            Order::Ascending => place,
            Order::Descending => len - 1 - place,
        }
    }
}

impl Iterator for Standings<'_> {
    type Item = Standing;

    fn next(&mut self) -> Option<Standing> {
        self.left = self.left.checked_sub(1)?;
        if self.run.is_empty() {
            let position = self.order.mirror(self.rank as usize - 1, self.by_score.len());
            let (leaf, at) = self.by_score.leaf_at(position);
            self.run = match self.order {
                Order::Ascending => &leaf[at..],
                Order::Descending => &leaf[..=at],
            };
        }
        let (slot, rest) = match self.order {
            Order::Ascending => self.run.split_first(),
            Order::Descending => self.run.split_last(),
        }?;
        self.run = rest;
        let record = self.records[*slot as usize];
        let standing = Standing { rank: self.rank, owner: record.owner, score: record.score };
        self.rank += 1;
        Some(standing)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Standings<'_> {}

impl FusedIterator for Standings<'_> {}

impl fmt::Debug for Standings<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Standings").field("rank", &self.rank).field("left", &self.left).finish_non_exhaustive()
    }
}
