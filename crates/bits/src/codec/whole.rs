//! Whole numbers over a range.

use super::{Codec, bits_for};
use crate::field::{Expected, FIELD_BITS_MAX};
use crate::{Basis, FieldReader, FieldWriter, Kind, ReadError};

/// Packs integers over `min..=max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    min: i64,
    max: i64,
}

impl Whole {
    /// The widest range.
    pub const BITS_MAX: u32 = FIELD_BITS_MAX;

    /// A range of integers.
    ///
    /// # Panics
    /// When the range is empty or wider than [`Whole::BITS_MAX`] bits; in a constant that does not compile.
    #[must_use]
    pub const fn new(min: i64, max: i64) -> Self {
        assert!(Self::is_valid(min, max), "a whole number needs min < max and at most 61 bits between them");
        Whole { min, max }
    }

    /// Whether [`Whole::new`] would accept this range.
    #[must_use]
    pub const fn is_valid(min: i64, max: i64) -> bool {
        min < max && bits_for(max.abs_diff(min)) <= Self::BITS_MAX
    }

    /// How many bits an absolute value takes.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        bits_for(self.max.abs_diff(self.min))
    }

    fn above_min<T: WholeNumber>(&self, value: &T) -> u64 {
        value.widen().clamp(self.min, self.max).abs_diff(self.min)
    }
}

/// The integer types that a field can have.
pub trait WholeNumber: Copy {
    /// The value as the widest type.
    fn widen(self) -> i64;
    /// The value in its own type, the nearest one where it does not fit.
    fn narrow(wide: i64) -> Self;
}

macro_rules! whole_numbers {
    ($($integer:ty),*) => {$(
        impl WholeNumber for $integer {
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

impl<T: WholeNumber> Codec<T> for Whole {
    fn initial(&self) -> T {
        T::narrow(0.clamp(self.min, self.max))
    }

    #[inline]
    fn snap(&self, value: &mut T) {
        *value = T::narrow(value.widen().clamp(self.min, self.max));
    }

    #[inline]
    fn write(&self, basis: Basis<'_, T>, value: &T, fields: &mut FieldWriter<'_>) {
        fields.write(self.above_min(value), Expected::held(self.above_min(basis.value)), self.bits());
    }

    #[inline]
    fn read(&self, basis: Basis<'_, T>, fields: &mut FieldReader<'_, '_>) -> Result<T, ReadError> {
        let above = fields.read(Expected::held(self.above_min(basis.value)), self.bits())?;
        if above > self.max.abs_diff(self.min) {
            return Err(ReadError::OutOfRange);
        }
        Ok(T::narrow(self.min.wrapping_add(above as i64)))
    }

    fn kind(&self) -> Kind {
        Kind::Whole { min: self.min, max: self.max }
    }
}
