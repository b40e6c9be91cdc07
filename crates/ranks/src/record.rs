//! What is ranked: owners, their scores, and the order.

/// Whose record it is: the 16 bytes of a UUID, as one number whose order is that of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankOwner(u128);

/// A score and its subscore, which are one value: the subscore decides only between equal scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score {
    /// What is compared first.
    pub score: i64,
    /// What is compared when the scores are equal.
    pub subscore: i64,
}

/// Which end of a ranking is rank 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RankOrder {
    /// The lowest score is best, as in a race against time.
    Ascending,
    /// The highest score is best.
    Descending,
}

/// A record, ordered as all rankings are: by score, subscore and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Record {
    pub score: Score,
    pub owner: RankOwner,
}

impl RankOwner {
    /// The owner with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        // The first byte is the most significant one, or numbers would not compare as bytes do.
        RankOwner(u128::from_be_bytes(bytes))
    }

    /// The bytes it was made from.
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
