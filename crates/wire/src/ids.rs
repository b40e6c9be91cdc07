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
        Some(EntityId { slot: bits as u32, generation })
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

/// The number of a command on one connection, counting from 1; its answer names it. Zero asks
/// for no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandSeq(pub u32);

/// One connection of one server process, below 2^53 so that it is exact in JSON too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// One session of an account, which may outlive several connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u128);

impl fmt::Display for SessionId {
    /// Writes it the way UUIDs are written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

/// One room, anywhere in a cluster. It is text because it also names the node it began on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomId(pub String);

impl fmt::Display for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a game's replicated components and inputs look like, as one number. Who knows the
/// number need not fetch the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaHash(pub u64);

impl fmt::Display for SchemaHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Microseconds on a client's own clock. The server only hands them back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientTime(pub u64);

/// What a player was seeing: a tick, and how far the view had gone from it to the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewTick {
    /// The earlier of the two ticks that the view lay between.
    pub tick: Tick,
    /// How far it had gone towards the next one, in 256ths.
    pub fraction: u8,
}

impl ViewTick {
    /// The view as one number of 40 bits, in 256ths of a tick.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.tick.0) << 8 | u64::from(self.fraction)
    }

    /// The reverse of [`ViewTick::to_bits`]; `None` for a number beyond the last tick.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<ViewTick> {
        Some(ViewTick { tick: Tick(u32::try_from(bits >> 8).ok()?), fraction: (bits & 0xff) as u8 })
    }
}
