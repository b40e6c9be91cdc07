//! How one field is packed. A codec knows its range and precision; it writes a value as the difference from a base.

mod angle;
mod direction;
mod list;
mod number;
mod own;
mod text;
mod whole;

pub use angle::Angle;
pub use direction::{COMPONENT_BITS_MAX, Rotation, UnitVector};
pub use list::List;
pub use number::{Number, NumberField, VECTOR_LEN_MAX, VectorBasis};
pub use own::ByType;
pub use text::Text;
pub use whole::{Integer, IntegerType};

use crate::{DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};

/// Packs values of type `T`.
pub trait Codec<T> {
    /// What a field holds when nothing else is said: zero, or the nearest value in range.
    fn initial(&self) -> T;

    /// Moves `value` to the nearest one that the wire can say.
    fn snap(&self, value: &mut T);

    /// Appends `value` as the difference from what the receiver has. All values count as snapped.
    fn write(&self, basis: DeltaBasis<'_, T>, value: &T, fields: &mut FieldWriter<'_>);

    /// Reads the value that was written against the same basis.
    fn read(&self, basis: DeltaBasis<'_, T>, fields: &mut FieldReader<'_, '_>) -> Result<T, ReadError>;

    /// The descriptor of this codec.
    fn kind(&self) -> FieldKind;
}

/// How many bits hold every number up to `max`.
pub(crate) const fn bits_for(max: u64) -> u32 {
    64 - max.leading_zeros()
}
