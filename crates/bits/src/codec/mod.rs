//! Packing of one field. A codec knows range and precision, and writes a value as the difference from a baseline.

mod angle;
mod by_type;
mod direction;
mod list;
mod number;
mod text;
mod whole;

pub use angle::Angle;
pub use by_type::ByType;
pub use direction::{COMPONENT_BITS_MAX, Rotation, UnitVector};
pub use list::List;
pub use number::{Number, NumberField, VECTOR_LEN_MAX, VectorBasis};
pub use text::Text;
pub use whole::{Integer, IntegerType};

use crate::{DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};

/// Packs values of type `T`.
pub trait Codec<T> {
    /// Default value of a field: zero, or the nearest value in range.
    fn initial(&self) -> T;

    /// Rounds `value` to the nearest one that can be encoded.
    fn snap(&self, value: &mut T);

    /// Appends `value` as the difference from the basis. All values must be snapped.
    fn write(&self, basis: DeltaBasis<'_, T>, value: &T, fields: &mut FieldWriter<'_>);

    /// Reads the value that was written against the same basis.
    fn read(&self, basis: DeltaBasis<'_, T>, fields: &mut FieldReader<'_, '_>) -> Result<T, ReadError>;

    /// The descriptor of this codec.
    fn kind(&self) -> FieldKind;
}

/// Number of bits that hold every number up to `max`.
pub(crate) const fn bits_for(max: u64) -> u32 {
    64 - max.leading_zeros()
}
