//! Positions of entities, as points for a spatial index.

use aether_space::IndexedPoint;

const NO_POINT: u32 = u32::MAX;

/// Positions of all entities that have one, stored densely.
#[derive(Debug, Default)]
pub struct Positions {
    points: Vec<IndexedPoint>,
    /// Index into `points` of each slot, or [`NO_POINT`].
    indexes: Vec<u32>,
    /// Third coordinate of each slot. Empty in a world with two.
    third: Vec<f32>,
}

impl Positions {
    /// All positions, in no particular order.
    pub fn points(&self) -> &[IndexedPoint] {
        &self.points
    }

    /// Position of a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<[f32; 2]> {
        let index = *self.indexes.get(slot as usize)?;
        let point = self.points.get(index as usize)?;
        Some([point.x, point.y])
    }

    /// Sets the position of a slot.
    #[inline]
    pub fn set(&mut self, slot: u32, [x, y]: [f32; 2]) {
        if slot as usize >= self.indexes.len() {
            self.indexes.resize(slot as usize + 1, NO_POINT);
        }
        let point = IndexedPoint { slot, x, y };
        match self.points.get_mut(self.indexes[slot as usize] as usize) {
            Some(known) => *known = point,
            None => {
                self.indexes[slot as usize] = self.points.len() as u32;
                self.points.push(point);
            }
        }
    }

    /// Third coordinate of a slot; zero in a world with two.
    #[inline]
    pub fn third(&self, slot: u32) -> f32 {
        self.third.get(slot as usize).copied().unwrap_or(0.0)
    }

    /// Sets the third coordinate of a slot.
    pub fn set_third(&mut self, slot: u32, coordinate: f32) {
        if slot as usize >= self.third.len() {
            self.third.resize(slot as usize + 1, 0.0);
        }
        self.third[slot as usize] = coordinate;
    }

    /// Third coordinates by slot. Empty in a world with two.
    pub(crate) fn thirds(&self) -> &[f32] {
        &self.third
    }

    /// Removes the position of a slot.
    pub fn remove(&mut self, slot: u32) {
        if let Some(third) = self.third.get_mut(slot as usize) {
            *third = 0.0;
        }
        let Some(index) = self.indexes.get_mut(slot as usize) else {
            return;
        };
        let index = std::mem::replace(index, NO_POINT) as usize;
        if index < self.points.len() {
            self.points.swap_remove(index);
            if let Some(moved) = self.points.get(index) {
                self.indexes[moved.slot as usize] = index as u32;
            }
        }
    }
}
