//! All blobs together: pushing, eating and merging.

use crate::blob::{Blob, can_devour, can_merge, drive, heading, radius, split};
use crate::{BLOBS_MAX, EDGE, MASS_MAX, PELLET_MASS, STEER_FULL, STEER_REACH, decay};
use aether::prelude::*;
use aether::space::{Grid, IndexedPoint, NearbyEntity, SpatialIndex, WorldBounds};
use std::collections::BTreeMap;

/// Typical query radius; it affects only the speed of queries.
const REACH: f32 = 100.0;

/// Blob in a dish.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Number of its eater.
    pub eater: u32,
    /// The blob.
    pub blob: Blob,
    /// True if it was eaten or merged. It keeps its index until [`Dish::tidy`].
    pub is_gone: bool,
}

/// Blob that was eaten by another eater's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devoured {
    /// Index of the prey.
    pub prey: usize,
    /// Index of the blob that ate it.
    pub by: usize,
}

/// All blobs of a room.
#[derive(Debug)]
pub struct Dish {
    /// Blobs. New ones are added at the end.
    pub pieces: Vec<Piece>,
    index: Grid,
    points: Vec<IndexedPoint>,
    found: Vec<NearbyEntity>,
}

impl Default for Dish {
    fn default() -> Self {
        let bounds = WorldBounds { min: [-EDGE; 2], max: [EDGE; 2] };
        let index = Grid::new(bounds, REACH).expect("these bounds and this radius are valid");
        Dish { pieces: Vec::new(), index, points: Vec::new(), found: Vec::new() }
    }
}

impl Piece {
    /// Creates a blob of an eater.
    #[must_use]
    pub fn new(eater: u32, blob: Blob) -> Piece {
        Piece { eater, blob, is_gone: false }
    }
}

impl Dish {
    /// Returns the mass of all blobs.
    #[must_use]
    pub fn mass(&self) -> u64 {
        self.alive().map(|(_, piece)| u64::from(piece.blob.mass)).sum()
    }

    /// Iterates over the remaining blobs with their indexes.
    pub fn alive(&self) -> impl Iterator<Item = (usize, &Piece)> {
        self.pieces.iter().enumerate().filter(|(_, piece)| !piece.is_gone)
    }

    /// Removes the blobs that are gone.
    pub fn tidy(&mut self) {
        self.pieces.retain(|piece| !piece.is_gone);
    }

    /// Splits every blob of an eater that is heavy enough, up to the maximum number of blobs.
    pub fn split(&mut self, eater: u32, aim: [f32; 2], now: u32) {
        let mut parts: Vec<usize> =
            self.alive().filter(|(_, piece)| piece.eater == eater).map(|(index, _)| index).collect();
        let mut count = parts.len();
        parts.sort_by_key(|&index| std::cmp::Reverse(self.pieces[index].blob.mass));
        for index in parts {
            if count >= BLOBS_MAX {
                return;
            }
            if let Some(part) = split(&mut self.pieces[index].blob, aim, now) {
                self.pieces.push(Piece::new(eater, part));
                count += 1;
            }
        }
    }

    /// Moves every blob towards its eater's target, which is relative to the center of all its blobs.
    pub fn drive(&mut self, mut aim_of: impl FnMut(u32) -> [f32; 2], seconds: f32) {
        let middles = self.middles();
        for piece in self.pieces.iter_mut().filter(|piece| !piece.is_gone) {
            let middle = middles.get(&piece.eater).copied().unwrap_or(piece.blob.position);
            let aim = heading(aim_of(piece.eater));
            let offset = [0, 1].map(|axis| middle[axis] + aim[axis] * STEER_REACH - piece.blob.position[axis]);
            drive(&mut piece.blob, offset.map(|part| part / STEER_FULL), seconds);
        }
    }

    /// Merges the blobs of each eater, or pushes them apart.
    pub fn merge_or_separate(&mut self, now: u32) {
        let mut eaters: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, piece) in self.alive() {
            eaters.entry(piece.eater).or_default().push(index);
        }
        for parts in eaters.values() {
            for (at, &one) in parts.iter().enumerate() {
                for &other in &parts[at + 1..] {
                    self.merge_or_push(one, other, now);
                }
            }
        }
    }

    /// Feeds the blobs with pellets. `eaten` receives the indexes of eaten pellets, each once.
    pub fn feed(&mut self, pellets: &[[f32; 2]], eaten: &mut Vec<usize>) {
        eaten.clear();
        let positions = pellets.iter().enumerate();
        self.points.clear();
        self.points.extend(positions.map(|(index, &[x, y])| IndexedPoint { slot: index as u32, x, y }));
        self.index.rebuild(&self.points);
        let mut is_eaten = vec![false; pellets.len()];
        for piece in self.pieces.iter_mut().filter(|piece| !piece.is_gone) {
            self.index.within(piece.blob.position, radius(piece.blob.mass), &mut self.found);
            for near in &self.found {
                let is_eaten = &mut is_eaten[near.slot as usize];
                if !*is_eaten && piece.blob.mass + PELLET_MASS <= MASS_MAX {
                    *is_eaten = true;
                    piece.blob.mass += PELLET_MASS;
                    eaten.push(near.slot as usize);
                }
            }
        }
        eaten.sort_unstable();
    }

    /// Lets blobs eat those of other eaters, the heaviest first.
    pub fn devour(&mut self) -> Vec<Devoured> {
        self.points.clear();
        let pieces = self.pieces.iter().enumerate().filter(|(_, piece)| !piece.is_gone);
        self.points.extend(pieces.map(|(index, piece)| {
            let [x, y] = piece.blob.position;
            IndexedPoint { slot: index as u32, x, y }
        }));
        self.index.rebuild(&self.points);
        let mut order: Vec<usize> = self.points.iter().map(|point| point.slot as usize).collect();
        order.sort_by_key(|&index| (std::cmp::Reverse(self.pieces[index].blob.mass), index));
        let mut devoured = Vec::new();
        for eater in order {
            if self.pieces[eater].is_gone {
                continue;
            }
            let Blob { position, mass, .. } = self.pieces[eater].blob;
            self.index.within(position, radius(mass), &mut self.found);
            self.found.sort_unstable_by(NearbyEntity::compare);
            let found = std::mem::take(&mut self.found);
            for near in &found {
                if self.swallow(eater, near.slot as usize) {
                    devoured.push(Devoured { prey: near.slot as usize, by: eater });
                }
            }
            self.found = found;
        }
        devoured
    }

    /// Applies the decay of mass. Returns the lost mass.
    pub fn decay(&mut self) -> u64 {
        let mut lost = 0;
        for piece in self.pieces.iter_mut().filter(|piece| !piece.is_gone) {
            let loss = decay(piece.blob.mass);
            piece.blob.mass -= loss;
            lost += u64::from(loss);
        }
        lost
    }

    /// Returns the center of mass of each eater.
    fn middles(&self) -> BTreeMap<u32, [f32; 2]> {
        let mut sums: BTreeMap<u32, [f64; 3]> = BTreeMap::new();
        for (_, Piece { eater, blob, .. }) in self.alive() {
            let (mass, [x, y]) = (f64::from(blob.mass.max(1)), blob.position.map(f64::from));
            let sum = sums.entry(*eater).or_default();
            *sum = [sum[0] + x * mass, sum[1] + y * mass, sum[2] + mass];
        }
        sums.into_iter().map(|(eater, [x, y, mass])| (eater, [(x / mass) as f32, (y / mass) as f32])).collect()
    }

    /// Lets one blob eat another eater's blob, if it can.
    fn swallow(&mut self, eater: usize, prey: usize) -> bool {
        let Ok([eater, prey]) = self.pieces.get_disjoint_mut([eater, prey]) else { return false };
        let may = eater.eater != prey.eater && !eater.is_gone && !prey.is_gone;
        if !may || !can_devour(&eater.blob, &prey.blob) {
            return false;
        }
        eater.blob.mass += prey.blob.mass;
        prey.is_gone = true;
        true
    }

    /// Merges two blobs of one eater, or pushes them apart.
    fn merge_or_push(&mut self, one: usize, other: usize, now: u32) {
        let Ok([one, other]) = self.pieces.get_disjoint_mut([one, other]) else { return };
        if one.is_gone || other.is_gone {
            return;
        }
        if can_merge(&one.blob, &other.blob, now) {
            let (large, small) = if one.blob.mass >= other.blob.mass { (one, other) } else { (other, one) };
            large.blob.mass += small.blob.mass;
            small.is_gone = true;
        } else if now < one.blob.merges_at.max(other.blob.merges_at) && is_calm(&one.blob) && is_calm(&other.blob) {
            push_apart(&mut one.blob, &mut other.blob);
        }
    }
}

/// Returns whether the thrust of a split is over.
fn is_calm(blob: &Blob) -> bool {
    blob.thrust == [0.0; 2]
}

/// Moves two overlapping blobs so that they touch, the lighter one more.
fn push_apart(one: &mut Blob, other: &mut Blob) {
    let offset = [other.position[0] - one.position[0], other.position[1] - one.position[1]];
    let distance = (offset[0] * offset[0] + offset[1] * offset[1]).sqrt();
    let overlap = radius(one.mass) + radius(other.mass) - distance;
    if overlap <= 0.0 {
        return;
    }
    // Two blobs at the same position separate along the first axis.
    let direction = if distance > 0.0 { offset.map(|part| part / distance) } else { [1.0, 0.0] };
    let share = other.mass as f32 / (one.mass + other.mass).max(1) as f32;
    let pushed = |from: [f32; 2], by: f32| [0, 1].map(|axis| (from[axis] + direction[axis] * by).clamp(-EDGE, EDGE));
    one.position = pushed(one.position, -overlap * share);
    other.position = pushed(other.position, overlap * (1.0 - share));
    one.snap();
    other.snap();
}
