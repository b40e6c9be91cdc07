//! Columns of component values on a client.

use aether_bits::{
    BasisAges, BitReader, BitWriter, Component, DeltaBasis, FieldKind, ReadError, SchemaValue, StateHasher,
};
use std::any::Any;

/// Cells of the values from which a delta is made.
#[derive(Clone, Copy, Debug)]
pub struct ReplicaCells {
    pub base: usize,
    pub earlier: Option<usize>,
    pub ages: BasisAges,
}

impl ReplicaCells {
    fn basis<T>(self, values: &[T]) -> DeltaBasis<'_, T> {
        DeltaBasis { value: &values[self.base], earlier: self.earlier.map(|cell| &values[cell]), ages: self.ages }
    }
}

/// Values of one component, by cell. An entity has one or several cells, each for one version.
pub trait ReplicaColumn: Any + Send {
    /// Grows the column to `cells` cells.
    fn grow(&mut self, cells: usize);

    /// Copies a value from one cell to another.
    fn copy(&mut self, from: usize, to: usize);

    /// Reads a full value into a cell.
    fn read_full(&mut self, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError>;

    /// Reads the delta from the values in the cells of `source` into `to`.
    fn read_delta(&mut self, source: ReplicaCells, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError>;

    /// Returns the hash of a value, equal to the server's.
    fn digest(&self, cell: usize, scratch: &mut BitWriter) -> u64;

    /// Allows a downcast to the concrete column.
    fn as_any(&self) -> &dyn Any;
}

/// Column of a known type.
pub struct TypedReplica<C> {
    pub values: Vec<C>,
}

impl<C: Component> ReplicaColumn for TypedReplica<C> {
    fn grow(&mut self, cells: usize) {
        if cells > self.values.len() {
            self.values.resize(cells, C::initial());
        }
    }

    fn copy(&mut self, from: usize, to: usize) {
        if from != to {
            self.values[to] = self.values[from].clone();
        }
    }

    fn read_full(&mut self, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        self.values[to] = C::read_full(reader)?;
        Ok(())
    }

    fn read_delta(&mut self, source: ReplicaCells, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        self.values[to] = C::read_delta(source.basis(&self.values), reader)?;
        Ok(())
    }

    fn digest(&self, cell: usize, scratch: &mut BitWriter) -> u64 {
        self.values[cell].digest(scratch)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Column of which only the descriptor is known.
pub struct DescribedReplica {
    pub kind: FieldKind,
    pub values: Vec<SchemaValue>,
}

impl ReplicaColumn for DescribedReplica {
    fn grow(&mut self, cells: usize) {
        if cells > self.values.len() {
            self.values.resize(cells, self.kind.initial());
        }
    }

    fn copy(&mut self, from: usize, to: usize) {
        if from != to {
            self.values[to] = self.values[from].clone();
        }
    }

    fn read_full(&mut self, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        self.values[to] = self.kind.read_delta(DeltaBasis::new(&self.kind.initial()), reader)?;
        Ok(())
    }

    fn read_delta(&mut self, source: ReplicaCells, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        self.values[to] = self.kind.read_delta(source.basis(&self.values), reader)?;
        Ok(())
    }

    fn digest(&self, cell: usize, scratch: &mut BitWriter) -> u64 {
        scratch.clear();
        self.kind
            .write_delta(DeltaBasis::new(&self.kind.initial()), &self.values[cell], scratch)
            .expect("a value that was read fits its kind");
        StateHasher::of_bits(scratch)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
