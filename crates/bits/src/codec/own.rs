//! Types that bring their own packing.

use super::Codec;
use crate::{Basis, FieldReader, FieldWriter, Kind, ReadError, Replicate};

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
    fn write(&self, basis: Basis<'_, T>, value: &T, fields: &mut FieldWriter<'_>) {
        value.write(basis, fields);
    }

    #[inline]
    fn read(&self, basis: Basis<'_, T>, fields: &mut FieldReader<'_, '_>) -> Result<T, ReadError> {
        T::read(basis, fields)
    }

    fn kind(&self) -> Kind {
        T::kind()
    }
}
