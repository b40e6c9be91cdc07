//! Owners, scores and orders of rankings.

/// Owner of a record: the 16 bytes of a UUID, as a number that is ordered like the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankOwner(u128);

/// A score and its subscore. The subscore decides between equal scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score {
    /// Compared first.
    pub score: i64,
    /// Compared if the scores are equal.
    pub subscore: i64,
}

/// Order of a ranking: which end is rank 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RankOrder {
    /// The lowest score is best, as in a race against time.
    Ascending,
    /// The highest score is best.
    Descending,
}

/// A record, ordered by score, subscore and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record {
    pub score: Score,
    pub owner: RankOwner,
}

impl RankOwner {
    /// Creates an owner from bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        // Big-endian, so that numbers compare like bytes.
        RankOwner(u128::from_be_bytes(bytes))
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl From<[u8; 16]> for RankOwner {
    fn from(bytes: [u8; 16]) -> Self {
        RankOwner::from_bytes(bytes)
    }
}

impl From<u128> for RankOwner {
    fn from(number: u128) -> Self {
        RankOwner(number)
    }
}

impl From<RankOwner> for u128 {
    fn from(owner: RankOwner) -> Self {
        owner.0
    }
}
