//! Whole numbers over a range.

use super::{Codec, bits_for};
use crate::{BitReader, BitWriter, Kind, ReadError, residual};

/// Packs integers over `min..=max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    min: i64,
    max: i64,
}

impl Whole {
    /// The widest range: differences of two values must fit 63 bits with their sign.
    pub const BITS_MAX: u32 = 61;

    /// A range of integers.
    ///
    /// # Panics
    /// When the range is empty or wider than [`Whole::BITS_MAX`] bits; in a constant that does not compile.
    #[must_use]
    pub const fn new(min: i64, max: i64) -> Self {
        assert!(
            Self::is_valid(min, max),
            "a whole number needs min < max and at most 61 bits between them"
        );
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
    fn write(&self, base: &T, value: &T, writer: &mut BitWriter) {
        let clamp = |value: &T| value.widen().clamp(self.min, self.max);
        residual::write(&[clamp(value) - clamp(base)], self.bits(), writer);
    }

    #[inline]
    fn read(&self, base: &T, reader: &mut BitReader<'_>) -> Result<T, ReadError> {
        let mut residual = [0];
        residual::read(&mut residual, self.bits(), reader)?;
        let value = base
            .widen()
            .clamp(self.min, self.max)
            .checked_add(residual[0])
            .ok_or(ReadError::OutOfRange)?;
        if value < self.min || value > self.max {
            return Err(ReadError::OutOfRange);
        }
        Ok(T::narrow(value))
    }

    fn kind(&self) -> Kind {
        Kind::Whole {
            min: self.min,
            max: self.max,
        }
    }
}
