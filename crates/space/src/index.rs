//! The interface that all spatial indexes share.

use std::cmp::Ordering;

/// An entity's place, as an index takes it in.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IndexedPoint {
    /// The entity's slot. An index expects each slot once, and slots to be small, dense numbers.
    pub slot: u32,
    /// The first coordinate.
    pub x: f32,
    /// The second coordinate.
    pub y: f32,
}

/// An entity that a query found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearbyEntity {
    /// The entity's slot.
    pub slot: u32,
    /// The square of its distance from the center of the query.
    pub distance_squared: f32,
}

impl NearbyEntity {
    /// Orders by distance, and by slot where the distance is the same.
    pub fn compare(&self, other: &Self) -> Ordering {
        (self.distance_squared.total_cmp(&other.distance_squared)).then(self.slot.cmp(&other.slot))
    }
}

/// Points that lie side by side in an index, as three slices of the same length.
#[derive(Clone, Copy, Debug)]
pub struct PointRun<'a> {
    /// The first coordinates.
    pub x: &'a [f32],
    /// The second coordinates.
    pub y: &'a [f32],
    /// The slots.
    pub slot: &'a [u32],
}

/// A spatial index over points that all move, so it is rebuilt as a whole every tick.
///
/// An implementation gives [`rebuild`](Self::rebuild) and [`visit_runs`](Self::visit_runs); the
/// queries follow from them and are the same for all. Nothing allocates in steady state.
///
/// A point with a coordinate that is not finite is left out. A query whose center is not finite, or
/// whose radius is negative or not a number, finds nothing. An infinite radius finds everything.
pub trait SpatialIndex {
    /// Forgets all points and takes in these.
    fn rebuild(&mut self, points: &[IndexedPoint]);

    /// How many points are in the index, without those left out.
    fn len(&self) -> usize;

    /// Whether no point is in the index.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest slot of the last rebuild, or zero.
    fn slot_end(&self) -> usize;

    /// About the distance from a point to its neighbours if all were spread evenly.
    fn spacing(&self) -> f32;

    /// Visits runs of points that together hold every point within `radius` of `center`, each once.
    /// They may hold others too: the visitor compares distances itself, which it can do many at a
    /// time because a run is contiguous.
    fn visit_runs(&self, center: [f32; 2], radius: f32, visit: impl FnMut(PointRun<'_>));

    /// Fills `found` with all points within `radius` of `center`, the border included, in no
    /// particular order. `found` is cleared first.
    fn within(&self, center: [f32; 2], radius: f32, found: &mut Vec<NearbyEntity>) {
        found.clear();
        let radius_squared = radius * radius;
        self.visit_runs(center, radius, |run| {
            for ((&x, &y), &slot) in run.x.iter().zip(run.y).zip(run.slot) {
                let distance_squared = distance_squared(center, x, y);
                if distance_squared <= radius_squared {
                    found.push(NearbyEntity { slot, distance_squared });
                }
            }
        });
    }

    /// Fills `found` with the `count` nearest points within `radius` of `center`, nearest first;
    /// of points at the same distance the lower slot comes first. `found` is cleared first.
    fn nearest(&self, center: [f32; 2], radius: f32, count: usize, found: &mut Vec<NearbyEntity>) {
        found.clear();
        if count == 0 {
            return;
        }
        if count < self.len() {
            // Most of the time a small circle already holds enough points.
            let mut reach = self.spacing() * (count as f32).sqrt();
            while reach > 0.0 && reach < radius {
                self.within(center, reach, found);
                if found.len() >= count {
                    keep_nearest(found, count);
                    return;
                }
                reach *= 2.0;
            }
        }
        self.within(center, radius, found);
        keep_nearest(found, count);
    }
}

/// The square of the distance that all queries compare with; tests use it too, so that a point
/// exactly on a border falls on the same side everywhere.
#[inline]
pub fn distance_squared(center: [f32; 2], x: f32, y: f32) -> f32 {
    let (dx, dy) = (x - center[0], y - center[1]);
    dx * dx + dy * dy
}

/// Whether a query can find anything at all.
pub(crate) fn is_query(center: [f32; 2], radius: f32) -> bool {
    center[0].is_finite() && center[1].is_finite() && radius >= 0.0
}

/// The lesser of two numbers, and the second one if one of them is not a number. Unlike `f32::min` it
/// is a single instruction.
#[inline]
pub(crate) fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The greater of two numbers; see [`least`].
#[inline]
pub(crate) fn most(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Sorts the `count` nearest to the front and drops the others.
fn keep_nearest(found: &mut Vec<NearbyEntity>, count: usize) {
    if count < found.len() {
        found.select_nth_unstable_by(count, NearbyEntity::compare);
        found.truncate(count);
    }
    found.sort_unstable_by(NearbyEntity::compare);
}
