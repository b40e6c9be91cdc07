//! The layout of a state packet.
//!
//! ```text
//! packet  = tick 32 · sequence 32 · input_ack 32 · ordered 1 · last 1 · gap_bits 4
//!         · removed_count 10 · full_count 10 · update_count 10
//!         · removed × removed_count · full × full_count · update × update_count
//! removed = gap
//! full    = gap · generation 16 · mask (one bit per component) · component × set bits
//! update  = gap · source · mask (one bit per component the entity has, if more than one) · component × set bits
//! source  = 0 (as in the update before it), or 1 · age 6 (unordered links only) · spacing 3
//!           the baseline lies `age` ticks back (on ordered links it is what was last received), and the state before it,
//!           from which motion is told, another `spacing` ticks (0: none)
//! gap     = distance from the slot before it in the same part, minus one, in a Rice code of `gap_bits`
//! ```
//!
//! Bits are written lowest first. A packet stands alone: it needs no other packet of its tick.

use aether_bits::{BitReader, BitWriter, ReadError};
use aether_wire::{InputSeq, PacketSeq, Tick};

/// How many ticks back a baseline may lie, so that both sides keep it. At 60 ticks a second, a second.
pub const BASELINE_AGE_MAX: u32 = 63;
/// How far before its baseline an entity's motion is told from.
pub const SPACING_MAX: u32 = (1 << SPACING_BITS) - 1;
/// The most slots a client follows: what a packet names beyond is refused, so that memory is bounded.
pub const SLOTS_MAX: u32 = 1 << 20;

/// The most entries of each kind in one packet.
pub const ENTRIES_MAX: u32 = (1 << COUNT_BITS) - 1;
/// Bits of the fixed part.
pub const HEADER_BITS: usize = 32 * 3 + 2 + 4 + 3 * COUNT_BITS as usize;
/// The most bits that name a slot and its baseline.
pub const PREFIX_BITS_MAX: u32 = GAP_QUOTIENT_MAX + GAP_RAW_BITS + 1 + AGE_BITS + SPACING_BITS;

const COUNT_BITS: u32 = 10;
const AGE_BITS: u32 = 6;
const SPACING_BITS: u32 = 3;
/// A gap whose Rice quotient reaches this is written plainly instead.
const GAP_QUOTIENT_MAX: u32 = 12;
const GAP_RAW_BITS: u32 = 20;
const COUNTS_AT: usize = HEADER_BITS - 3 * COUNT_BITS as usize;
const LAST_AT: usize = 32 * 3 + 1;

const _: () = assert!(1 << GAP_RAW_BITS == SLOTS_MAX, "every gap can be written plainly");
const _: () = assert!(1 << AGE_BITS == BASELINE_AGE_MAX + 1, "every age can be written");

/// The fixed part of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub tick: Tick,
    pub sequence: PacketSeq,
    pub input_ack: InputSeq,
    pub ordered: bool,
    pub last: bool,
    pub gap_bits: u32,
    pub counts: [u32; 3],
}

impl Header {
    /// Appends the header; the counts and the last flag are filled in by [`finish`].
    pub fn write(&self, writer: &mut BitWriter) {
        writer.write(u64::from(self.tick.0), 32);
        writer.write(u64::from(self.sequence.0), 32);
        writer.write(u64::from(self.input_ack.0), 32);
        writer.write_bool(self.ordered);
        writer.write_bool(false);
        writer.write(u64::from(self.gap_bits), 4);
        writer.write(0, 3 * COUNT_BITS);
    }

    pub fn read(reader: &mut BitReader<'_>) -> Result<Header, ReadError> {
        let mut word = || reader.read(32).map(|value| value as u32);
        let (tick, sequence, input_ack) = (Tick(word()?), PacketSeq(word()?), InputSeq(word()?));
        let (ordered, last) = (reader.read_bool()?, reader.read_bool()?);
        let gap_bits = reader.read(4)? as u32;
        let mut count = || reader.read(COUNT_BITS).map(|value| value as u32);
        Ok(Header { tick, sequence, input_ack, ordered, last, gap_bits, counts: [count()?, count()?, count()?] })
    }
}

/// Fills in what is known only when a packet is complete.
pub fn finish(counts: [u32; 3], last: bool, writer: &mut BitWriter) {
    writer.patch(LAST_AT, u64::from(last), 1);
    for (index, &count) in counts.iter().enumerate() {
        writer.patch(COUNTS_AT + index * COUNT_BITS as usize, u64::from(count), COUNT_BITS);
    }
}

/// The Rice parameter for `count` slots spread over `span`.
pub fn gap_bits(count: usize, span: u32) -> u32 {
    let mean = span / (count.max(1) as u32).max(1);
    (mean.max(1).ilog2()).min(15)
}

/// The code of a gap, and its length.
#[inline]
pub fn gap_code(gap: u32, gap_bits: u32) -> (u64, u32) {
    let quotient = gap >> gap_bits;
    if quotient < GAP_QUOTIENT_MAX {
        let rest = u64::from(gap & ((1 << gap_bits) - 1));
        (((1 << quotient) - 1) | rest << (quotient + 1), quotient + 1 + gap_bits)
    } else {
        (((1 << GAP_QUOTIENT_MAX) - 1) | u64::from(gap) << GAP_QUOTIENT_MAX, GAP_QUOTIENT_MAX + GAP_RAW_BITS)
    }
}

/// From which states an update is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// How many ticks back the baseline lies; zero on ordered links, where it needs no name.
    pub age: u32,
    /// How many ticks before the baseline the state lies that tells of its motion; zero if none.
    pub spacing: u32,
}

impl Source {
    /// The code of this source, and its length.
    #[inline]
    pub fn code(self, before: Source, ordered: bool) -> (u64, u32) {
        if self == before {
            (0, 1)
        } else if ordered {
            (1 | u64::from(self.spacing) << 1, 1 + SPACING_BITS)
        } else {
            (1 | u64::from(self.age) << 1 | u64::from(self.spacing) << (1 + AGE_BITS), 1 + AGE_BITS + SPACING_BITS)
        }
    }

    /// Reads a source.
    #[inline]
    pub fn read(before: Source, ordered: bool, reader: &mut BitReader<'_>) -> Result<Source, ReadError> {
        if !reader.read_bool()? {
            return Ok(before);
        }
        let age = if ordered { 0 } else { reader.read(AGE_BITS)? as u32 };
        Ok(Source { age, spacing: reader.read(SPACING_BITS)? as u32 })
    }
}

/// Reads the slot that follows `previous`, the slots' own numbers counted from one.
#[inline]
pub fn read_slot(previous: u32, gap_bits: u32, reader: &mut BitReader<'_>) -> Result<u32, ReadError> {
    let mut quotient = 0;
    while quotient < GAP_QUOTIENT_MAX && reader.read_bool()? {
        quotient += 1;
    }
    let gap = if quotient < GAP_QUOTIENT_MAX {
        quotient << gap_bits | reader.read(gap_bits)? as u32
    } else {
        reader.read(GAP_RAW_BITS)? as u32
    };
    let slot = previous.checked_add(gap).ok_or(ReadError::OutOfRange)?;
    if slot < SLOTS_MAX { Ok(slot) } else { Err(ReadError::OutOfRange) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_slots_survive(mut slots in proptest::collection::vec(0..SLOTS_MAX, 1..50), bits in 0u32..16) {
            slots.sort_unstable();
            slots.dedup();
            let mut writer = BitWriter::new();
            let mut next = 0;
            for &slot in &slots {
                let (code, len) = gap_code(slot - next, bits);
                prop_assert!(len <= PREFIX_BITS_MAX);
                writer.write(code, len);
                next = slot + 1;
            }
            let bytes = writer.to_bytes();
            let mut reader = BitReader::new(&bytes);
            let mut next = 0;
            for &slot in &slots {
                prop_assert_eq!(read_slot(next, bits, &mut reader), Ok(slot));
                next = slot + 1;
            }
        }
    }

    #[test]
    fn a_header_survives() {
        let header = Header {
            tick: Tick(7),
            sequence: PacketSeq(u32::MAX),
            input_ack: InputSeq(3),
            ordered: true,
            last: true,
            gap_bits: 5,
            counts: [1, 1023, 0],
        };
        let mut writer = BitWriter::new();
        header.write(&mut writer);
        assert_eq!(writer.bits(), HEADER_BITS);
        finish(header.counts, true, &mut writer);
        assert_eq!(Header::read(&mut BitReader::new(&writer.to_bytes())), Ok(header));
    }
}
