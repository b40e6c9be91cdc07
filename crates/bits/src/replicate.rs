//! Traits of replicated types.

use crate::codec::{Codec, Integer};
use crate::{BitReader, BitWriter, DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError, StateHasher};

/// A type with a packing. Implement it by the derive: [`macro@crate::Replicate`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no packing",
    label = "add #[replicate(…)] to the field, with range (and step), angle, text, list or another packing, or skip"
)]
pub trait Replicate: Sized {
    /// Initial value. A full state is encoded as the difference from it.
    fn initial() -> Self;

    /// Rounds every replicated field to the nearest value that can be encoded.
    fn snap(&mut self);

    /// True if all replicated fields are equal.
    fn same(&self, other: &Self) -> bool;

    /// Appends the difference from the basis.
    fn write(&self, basis: DeltaBasis<'_, Self>, fields: &mut FieldWriter<'_>);

    /// Reads a value that [`Replicate::write`] wrote against the same basis.
    fn read(basis: DeltaBasis<'_, Self>, fields: &mut FieldReader<'_, '_>) -> Result<Self, ReadError>;

    /// Descriptor of the packing.
    fn kind() -> FieldKind;

    /// Appends the difference from the basis, as a separate record.
    #[inline(always)]
    fn write_delta(&self, basis: DeltaBasis<'_, Self>, writer: &mut BitWriter) {
        self.write(basis, &mut FieldWriter::new(writer));
    }

    /// Reads a value that [`Replicate::write_delta`] wrote against the same basis.
    fn read_delta(basis: DeltaBasis<'_, Self>, reader: &mut BitReader<'_>) -> Result<Self, ReadError> {
        Self::read(basis, &mut FieldReader::new(reader))
    }

    /// Appends the whole value.
    fn write_full(&self, writer: &mut BitWriter) {
        self.write_delta(DeltaBasis::new(&Self::initial()), writer);
    }

    /// Reads a whole value.
    fn read_full(reader: &mut BitReader<'_>) -> Result<Self, ReadError> {
        Self::read_delta(DeltaBasis::new(&Self::initial()), reader)
    }
}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a component, input or event",
    label = "use a struct with #[derive(Clone, Replicate)]; put an enum into a field of a struct"
)]
/// A named record: a component, an input or an event. The derive implements it for structs.
pub trait Component: Replicate + Clone + Send + Sync + 'static {
    /// Name of the type.
    const NAME: &'static str;
    /// Feature channel of the record in JSON.
    const CHANNEL: &'static str;
    /// True if the component holds the position of its entity.
    const HAS_POSITION: bool = false;

    /// Position of the entity, if this component holds it.
    fn position(&self) -> Option<[f32; 2]> {
        None
    }

    /// Third coordinate of that position, if it has one. Queries and the position history use it.
    fn third_coordinate(&self) -> Option<f32> {
        None
    }

    /// Returns a hash of the replicated fields, equal on every platform. `scratch` is overwritten.
    fn digest(&self, scratch: &mut BitWriter) -> u64 {
        scratch.clear();
        self.write_full(scratch);
        StateHasher::of_bits(scratch)
    }
}

impl Replicate for bool {
    fn initial() -> Self {
        false
    }

    fn snap(&mut self) {}

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn write(&self, _basis: DeltaBasis<'_, Self>, fields: &mut FieldWriter<'_>) {
        fields.bits(u64::from(*self), 1);
    }

    fn read(_basis: DeltaBasis<'_, Self>, fields: &mut FieldReader<'_, '_>) -> Result<Self, ReadError> {
        Ok(fields.bits(1)? == 1)
    }

    fn kind() -> FieldKind {
        FieldKind::Flag
    }
}

macro_rules! full_range {
    ($($integer:ty),*) => {$(
        impl Replicate for $integer {
            fn initial() -> Self {
                0
            }

            fn snap(&mut self) {}

            fn same(&self, other: &Self) -> bool {
                self == other
            }

            fn write(&self, basis: DeltaBasis<'_, Self>, fields: &mut FieldWriter<'_>) {
                Integer::new(<$integer>::MIN as i64, <$integer>::MAX as i64).write(basis, self, fields);
            }

            fn read(basis: DeltaBasis<'_, Self>, fields: &mut FieldReader<'_, '_>) -> Result<Self, ReadError> {
                Integer::new(<$integer>::MIN as i64, <$integer>::MAX as i64).read(basis, fields)
            }

            fn kind() -> FieldKind {
                FieldKind::Whole { min: <$integer>::MIN as i64, max: <$integer>::MAX as i64 }
            }
        }
    )*};
}

full_range!(u8, u16, u32, i8, i16, i32);
