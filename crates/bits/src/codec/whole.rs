//! Whole numbers in a range.

use super::{Codec, bits_for};
use crate::field::{ExpectedValue, FIELD_BITS_MAX};
use crate::{DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};

/// Packs integers in `min..=max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    min: i64,
    max: i64,
}

impl Integer {
    /// Upper bound of the bits of a range.
    pub const BITS_MAX: u32 = FIELD_BITS_MAX;

    /// A range of integers.
    ///
    /// # Panics
    /// If the range is empty or wider than [`Integer::BITS_MAX`] bits. In a constant, this is a compile error.
    #[must_use]
    pub const fn new(min: i64, max: i64) -> Self {
        assert!(Self::is_valid(min, max), "a whole number needs min < max and at most 61 bits between them");
        Integer { min, max }
    }

    /// True if [`Integer::new`] accepts this range.
    #[must_use]
    pub const fn is_valid(min: i64, max: i64) -> bool {
        min < max && bits_for(max.abs_diff(min)) <= Self::BITS_MAX
    }

    /// Number of bits of an absolute value.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        bits_for(self.max.abs_diff(self.min))
    }

    fn above_min<T: IntegerType>(&self, value: &T) -> u64 {
        value.widen().clamp(self.min, self.max).abs_diff(self.min)
    }
}

/// Integer types of a field.
pub trait IntegerType: Copy {
    /// Converts to the widest type.
    fn widen(self) -> i64;
    /// Converts from the widest type. A value that does not fit becomes the nearest one.
    fn narrow(wide: i64) -> Self;
}

macro_rules! whole_numbers {
    ($($integer:ty),*) => {$(
        impl IntegerType for $integer {
            fn widen(self) -> i64 {
                i64::try_from(self).unwrap_or(i64::MAX)
            }

            fn narrow(wide: i64) -> Self {
                <$integer>::try_from(wide).unwrap_or(if wide < 0 { <$integer>::MIN } else { <$integer>::MAX })
            }
        }
    )*};
}

whole_numbers!(u8, u16, u32, u64, i8, i16, i32, i64);

impl<T: IntegerType> Codec<T> for Integer {
    fn initial(&self) -> T {
        T::narrow(0.clamp(self.min, self.max))
    }

    #[inline]
    fn snap(&self, value: &mut T) {
        *value = T::narrow(value.widen().clamp(self.min, self.max));
    }

    #[inline]
    fn write(&self, basis: DeltaBasis<'_, T>, value: &T, fields: &mut FieldWriter<'_>) {
        fields.write(self.above_min(value), ExpectedValue::unchanged(self.above_min(basis.value)), self.bits());
    }

    #[inline]
    fn read(&self, basis: DeltaBasis<'_, T>, fields: &mut FieldReader<'_, '_>) -> Result<T, ReadError> {
        let above = fields.read(ExpectedValue::unchanged(self.above_min(basis.value)), self.bits())?;
        if above > self.max.abs_diff(self.min) {
            return Err(ReadError::OutOfRange);
        }
        Ok(T::narrow(self.min.wrapping_add(above as i64)))
    }

    fn kind(&self) -> FieldKind {
        FieldKind::Whole { min: self.min, max: self.max }
    }
}
