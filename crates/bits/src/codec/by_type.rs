//! Types that define their packing.

use super::Codec;
use crate::{DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError, Replicate};

/// Uses the packing that the type defines: booleans, integers, and types that derive [`Replicate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByType;

impl<T: Replicate> Codec<T> for ByType {
    fn initial(&self) -> T {
        T::initial()
    }

    #[inline]
    fn snap(&self, value: &mut T) {
        value.snap();
    }

    #[inline]
    fn write(&self, basis: DeltaBasis<'_, T>, value: &T, fields: &mut FieldWriter<'_>) {
        value.write(basis, fields);
    }

    #[inline]
    fn read(&self, basis: DeltaBasis<'_, T>, fields: &mut FieldReader<'_, '_>) -> Result<T, ReadError> {
        T::read(basis, fields)
    }

    fn kind(&self) -> FieldKind {
        T::kind()
    }
}
