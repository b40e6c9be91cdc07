//! Newtypes for numbers that could be confused.

use std::fmt;

/// Number of a step of a room. Tick 0 is before the first step: a baseline of zero means that nothing was received.
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

    /// Number of ticks from `earlier` to this one, or zero if `earlier` is later.
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

/// Entity of a room: a slot of the columns, and the number of times that the slot was used before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId {
    /// Slot in the columns of the world.
    pub slot: u32,
    /// Distinguishes entities that used the same slot one after another.
    pub generation: u16,
}

impl EntityId {
    /// Returns the id as one number below 2^48, which is exact in JSON.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.slot)
    }

    /// Inverse of [`EntityId::to_bits`]. Returns `None` for a number that is no entity id.
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

/// Player of a room. It outlives connections: a client that resumes has the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerId(pub u32);

impl fmt::Display for PlayerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of an input of a client, counting from 1. Zero means none yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InputSeq(pub u32);

/// Number of a state packet on a connection, counting from 1. Acknowledgements refer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketSeq(pub u32);

/// Number of a request of a room to the services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// Number of a fragmented message on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u32);

/// Number of a command on a connection, counting from 1. The answer repeats it. Zero requests no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandSeq(pub u32);

/// Connection of a server process. It is below 2^53, so that it is exact in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// Session of an account. It may outlive connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u128);

impl fmt::Display for SessionId {
    /// Formats the id as a UUID.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        write!(f, "{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

/// Room, unique in a cluster. It is text because it contains the name of the node that created it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RoomId(pub String);

impl fmt::Display for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Hash of a game's schema. A client that has a schema with the same hash need not fetch it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaHash(pub u64);

impl fmt::Display for SchemaHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Microseconds of a client's clock. The server only returns them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientTime(pub u64);

/// Time of the state that a client was showing: a tick, and a fraction towards the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewTick {
    /// The earlier of the two ticks.
    pub tick: Tick,
    /// Fraction towards the next tick, in 256ths.
    pub fraction: u8,
}

impl ViewTick {
    /// Returns the time as one number of 40 bits, in 256ths of a tick.
    #[must_use]
    pub fn to_bits(self) -> u64 {
        u64::from(self.tick.0) << 8 | u64::from(self.fraction)
    }

    /// Inverse of [`ViewTick::to_bits`]. Returns `None` for a number beyond the last tick.
    #[must_use]
    pub fn from_bits(bits: u64) -> Option<ViewTick> {
        Some(ViewTick { tick: Tick(u32::try_from(bits >> 8).ok()?), fraction: (bits & 0xff) as u8 })
    }
}
