//! Where entities are, in the form that spatial indexes take in.

use aether_space::IndexedPoint;

const NOWHERE: u32 = u32::MAX;

/// The places of all entities that have one, packed.
#[derive(Debug, Default)]
pub struct Positions {
    points: Vec<IndexedPoint>,
    /// Per slot: its position in `points`, or [`NOWHERE`].
    position: Vec<u32>,
}

impl Positions {
    /// All places, in no particular order.
    pub fn points(&self) -> &[IndexedPoint] {
        &self.points
    }

    /// The place of a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<[f32; 2]> {
        let position = *self.position.get(slot as usize)?;
        let point = self.points.get(position as usize)?;
        Some([point.x, point.y])
    }

    /// Puts a slot at a place.
    pub fn set(&mut self, slot: u32, [x, y]: [f32; 2]) {
        if slot as usize >= self.position.len() {
            self.position.resize(slot as usize + 1, NOWHERE);
        }
        let point = IndexedPoint { slot, x, y };
        match self.points.get_mut(self.position[slot as usize] as usize) {
            Some(known) => *known = point,
            None => {
                self.position[slot as usize] = self.points.len() as u32;
                self.points.push(point);
            }
        }
    }

    /// Takes a slot's place away.
    pub fn remove(&mut self, slot: u32) {
        let Some(position) = self.position.get_mut(slot as usize) else {
            return;
        };
        let position = std::mem::replace(position, NOWHERE) as usize;
        if position < self.points.len() {
            self.points.swap_remove(position);
            if let Some(moved) = self.points.get(position) {
                self.position[moved.slot as usize] = position as u32;
            }
        }
    }
}
