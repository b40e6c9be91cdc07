//! Packing of the rows of a column: by a Rust type, or by a type that was declared at run time.

use aether_bits::runtime::{Record, RecordType};
use aether_bits::{BitReader, BitWriter, Component, DeltaBasis, ReadError, RecordSchema};
use std::marker::PhantomData;
use std::sync::Arc;

/// Packs the rows of one component: the part of a column that depends on the component type.
pub trait RowPacking: Send + Sync + 'static {
    /// Value of the component.
    type Row: Clone + Send + Sync + 'static;

    /// Descriptor of the component.
    fn schema(&self) -> RecordSchema;

    /// Returns a new row with initial values.
    fn initial(&self) -> Self::Row;

    /// Returns a placeholder for a version that is not written yet. It is never read.
    fn blank(&self) -> Self::Row {
        self.initial()
    }

    /// Rounds a row to the nearest one that can be encoded.
    fn snap(&self, row: &mut Self::Row);

    /// True if two rows have the same encoding.
    fn same(&self, row: &Self::Row, other: &Self::Row) -> bool;

    /// True if the component holds the position of its entity.
    fn has_position(&self) -> bool;

    /// Position of the entity, if the component holds it.
    fn position(&self, row: &Self::Row) -> Option<[f32; 2]>;

    /// Third coordinate of that position, if it has one.
    fn third_coordinate(&self, row: &Self::Row) -> Option<f32>;

    /// Appends the whole row.
    fn write_full(&self, row: &Self::Row, writer: &mut BitWriter);

    /// Reads a whole row.
    fn read_full(&self, reader: &mut BitReader<'_>) -> Result<Self::Row, ReadError>;

    /// Appends the difference from the basis.
    fn write_delta(&self, basis: DeltaBasis<'_, Self::Row>, row: &Self::Row, writer: &mut BitWriter);

    /// Returns a hash of the row, equal on every platform. `scratch` is overwritten.
    fn digest(&self, row: &Self::Row, scratch: &mut BitWriter) -> u64;
}

/// Packing of a type with the derive. It has no size, and calls are static.
pub struct TypedPacking<C>(PhantomData<fn() -> C>);

/// Packing of records of a type that was declared at run time.
pub struct DescribedPacking(pub(crate) Arc<RecordType>);

impl<C> TypedPacking<C> {
    pub(crate) fn new() -> Self {
        TypedPacking(PhantomData)
    }
}

impl<C: Component> RowPacking for TypedPacking<C> {
    type Row = C;

    fn schema(&self) -> RecordSchema {
        RecordSchema::of::<C>()
    }

    #[inline]
    fn initial(&self) -> C {
        C::initial()
    }

    #[inline]
    fn snap(&self, row: &mut C) {
        row.snap();
    }

    #[inline]
    fn same(&self, row: &C, other: &C) -> bool {
        row.same(other)
    }

    #[inline]
    fn has_position(&self) -> bool {
        C::HAS_POSITION
    }

    #[inline]
    fn position(&self, row: &C) -> Option<[f32; 2]> {
        row.position()
    }

    #[inline]
    fn third_coordinate(&self, row: &C) -> Option<f32> {
        row.third_coordinate()
    }

    #[inline]
    fn write_full(&self, row: &C, writer: &mut BitWriter) {
        row.write_full(writer);
    }

    fn read_full(&self, reader: &mut BitReader<'_>) -> Result<C, ReadError> {
        C::read_full(reader)
    }

    #[inline]
    fn write_delta(&self, basis: DeltaBasis<'_, C>, row: &C, writer: &mut BitWriter) {
        row.write_delta(basis, writer);
    }

    #[inline]
    fn digest(&self, row: &C, scratch: &mut BitWriter) -> u64 {
        row.digest(scratch)
    }
}

impl RowPacking for DescribedPacking {
    type Row = Record;

    fn schema(&self) -> RecordSchema {
        self.0.schema().clone()
    }

    fn initial(&self) -> Record {
        self.0.initial()
    }

    fn blank(&self) -> Record {
        // Most entities at rest have one version. The placeholders of the others need no heap memory.
        Record::default()
    }

    fn snap(&self, row: &mut Record) {
        self.0.snap(row);
    }

    fn same(&self, row: &Record, other: &Record) -> bool {
        row.same(other)
    }

    fn has_position(&self) -> bool {
        self.0.has_position()
    }

    fn position(&self, row: &Record) -> Option<[f32; 2]> {
        self.0.position(row)
    }

    fn third_coordinate(&self, row: &Record) -> Option<f32> {
        self.0.third_coordinate(row)
    }

    fn write_full(&self, row: &Record, writer: &mut BitWriter) {
        self.0.write_full(row, writer);
    }

    fn read_full(&self, reader: &mut BitReader<'_>) -> Result<Record, ReadError> {
        self.0.read_full(reader)
    }

    fn write_delta(&self, basis: DeltaBasis<'_, Record>, row: &Record, writer: &mut BitWriter) {
        self.0.write_delta(basis, row, writer);
    }

    fn digest(&self, row: &Record, scratch: &mut BitWriter) -> u64 {
        self.0.digest(row, scratch)
    }
}
