//! The cells of the world, and what stands on them.

use crate::{CELL, EDGE, Kind};
use std::fmt;

/// How many cells a side of the world has.
pub const CELLS: u8 = 128;

/// How finely positions and velocities are kept.
const STEPS_PER_UNIT: f32 = 64.0;

/// A cell of the world, counted from the lower corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Along the first axis.
    pub column: u8,
    /// Along the second.
    pub row: u8,
}

/// What a rule may ask of the world around.
pub trait Surroundings {
    /// What stands on a cell.
    fn structure_at(&self, cell: Cell) -> Option<Kind>;
}

/// What stands where, for a server or a client that knows it all.
#[derive(Clone, PartialEq, Eq)]
pub struct Grid {
    kinds: Vec<Option<Kind>>,
}

impl Cell {
    /// The cell under a place; none outside of the world.
    #[must_use]
    pub fn at(place: [f32; 2]) -> Option<Cell> {
        let [column, row] = place.map(index);
        Cell::new(column?, row?)
    }

    /// The cell of a column and a row, if there is one.
    #[must_use]
    pub fn new(column: u8, row: u8) -> Option<Cell> {
        (column < CELLS && row < CELLS).then_some(Cell { column, row })
    }

    /// Its lower corner.
    #[must_use]
    pub fn corner(self) -> [f32; 2] {
        [self.column, self.row].map(|index| f32::from(index) * CELL - EDGE)
    }

    /// Its middle.
    #[must_use]
    pub fn middle(self) -> [f32; 2] {
        self.corner().map(|corner| corner + CELL / 2.0)
    }
}

impl Default for Grid {
    fn default() -> Self {
        Grid { kinds: vec![None; usize::from(CELLS) * usize::from(CELLS)] }
    }
}

impl Grid {
    /// Puts something on a cell, or clears it.
    pub fn set(&mut self, cell: Cell, kind: Option<Kind>) {
        if let Some(place) = self.kinds.get_mut(position(cell)) {
            *place = kind;
        }
    }
}

/// Shows what stands somewhere, and not where nothing does.
impl fmt::Debug for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cells = (0..CELLS).flat_map(|row| (0..CELLS).map(move |column| Cell { column, row }));
        f.debug_map().entries(cells.filter_map(|cell| Some((cell, self.structure_at(cell)?)))).finish()
    }
}

impl Surroundings for Grid {
    fn structure_at(&self, cell: Cell) -> Option<Kind> {
        *self.kinds.get(position(cell))?
    }
}

/// The index of the cell on one axis; none outside of the world.
pub(crate) fn index(coordinate: f32) -> Option<u8> {
    // The upper edge belongs to the last cell, so that whoever stands there stands on one.
    (-EDGE..=EDGE).contains(&coordinate).then(|| (((coordinate + EDGE) / CELL) as u8).min(CELLS - 1))
}

/// The nearest number that the wire can say. Rules that compare a place with cells compare this one, because it is what
/// will be kept.
pub(crate) fn rounded(number: f32) -> f32 {
    (number * STEPS_PER_UNIT).round() / STEPS_PER_UNIT
}

fn position(cell: Cell) -> usize {
    usize::from(cell.row) * usize::from(CELLS) + usize::from(cell.column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_on_the_cell_whose_corners_surround_it() {
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
