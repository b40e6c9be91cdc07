//! All blobs together: who pushes, eats and grows into whom.

use crate::blob::{Blob, can_devour, can_merge, drive, heading, radius, split};
use crate::{BLOBS_MAX, EDGE, MASS_MAX, PELLET_MASS, STEER_FULL, STEER_REACH, decay};
use aether_bits::Replicate;
use aether_space::{Grid, IndexedPoint, NearbyEntity, SpatialIndex, WorldBounds};
use std::collections::BTreeMap;

/// About how far queries reach; it only decides how fast they are.
const REACH: f32 = 100.0;

/// One blob in a dish.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The number of its eater.
    pub eater: u32,
    /// The blob.
    pub blob: Blob,
    /// Whether it was eaten or has grown into another. It stays in its place until the dish is tidied.
    pub is_gone: bool,
}

/// A piece that was eaten by one of another eater.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Devoured {
    /// The index of the prey.
    pub prey: usize,
    /// The index of the one that ate it.
    pub by: usize,
}

/// All blobs of a room.
#[derive(Debug)]
pub struct Dish {
    /// The blobs. New ones are added at the end.
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
    /// A blob of an eater.
    #[must_use]
    pub fn new(eater: u32, blob: Blob) -> Piece {
        Piece { eater, blob, is_gone: false }
    }
}

impl Dish {
    /// The mass of all blobs.
    #[must_use]
    pub fn mass(&self) -> u64 {
        self.alive().map(|(_, piece)| u64::from(piece.blob.mass)).sum()
    }

    /// The blobs that are there, with their indexes.
    pub fn alive(&self) -> impl Iterator<Item = (usize, &Piece)> {
        self.pieces.iter().enumerate().filter(|(_, piece)| !piece.is_gone)
    }

    /// Forgets the blobs that are gone.
    pub fn tidy(&mut self) {
        self.pieces.retain(|piece| !piece.is_gone);
    }

    /// Splits every blob of an eater that is heavy enough, as long as it has not too many.
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

    /// Moves every blob to where its eater aims, which is seen from the middle of all its blobs.
    pub fn drive(&mut self, mut aim_of: impl FnMut(u32) -> [f32; 2], seconds: f32) {
        let middles = self.middles();
        for piece in self.pieces.iter_mut().filter(|piece| !piece.is_gone) {
            let middle = middles.get(&piece.eater).copied().unwrap_or(piece.blob.position);
            let aim = heading(aim_of(piece.eater));
            let way = [0, 1].map(|axis| middle[axis] + aim[axis] * STEER_REACH - piece.blob.position[axis]);
            drive(&mut piece.blob, way.map(|part| part / STEER_FULL), seconds);
        }
    }

    /// Lets the parts of each eater grow together or push each other aside.
    pub fn huddle(&mut self, now: u32) {
        let mut eaters: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, piece) in self.alive() {
            eaters.entry(piece.eater).or_default().push(index);
        }
        for parts in eaters.values() {
            for (at, &one) in parts.iter().enumerate() {
                for &other in &parts[at + 1..] {
                    self.meet(one, other, now);
                }
            }
        }
    }

    /// Feeds the blobs with pellets. `eaten` gets the indexes of those that are gone, each once.
    pub fn feed(&mut self, pellets: &[[f32; 2]], eaten: &mut Vec<usize>) {
        eaten.clear();
        let places = pellets.iter().enumerate();
        self.points.clear();
        self.points.extend(places.map(|(index, &[x, y])| IndexedPoint { slot: index as u32, x, y }));
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

    /// Lets blobs eat those of others, the heaviest first.
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

    /// Takes off what blobs lose with time; tells how much that is.
    pub fn decay(&mut self) -> u64 {
        let mut lost = 0;
        for piece in self.pieces.iter_mut().filter(|piece| !piece.is_gone) {
            let loss = decay(piece.blob.mass);
            piece.blob.mass -= loss;
            lost += u64::from(loss);
        }
        lost
    }

    /// The middle of each eater, by mass.
    fn middles(&self) -> BTreeMap<u32, [f32; 2]> {
        let mut sums: BTreeMap<u32, [f64; 3]> = BTreeMap::new();
        for (_, Piece { eater, blob, .. }) in self.alive() {
            let (mass, [x, y]) = (f64::from(blob.mass.max(1)), blob.position.map(f64::from));
            let sum = sums.entry(*eater).or_default();
            *sum = [sum[0] + x * mass, sum[1] + y * mass, sum[2] + mass];
        }
        sums.into_iter().map(|(eater, [x, y, mass])| (eater, [(x / mass) as f32, (y / mass) as f32])).collect()
    }

    /// Lets one blob eat another of another eater, if it can.
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

    /// Two parts of one eater: they grow together, or push each other aside.
    fn meet(&mut self, one: usize, other: usize, now: u32) {
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

/// Whether a blob no longer shoots out of another.
fn is_calm(blob: &Blob) -> bool {
    blob.thrust == [0.0; 2]
}

/// Moves two blobs so that they touch, the lighter one more.
fn push_apart(one: &mut Blob, other: &mut Blob) {
    let way = [other.position[0] - one.position[0], other.position[1] - one.position[1]];
    let distance = (way[0] * way[0] + way[1] * way[1]).sqrt();
    let overlap = radius(one.mass) + radius(other.mass) - distance;
    if overlap <= 0.0 {
        return;
    }
    // Two on the very same spot part along the first axis.
    let way = if distance > 0.0 { way.map(|part| part / distance) } else { [1.0, 0.0] };
    let share = other.mass as f32 / (one.mass + other.mass).max(1) as f32;
    let pushed = |from: [f32; 2], by: f32| [0, 1].map(|axis| (from[axis] + way[axis] * by).clamp(-EDGE, EDGE));
    one.position = pushed(one.position, -overlap * share);
    other.position = pushed(other.position, overlap * (1.0 - share));
    one.snap();
    other.snap();
}
