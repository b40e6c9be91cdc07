//! Types that bring their own packing.

use super::Codec;
use crate::{BitReader, BitWriter, Kind, ReadError, Replicate};

/// Packs a type the way the type itself says: booleans, integers, and whatever derives [`Replicate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own;

impl<T: Replicate> Codec<T> for Own {
    fn initial(&self) -> T {
        T::initial()
    }

    #[inline]
    fn snap(&self, value: &mut T) {
        value.snap();
    }

    #[inline]
    fn write(&self, base: &T, value: &T, writer: &mut BitWriter) {
        value.write_delta(base, 0.0, writer);
    }

    #[inline]
    fn read(&self, base: &T, reader: &mut BitReader<'_>) -> Result<T, ReadError> {
        T::read_delta(base, 0.0, reader)
    }

    fn kind(&self) -> Kind {
        T::kind()
    }
}
