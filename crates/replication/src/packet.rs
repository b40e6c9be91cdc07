//! Layout of a state packet.
//!
//! ```text
//! packet  = tick 32 · sequence 16 · input_ack 16 · last 1 · gap_order 3
//!         · for each of removed, full, update:  present 1 · (count 10) if present
//!         · removed × count · full × count · update × count
//! removed = gap
//! full    = gap · generation 16 · mask (one bit per component) · component × set bits
//! update  = gap · source · mask (one bit per component the entity has, if more than one) · component × set bits
//! source  = 0 (as in the previous update), or 1 · age 6 · spacing 3
//! gap     = distance from the previous slot in the same part, minus one, as an Exp-Golomb code of `gap_order`
//! ```
//!
//! Bits are written lowest first. `sequence` and `input_ack` are the lowest 16 bits of numbers that both sides count.
//! Every packet can be read without the others of its tick.
//!
//! A source names the tick `age` ticks back: the update is made from the receiver's newest state at or before that
//! tick. With a spacing other than zero, motion is predicted from that state and the newest state at or before
//! `spacing` ticks earlier.

use aether_bits::{BitReader, ReadError};
use aether_wire::Tick;
use aether_wire::limits::SLOTS_MAX;

/// Maximum age of a baseline in ticks; both sides store states for this time. At 60 ticks per second, one second.
pub const BASELINE_AGE_MAX: u32 = 63;
/// Maximum ticks from a baseline back to the state from which motion is predicted.
pub const SPACING_MAX: u32 = (1 << SPACING_BITS) - 1;

/// Maximum number of entries of each part in one packet.
pub const ENTRIES_MAX: u32 = (1 << COUNT_BITS) - 1;
/// Maximum bits of a slot and its source.
pub const PREFIX_BITS_MAX: u32 = 2 * SLOT_BITS + 1 + 1 + AGE_BITS + SPACING_BITS;
/// Maximum bits of a header.
pub const HEADER_BITS_MAX: usize = 32 + 16 + 16 + 1 + 3 + 3 * (1 + COUNT_BITS as usize);
/// Highest order of the code for gaps.
pub const GAP_ORDER_MAX: u32 = 7;

const SLOT_BITS: u32 = SLOTS_MAX.ilog2();
const COUNT_BITS: u32 = 10;
const AGE_BITS: u32 = 6;
const SPACING_BITS: u32 = 3;
/// Bits of a source that differs from the previous one.
pub const SOURCE_BITS: u32 = 1 + AGE_BITS + SPACING_BITS;

const _: () = assert!(1 << AGE_BITS == BASELINE_AGE_MAX + 1, "every age can be written");

/// Parts of a packet, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketPart {
    Removed,
    Full,
    Update,
}

/// Header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHeader {
    pub tick: Tick,
    /// The lowest 16 bits.
    pub sequence: u16,
    /// The lowest 16 bits.
    pub input_ack: u16,
    pub last: bool,
    pub gap_order: u32,
    /// Number of entries of each part.
    pub counts: [u32; 3],
}

impl PacketHeader {
    /// Returns the bits of the header for the parts that are `present`: the first 64, and the rest with their number.
    pub fn bits(&self, present: [bool; 3]) -> (u64, (u64, u32)) {
        let start = u64::from(self.tick.0) | u64::from(self.sequence) << 32 | u64::from(self.input_ack) << 48;
        (start, rest(present, self.counts, self.last, self.gap_order))
    }

    pub fn read(reader: &mut BitReader<'_>) -> Result<PacketHeader, ReadError> {
        let tick = Tick(reader.read(32)? as u32);
        let (sequence, input_ack) = (reader.read(16)? as u16, reader.read(16)? as u16);
        let last = reader.read_bool()?;
        let gap_order = reader.read(3)? as u32;
        let mut counts = [0; 3];
        for count in &mut counts {
            if reader.read_bool()? {
                *count = reader.read(COUNT_BITS)? as u32;
            }
        }
        Ok(PacketHeader { tick, sequence, input_ack, last, gap_order, counts })
    }
}

/// Returns the bits of a header from the last flag on, and their number. A packet gets them when it is complete.
pub fn rest(present: [bool; 3], counts: [u32; 3], last: bool, gap_order: u32) -> (u64, u32) {
    let (mut rest, mut bits) = (u64::from(last) | u64::from(gap_order) << 1, 1 + 3);
    for (present, count) in present.into_iter().zip(counts) {
        let (part, part_bits) = if present { (1 | u64::from(count) << 1, 1 + COUNT_BITS) } else { (0, 1) };
        rest |= part << bits;
        bits += part_bits;
    }
    (rest, bits)
}

/// Returns the number nearest to `near` whose lowest 16 bits are `low`.
pub fn expand(low: u16, near: u32) -> u32 {
    let ahead = low.wrapping_sub(near as u16) as i16;
    near.wrapping_add_signed(i32::from(ahead))
}

/// Returns the code of a gap and its length.
#[inline]
pub fn gap_code(gap: u32, order: u32) -> (u64, u32) {
    if gap >> order == 0 {
        return (u64::from(gap) << 1, order + 1);
    }
    let shifted = u64::from(gap) + (1 << order);
    // It is not zero, which the compiler does not know: the lowest bit does not change the logarithm.
    let ones = (shifted | 1).ilog2() - order;
    let low_bits = ones + order;
    let low = shifted ^ 1 << low_bits;
    // The subtraction makes the ones and the zero out of zeros and a one.
    (((low << 1 | 1) << ones) - 1, 2 * low_bits + 1 - order)
}

/// Reads the slot that lies a gap after `next`.
#[inline]
pub fn read_slot(next: u32, order: u32, reader: &mut BitReader<'_>) -> Result<u32, ReadError> {
    let ones = reader.read_ones(SLOT_BITS)?;
    let low_bits = ones + order;
    let gap = (1 << low_bits | reader.read(low_bits)?) - (1 << order);
    let slot = u64::from(next) + gap;
    if slot < u64::from(SLOTS_MAX) { Ok(slot as u32) } else { Err(ReadError::OutOfRange) }
}

/// States from which an update is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeltaSource {
    /// Age of the baseline in ticks.
    pub age: u32,
    /// Ticks from there back to the state from which motion is predicted; zero if none.
    pub spacing: u32,
}

impl DeltaSource {
    /// Returns the code of a source that differs from the previous one, and its length.
    #[inline]
    pub fn code(self) -> (u64, u32) {
        (1 | u64::from(self.age) << 1 | u64::from(self.spacing) << (1 + AGE_BITS), SOURCE_BITS)
    }

    /// Reads a source.
    #[inline]
    pub fn read(before: DeltaSource, reader: &mut BitReader<'_>) -> Result<DeltaSource, ReadError> {
        if !reader.read_bool()? {
            return Ok(before);
        }
        Ok(DeltaSource { age: reader.read(AGE_BITS)? as u32, spacing: reader.read(SPACING_BITS)? as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_bits::BitWriter;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_slots_survive(mut slots in proptest::collection::vec(0..SLOTS_MAX, 1..50), bits in 0..=GAP_ORDER_MAX) {
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
        let counts = [1, 0, 1023];
        let header = PacketHeader { tick: Tick(7), sequence: u16::MAX, input_ack: 3, last: true, gap_order: 5, counts };
        let mut writer = BitWriter::new();
        let (start, (rest, bits)) = header.bits(counts.map(|count| count > 0));
        writer.write(start, 64);
        writer.write(rest, bits);
        assert_eq!(writer.bits(), 91);
        assert_eq!(PacketHeader::read(&mut BitReader::new(&writer.to_bytes())), Ok(header));
    }

    #[test]
    fn numbers_are_restored_from_their_lowest_bits() {
        for near in [0, 1, 40_000, 65_535, 65_536, 1_000_000, u32::MAX - 70_000] {
            for distance in [0, 1, 100, 32_767] {
                let number = near + distance;
                assert_eq!(expand(number as u16, near), number);
                assert_eq!(expand(near as u16, number), near);
            }
        }
    }
}
