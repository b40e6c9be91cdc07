//! A newtype for every number that could be confused with another.

use std::fmt;

/// The number of a simulation step of one room. Tick 0 is "before the room began":
/// a baseline of zero means that nothing was ever received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u32);

impl Tick {
    /// Before the first tick.
    pub const ZERO: Tick = Tick(0);

    /// The tick after this one.
    #[must_use]
    pub fn next(self) -> Tick {
        Tick(self.0 + 1)
    }

    /// How many ticks lie between `earlier` and this one; zero when `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Tick) -> u32 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One entity of one room: a slot of the world's columns and how often that slot was used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId {
    /// The slot in the world's columns.
    pub slot: u32,
    /// Tells apart the entities that used the same slot one after another.
    pub generation: u16,
}

impl EntityId {
    /// The id as one number below 2^48, so that it is exact in JSON too.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// The reverse of [`EntityId::to_bits`]; `None` for a number that no entity can have.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<EntityId> {
        let generation = u16::try_from(bits >> 32).ok()?;
        Some(EntityId {
            slot: bits as u32,
            generation,
        })
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}v{}", self.slot, self.generation)
    }
}

/// One player of one room. It outlives connections: who resumes keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerId(pub u32);

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number a client gives to each of its inputs, counting from 1. Zero means none yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputSeq(pub u32);

/// The number of a state packet on one connection, counting from 1. Acknowledgements name it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketSeq(pub u32);

/// The number of a request that a room made to the services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// The number of a fragmented message on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u32);
