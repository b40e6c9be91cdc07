//! Component values as a client keeps them.

use aether_bits::{
    BasisAges, BitReader, BitWriter, Component, DeltaBasis, FieldKind, ReadError, SchemaValue, StateHasher,
};
use std::any::Any;

/// The cells that hold what a difference is made from.
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

/// The values of one component, by cell. An entity has one or several cells, each for one version.
pub trait ReplicaColumn: Any + Send {
    /// Makes room for all cells below `cells`.
    fn grow(&mut self, cells: usize);

    /// Copies a value from one cell to another.
    fn copy(&mut self, from: usize, to: usize);

    /// Reads a whole value into a cell.
    fn read_full(&mut self, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError>;

    /// Reads the difference from the values in the cells of `source` into `to`.
    fn read_delta(&mut self, source: ReplicaCells, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError>;

    /// The hash of a value, as the server computes it.
    fn digest(&self, cell: usize, scratch: &mut BitWriter) -> u64;

    /// For getting back to the type.
    fn as_any(&self) -> &dyn Any;
}

/// A column of a known type.
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

/// A column of which only the descriptor is known.
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
        self.values[to] = self.kind.read_delta(DeltaBasis::held(&self.kind.initial()), reader)?;
        Ok(())
    }

    fn read_delta(&mut self, source: ReplicaCells, to: usize, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
        self.values[to] = self.kind.read_delta(source.basis(&self.values), reader)?;
        Ok(())
    }

    fn digest(&self, cell: usize, scratch: &mut BitWriter) -> u64 {
        scratch.clear();
        self.kind
            .write_delta(DeltaBasis::held(&self.kind.initial()), &self.values[cell], scratch)
            .expect("what was read fits its kind");
        StateHasher::of_bits(scratch)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
