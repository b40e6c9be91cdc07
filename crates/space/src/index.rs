//! Interface of spatial indexes.

use std::cmp::Ordering;

/// Position of an entity, as input of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IndexedPoint {
    /// Slot of the entity. An index expects each slot once, and slots to be small, dense numbers.
    pub slot: u32,
    /// First coordinate.
    pub x: f32,
    /// Second coordinate.
    pub y: f32,
}

/// An entity found by a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NearbyEntity {
    /// Slot of the entity.
    pub slot: u32,
    /// Square of the distance from the center of the query.
    pub distance_squared: f32,
}

impl NearbyEntity {
    /// Orders by distance, then by slot.
    pub fn compare(&self, other: &Self) -> Ordering {
        (self.distance_squared.total_cmp(&other.distance_squared)).then(self.slot.cmp(&other.slot))
    }
}

/// Points that are adjacent in an index, as three slices of the same length.
#[derive(Clone, Copy, Debug)]
pub struct PointRun<'a> {
    /// First coordinates.
    pub x: &'a [f32],
    /// Second coordinates.
    pub y: &'a [f32],
    /// Slots.
    pub slot: &'a [u32],
}

/// A spatial index over points. All of them may move, so it is rebuilt every tick.
///
/// An implementation provides [`rebuild`](Self::rebuild) and [`visit_runs`](Self::visit_runs). The queries use them and
/// are the same for all indexes. There are no allocations in steady state.
///
/// A point with a coordinate that is not finite is omitted. A query finds nothing if its center is not finite or its
/// radius is negative or NaN. An infinite radius finds every point.
pub trait SpatialIndex {
    /// Replaces all points.
    fn rebuild(&mut self, points: &[IndexedPoint]);

    /// Number of points in the index, without omitted ones.
    fn len(&self) -> usize;

    /// True if the index has no points.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the largest slot of the last rebuild, or zero.
    fn slot_end(&self) -> usize;

    /// Approximate distance between neighbours if all points were spread evenly.
    fn spacing(&self) -> f32;

    /// Visits runs of points that together contain every point within `radius` of `center` once. They may contain other
    /// points too. The visitor compares distances, many at a time because a run is contiguous.
    fn visit_runs(&self, center: [f32; 2], radius: f32, visit: impl FnMut(PointRun<'_>));

    /// Fills `found` with all points within `radius` of `center`, the border included, in no particular order. `found`
    /// is cleared first.
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

    /// Fills `found` with the `count` nearest points within `radius` of `center`, nearest first. Points at the same
    /// distance are in slot order. `found` is cleared first.
    fn nearest(&self, center: [f32; 2], radius: f32, count: usize, found: &mut Vec<NearbyEntity>) {
        found.clear();
        if count == 0 {
            return;
        }
        if count < self.len() {
            // A small circle usually contains enough points.
            let mut reach = self.spacing() * (count as f32).sqrt();
            while reach > 0.0 && reach < radius {
                self.within(center, reach, found);
                if found.len() >= count {
                    truncate_to_nearest(found, count);
                    return;
                }
                reach *= 2.0;
            }
        }
        self.within(center, radius, found);
        truncate_to_nearest(found, count);
    }
}

/// Returns the squared distance that all queries compare. Tests use it too, so that a point on a border is on the same
/// side everywhere.
#[inline]
pub fn distance_squared(center: [f32; 2], x: f32, y: f32) -> f32 {
    let (dx, dy) = (x - center[0], y - center[1]);
    dx * dx + dy * dy
}

/// True if a query can find anything.
pub(crate) fn is_valid_query(center: [f32; 2], radius: f32) -> bool {
    center[0].is_finite() && center[1].is_finite() && radius >= 0.0
}

/// Returns the smaller number, or the second one if one of them is NaN. Unlike `f32::min`, this is a single
/// instruction.
#[inline]
pub(crate) fn least(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Returns the greater number; see [`least`].
#[inline]
pub(crate) fn most(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Sorts the `count` nearest to the front and removes the others.
fn truncate_to_nearest(found: &mut Vec<NearbyEntity>, count: usize) {
    if count < found.len() {
        found.select_nth_unstable_by(count, NearbyEntity::compare);
        found.truncate(count);
    }
    found.sort_unstable_by(NearbyEntity::compare);
}
