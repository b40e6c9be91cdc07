//! Cells of the world, and structures on them.

use crate::{CELL, EDGE, Kind};
use std::fmt;

/// Number of cells along a side of the world.
pub const CELLS: u8 = 128;

/// Resolution of positions and velocities.
const STEPS_PER_UNIT: f32 = 64.0;

/// Cell of the world, counted from the lower corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Index along the first axis.
    pub column: u8,
    /// Index along the second axis.
    pub row: u8,
}

/// Structures that rules can query.
pub trait Surroundings {
    /// Returns the structure on a cell.
    fn structure_at(&self, cell: Cell) -> Option<Kind>;
}

/// All known structures by cell, for a server or a client.
#[derive(Clone, PartialEq, Eq)]
pub struct StructureGrid {
    kinds: Vec<Option<Kind>>,
}

impl Cell {
    /// Returns the cell at a position, or `None` outside the world.
    #[must_use]
    pub fn at(position: [f32; 2]) -> Option<Cell> {
        let [column, row] = position.map(index);
        Cell::new(column?, row?)
    }

    /// Returns the cell of a column and a row, if it exists.
    #[must_use]
    pub fn new(column: u8, row: u8) -> Option<Cell> {
        (column < CELLS && row < CELLS).then_some(Cell { column, row })
    }

    /// Returns its lower corner.
    #[must_use]
    pub fn corner(self) -> [f32; 2] {
        [self.column, self.row].map(|index| f32::from(index) * CELL - EDGE)
    }

    /// Returns its center.
    #[must_use]
    pub fn middle(self) -> [f32; 2] {
        self.corner().map(|corner| corner + CELL / 2.0)
    }
}

impl Default for StructureGrid {
    fn default() -> Self {
        StructureGrid { kinds: vec![None; usize::from(CELLS) * usize::from(CELLS)] }
    }
}

impl StructureGrid {
    /// Sets or clears the structure on a cell.
    pub fn set(&mut self, cell: Cell, kind: Option<Kind>) {
        if let Some(slot) = self.kinds.get_mut(slot_of(cell)) {
            *slot = kind;
        }
    }
}

/// Lists occupied cells only.
impl fmt::Debug for StructureGrid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = (0..CELLS).flat_map(|row| (0..CELLS).map(move |column| Cell { column, row }));
        f.debug_map().entries(cells.filter_map(|cell| Some((cell, self.structure_at(cell)?)))).finish()
    }
}

impl Surroundings for StructureGrid {
    fn structure_at(&self, cell: Cell) -> Option<Kind> {
        *self.kinds.get(slot_of(cell))?
    }
}

/// Returns the cell index of a coordinate on one axis, or `None` outside the world.
pub(crate) fn index(coordinate: f32) -> Option<u8> {
    // The upper edge belongs to the last cell, so that every position in the world has a cell.
    (-EDGE..=EDGE).contains(&coordinate).then(|| (((coordinate + EDGE) / CELL) as u8).min(CELLS - 1))
}

/// Rounds to the wire's grid. Rules compare rounded positions with cells, because those are stored.
pub(crate) fn rounded(number: f32) -> f32 {
    (number * STEPS_PER_UNIT).round() / STEPS_PER_UNIT
}

fn slot_of(cell: Cell) -> usize {
    usize::from(cell.row) * usize::from(CELLS) + usize::from(cell.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_on_the_cell_that_contains_it() {
        assert_eq!(Cell::at([-EDGE, EDGE]), Some(Cell { column: 0, row: CELLS - 1 }));
        assert_eq!(Cell::at([0.0, -0.1]), Some(Cell { column: 64, row: 63 }));
        for outside in [[EDGE + 0.1, 0.0], [0.0, -EDGE - 0.1], [f32::NAN, 0.0], [0.0, f32::INFINITY]] {
            assert_eq!(Cell::at(outside), None);
        }
        for column in 0..CELLS {
            let cell = Cell { column, row: 5 };
            assert_eq!((Cell::at(cell.middle()), Cell::at(cell.corner())), (Some(cell), Some(cell)));
        }
        assert_eq!(Cell::new(CELLS, 0), None);
    }
}
