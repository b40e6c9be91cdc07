//! Encoding of one number: its deviation from the value that the receiver expects.
//!
//! ```text
//! residual  u = zigzag of (value − expected), wrapped into the field's bits
//! order     k = 0                                 if the expectation is sharp
//!           k = (4 · reach + neighbour + 2) >> 3  otherwise, and never above the field's bits
//! bits      n ones, a zero, then the low n + k bits of v,   v = u + 2^k,  n = floor(log2 v) − k
//! ```
//!
//! This is an Exp-Golomb code. Both sides compute its order: `reach` is the bit width of the expected movement, and
//! `neighbour` the bit width of the previous residual in the same record. If one is unknown, the other one is used. A
//! record that moves fast pays for large residuals, a record at rest pays one bit a field, and no table is sent.

use crate::basis::BasisAges;
use crate::{BitReader, BitWriter, ReadError};

/// Upper bound of the bits of a field.
pub const FIELD_BITS_MAX: u32 = 61;

/// Width that is assumed while neither reach nor neighbour is known.
const FIRST_WIDTH: u32 = 6;

/// Writes the fields of one record, in their declared order. The last bits are written when it is dropped.
#[derive(Debug)]
pub struct FieldWriter<'a> {
    writer: &'a mut BitWriter,
    neighbour: Option<u32>,
    /// Bits that are not in `writer` yet. Most records are shorter than a word and are written at once.
    pending: u64,
    pending_bits: u32,
}

/// Reads the fields of one record.
#[derive(Debug)]
pub struct FieldReader<'a, 'b> {
    reader: &'a mut BitReader<'b>,
    neighbour: Option<u32>,
}

/// Expected value of a field, and the expected size of its movement.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedValue {
    value: u64,
    reach: Reach,
}

#[derive(Clone, Copy, Debug)]
enum Reach {
    /// Only the baseline is known.
    Unknown,
    /// Bit width of the expected movement.
    Width(u32),
    /// The value follows from other fields, up to rounding.
    Sharp,
}

impl ExpectedValue {
    /// Expects the field to keep its value.
    #[inline]
    #[must_use]
    pub fn unchanged(value: u64) -> Self {
        ExpectedValue { value, reach: Reach::Unknown }
    }

    /// Expects a value that follows from other fields.
    #[inline]
    #[must_use]
    pub fn sharp(value: u64) -> Self {
        ExpectedValue { value, reach: Reach::Sharp }
    }

    /// Expects a field of `bits` bits to continue its motion from the earlier state, if any, to the baseline.
    #[inline(always)]
    #[must_use]
    pub fn continued(base: u64, earlier: Option<u64>, ages: BasisAges, bits: u32) -> Self {
        let (Some(earlier), true) = (earlier, ages.spacing > 0) else {
            return ExpectedValue::unchanged(base);
        };
        let step = sign_extend(base.wrapping_sub(earlier), bits);
        let (elapsed, spacing) = (i64::from(ages.elapsed), i64::from(ages.spacing));
        let moved = step.wrapping_mul(elapsed);
        let moved =
            if spacing == 1 { moved } else { moved.wrapping_mul(2).wrapping_add(spacing).div_euclid(2 * spacing) };
        // A step of one unit may be a rounding error. Extrapolated over a longer time, it would predict motion that is
        // not there.
        let rounding = step.unsigned_abs() <= 1 && elapsed > spacing;
        let value = if rounding { base } else { base.wrapping_add(moved as u64) & mask(bits) };
        ExpectedValue { value, reach: Reach::Width(width(zigzag(moved)).min(bits)) }
    }
}

impl<'a> FieldWriter<'a> {
    /// Starts a record.
    #[inline]
    #[must_use]
    pub fn new(writer: &'a mut BitWriter) -> Self {
        FieldWriter { writer, neighbour: None, pending: 0, pending_bits: 0 }
    }

    /// Appends a field of `bits` bits.
    #[inline]
    pub fn write(&mut self, value: u64, expected: ExpectedValue, bits: u32) {
        let residual = zigzag(sign_extend(value.wrapping_sub(expected.value), bits));
        self.write_residual(residual, expected, bits);
    }

    /// Appends a residual. No value has the residual 2^bits, so callers may use it as a marker.
    #[inline(always)]
    pub(crate) fn write_residual(&mut self, residual: u64, expected: ExpectedValue, bits: u32) {
        let order = order(expected.reach, self.neighbour, bits);
        let shifted = residual + (1 << order);
        // It is not zero, which the compiler does not know: the lowest bit does not change the logarithm.
        let low_bits = (shifted | 1).ilog2();
        let ones = low_bits - order;
        let low = shifted ^ 1 << low_bits;
        // The first condition is known to the compiler, and true for most fields.
        if bits_max(bits) <= 64 || ones + 1 + low_bits <= 64 {
            // The subtraction makes the ones and the zero out of zeros and a one.
            self.bits(((low << 1 | 1) << ones) - 1, ones + 1 + low_bits);
        } else {
            self.bits((1 << ones) - 1, ones + 1);
            self.bits(low, low_bits);
        }
        // The width of the residual, without the case of zero.
        self.neighbour = Some((residual << 1 | 1).ilog2());
    }

    /// Appends a field that equals the baseline, and the state before it if one is known: the bits that
    /// [`FieldWriter::write`] appends for it.
    #[inline(always)]
    pub(crate) fn write_still(&mut self, has_earlier: bool, ages: BasisAges, bits: u32) {
        let reach = if has_earlier && ages.spacing > 0 { Reach::Width(0) } else { Reach::Unknown };
        self.bits(0, order(reach, self.neighbour, bits) + 1);
        self.neighbour = Some(0);
    }

    /// Appends raw bits. The bits of `value` above them must be zero.
    #[inline]
    pub fn bits(&mut self, value: u64, bits: u32) {
        debug_assert!(bits <= 64 && (bits == 64 || value >> bits == 0), "{value} does not fit {bits} bits");
        let used = self.pending_bits;
        self.pending |= value << used;
        self.pending_bits = used + bits;
        if self.pending_bits >= 64 {
            self.writer.write(self.pending, 64);
            self.pending = if used == 0 { 0 } else { value >> (64 - used) };
            self.pending_bits -= 64;
        }
    }
}

impl Drop for FieldWriter<'_> {
    #[inline]
    fn drop(&mut self) {
        self.writer.write(self.pending, self.pending_bits);
    }
}

impl<'a, 'b> FieldReader<'a, 'b> {
    /// Starts a record.
    #[inline]
    #[must_use]
    pub fn new(reader: &'a mut BitReader<'b>) -> Self {
        FieldReader { reader, neighbour: None }
    }

    /// Reads a field of `bits` bits.
    #[inline]
    pub fn read(&mut self, expected: ExpectedValue, bits: u32) -> Result<u64, ReadError> {
        let residual = self.read_residual(expected, bits)?;
        if residual > mask(bits) {
            return Err(ReadError::OutOfRange);
        }
        Ok(restored(residual, expected, bits))
    }

    /// Reads a residual of up to 2^bits.
    #[inline]
    pub(crate) fn read_residual(&mut self, expected: ExpectedValue, bits: u32) -> Result<u64, ReadError> {
        let order = order(expected.reach, self.neighbour, bits);
        let ones = self.reader.read_ones(FIELD_BITS_MAX + 1)?;
        let low_bits = ones + order;
        if low_bits > bits + 1 {
            return Err(ReadError::OutOfRange);
        }
        let residual = (1 << low_bits | self.reader.read(low_bits)?) - (1 << order);
        if residual > 1 << bits {
            return Err(ReadError::OutOfRange);
        }
        self.neighbour = Some(width(residual));
        Ok(residual)
    }

    /// Reads raw bits.
    #[inline]
    pub fn bits(&mut self, bits: u32) -> Result<u64, ReadError> {
        self.reader.read(bits)
    }
}

/// Upper bound of the encoded size of a field of `bits` bits.
#[inline]
#[must_use]
pub fn bits_max(bits: u32) -> u32 {
    2 * bits + 3
}

/// Returns the value of a residual.
#[inline]
pub(crate) fn restored(residual: u64, expected: ExpectedValue, bits: u32) -> u64 {
    let difference = (residual >> 1) ^ (residual & 1).wrapping_neg();
    expected.value.wrapping_add(difference) & mask(bits)
}

#[inline]
fn order(reach: Reach, neighbour: Option<u32>, bits: u32) -> u32 {
    let (reach, neighbour) = match (reach, neighbour) {
        (Reach::Sharp, _) => return 0,
        (Reach::Width(reach), Some(neighbour)) => (reach, neighbour),
        (Reach::Width(reach), None) => (reach, reach),
        (Reach::Unknown, neighbour) => {
            let neighbour = neighbour.unwrap_or(FIRST_WIDTH);
            (neighbour, neighbour)
        }
    };
    ((4 * reach + neighbour + 2) >> 3).min(bits)
}

#[inline]
fn sign_extend(value: u64, bits: u32) -> i64 {
    let shift = 64 - bits;
    (value << shift) as i64 >> shift
}

#[inline]
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

#[inline]
fn width(value: u64) -> u32 {
    64 - value.leading_zeros()
}

#[inline]
fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_field() -> impl Strategy<Value = (u64, ExpectedValue, u32)> {
        (1..=FIELD_BITS_MAX, any::<[u64; 3]>(), 0u64..16, any::<bool>(), 0u32..9, 1u32..70).prop_map(
            |(bits, [value, base, earlier], step, near, spacing, elapsed)| {
                let base = base & mask(bits);
                let value = if near { base.wrapping_add(step) & mask(bits) } else { value & mask(bits) };
                let ages = BasisAges { elapsed, spacing, seconds_per_tick: 0.05 };
                let expected = match spacing {
                    8 => ExpectedValue::sharp(base),
                    _ => ExpectedValue::continued(base, Some(earlier & mask(bits)), ages, bits),
                };
                (value, expected, bits)
            },
        )
    }

    proptest! {
        #[test]
        fn fields_of_every_width_survive_a_round_trip(fields in proptest::collection::vec(any_field(), 1..8)) {
            let mut writer = BitWriter::new();
            let mut out = FieldWriter::new(&mut writer);
            for &(value, expected, bits) in &fields {
                out.write(value, expected, bits);
            }
            drop(out);
            prop_assert!(writer.bits() as u32 <= fields.iter().map(|&(_, _, bits)| bits_max(bits)).sum());
            let bytes = writer.to_bytes();
            let mut reader = BitReader::new(&bytes);
            let mut input = FieldReader::new(&mut reader);
            for &(value, expected, bits) in &fields {
                prop_assert_eq!(input.read(expected, bits), Ok(value));
            }
        }
    }

    #[test]
    fn a_field_at_rest_has_the_bits_of_its_value() {
        for (earlier, spacing, elapsed) in [(Some(5), 1, 1), (Some(5), 3, 7), (None, 0, 1), (Some(5), 0, 2)] {
            let ages = BasisAges { elapsed, spacing, seconds_per_tick: 0.05 };
            let [mut known, mut short] = [BitWriter::new(), BitWriter::new()];
            let mut fields = FieldWriter::new(&mut known);
            for _ in 0..2 {
                fields.write(5, ExpectedValue::continued(5, earlier, ages, 9), 9);
            }
            drop(fields);
            let mut fields = FieldWriter::new(&mut short);
            for _ in 0..2 {
                fields.write_still(earlier.is_some(), ages, 9);
            }
            drop(fields);
            assert_eq!((known.bits(), known.to_bytes()), (short.bits(), short.to_bytes()));
        }
    }

    #[test]
    fn a_residual_beyond_the_field_is_rejected() {
        let mut writer = BitWriter::new();
        FieldWriter::new(&mut writer).write_residual(512, ExpectedValue::unchanged(0), 9);
        let bytes = writer.to_bytes();
        assert_eq!(
            FieldReader::new(&mut BitReader::new(&bytes)).read(ExpectedValue::unchanged(0), 9),
            Err(ReadError::OutOfRange)
        );
        let ones = [0xff; 16];
        assert!(FieldReader::new(&mut BitReader::new(&ones)).read(ExpectedValue::unchanged(0), 9).is_err());
    }
}
