//! What a type must be able to do to be replicated.

use crate::codec::{Codec, Whole};
use crate::{BitReader, BitWriter, Kind, ReadError, StateHasher};

/// A value with a packing of its own. Derive it: see [`macro@crate::Replicate`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say how it is packed",
    label = "give the field an attribute such as #[replicate(range = -1000.0..=1000.0, step = 0.01)], or #[replicate(skip)]"
)]
pub trait Replicate: Sized {
    /// The value that a full state is the difference from.
    fn initial() -> Self;

    /// Moves every replicated field to the nearest value that the wire can say.
    fn snap(&mut self);

    /// Whether all replicated fields are equal.
    fn same(&self, other: &Self) -> bool;

    /// Appends the difference from `base`, which is `elapsed_seconds` older.
    fn write_delta(&self, base: &Self, elapsed_seconds: f32, writer: &mut BitWriter);

    /// Reads what [`Replicate::write_delta`] wrote against the same base.
    fn read_delta(
        base: &Self,
        elapsed_seconds: f32,
        reader: &mut BitReader<'_>,
    ) -> Result<Self, ReadError>;

    /// The descriptor of this packing.
    fn kind() -> Kind;

    /// Appends the whole value.
    fn write_full(&self, writer: &mut BitWriter) {
        self.write_delta(&Self::initial(), 0.0, writer);
    }

    /// Reads a whole value.
    fn read_full(reader: &mut BitReader<'_>) -> Result<Self, ReadError> {
        Self::read_delta(&Self::initial(), 0.0, reader)
    }
}

/// A named record that travels as a whole: a component, an input or an event. The derive implements it for structs.
pub trait Component: Replicate + Clone + Send + Sync + 'static {
    /// The type's name.
    const NAME: &'static str;
    /// The feature channel under which JSON clients find it.
    const CHANNEL: &'static str;
    /// Whether it says where its entity is.
    const PLACED: bool = false;

    /// Where the entity is, if this component says so.
    fn place(&self) -> Option<[f32; 2]> {
        None
    }

    /// A hash of the replicated fields, the same on every platform. `scratch` is overwritten.
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

    fn write_delta(&self, _base: &Self, _elapsed_seconds: f32, writer: &mut BitWriter) {
        writer.write_bool(*self);
    }

    fn read_delta(
        _base: &Self,
        _elapsed_seconds: f32,
        reader: &mut BitReader<'_>,
    ) -> Result<Self, ReadError> {
        reader.read_bool()
    }

    fn kind() -> Kind {
        Kind::Flag
    }
}

macro_rules! own_range {
    ($($integer:ty),*) => {$(
        impl Replicate for $integer {
            fn initial() -> Self {
                0
            }

            fn snap(&mut self) {}

            fn same(&self, other: &Self) -> bool {
                self == other
            }

            fn write_delta(&self, base: &Self, _elapsed_seconds: f32, writer: &mut BitWriter) {
                Whole::new(<$integer>::MIN as i64, <$integer>::MAX as i64).write(base, self, writer);
            }

            fn read_delta(base: &Self, _elapsed_seconds: f32, reader: &mut BitReader<'_>) -> Result<Self, ReadError> {
                Whole::new(<$integer>::MIN as i64, <$integer>::MAX as i64).read(base, reader)
            }

            fn kind() -> Kind {
                Kind::Whole { min: <$integer>::MIN as i64, max: <$integer>::MAX as i64 }
            }
        }
    )*};
}

own_range!(u8, u16, u32, i8, i16, i32);
