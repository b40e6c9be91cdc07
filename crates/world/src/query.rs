//! Spatial queries of games, on present and past positions.

use crate::World;
use crate::rewind::PastPositions;
use aether_bits::Component;
use aether_bits::runtime::ComponentHandle;
use aether_space::{QueryArea, QueryGrid, QueryPoint, WorldBounds};
use aether_wire::EntityId;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Factor by which a query extends its area, so that rounding never loses a point on the border.
const REACH_FACTOR: f32 = 1.0 + 1e-5;
/// Minimum extent, for radii whose square underflows.
const REACH_MIN: f32 = 1e-18;
/// Error of an interpolated coordinate, relative to the coordinates.
const INTERPOLATION_ERROR: f32 = 1e-6;
/// First radius of the search for the nearest entities, relative to the side of a square that contains as many if all
/// were spread evenly: the circle then contains half as many again.
const NEAREST_REACH: f32 = 0.7;
/// Factor by which the search for the nearest entities grows, until it has found enough.
const NEAREST_GROWTH: f32 = 2.0;

/// An entity found by a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundEntity {
    /// The entity. If the query was about the past, it may have been despawned since.
    pub entity: EntityId,
    /// Position at the time of the query. The third coordinate is zero in a world with two.
    pub position: [f32; 3],
    /// Distance from the center of the query. For a ray, the distance along it; for a box, zero.
    pub distance: f32,
}

/// Queries on the positions of all entities at one time: now, or as a client saw them.
///
/// A position is a vector of two or three coordinates, and so is the argument of a query. A query with two coordinates
/// ignores the third one of the entities. If an argument is not finite or a length is negative, nothing is found; only
/// a radius or length may be infinite.
///
/// The results are written to a vector of the caller, which is cleared first. Their order depends only on the entities,
/// so it is the same in a replay. The index is built by the first query of a tick; once its memory has grown, a query
/// allocates nothing.
#[derive(Clone, Copy)]
pub struct SpatialQuery<'a> {
    world: &'a World,
    index: &'a QueryIndex,
    /// Positions to interpolate, if the query is about the past.
    past: Option<PastPositions<'a>>,
    /// Components that the entities must have.
    mask: u32,
    /// True if no entity can match, because a component is not declared.
    is_empty: bool,
}

impl<'a> SpatialQuery<'a> {
    pub(crate) fn new(world: &'a World, index: &'a QueryIndex, past: Option<PastPositions<'a>>) -> Self {
        SpatialQuery { world, index, past, mask: 0, is_empty: false }
    }

    /// Finds only entities that have this component now. An entity that was despawned since has none.
    #[must_use]
    pub fn with<C: Component>(self) -> Self {
        self.with_index(self.world.component_index::<C>())
    }

    /// Finds only entities that have this component, which was declared at run time, now.
    #[must_use]
    pub fn with_record(self, component: ComponentHandle) -> Self {
        self.with_index(self.world.described(component).map(|_| component.index()))
    }

    fn with_index(mut self, index: Option<usize>) -> Self {
        match index {
            Some(index) => self.mask |= 1 << index,
            None => self.is_empty = true,
        }
        self
    }

    /// Finds all entities within `radius` of `center`, the border included, in slot order.
    pub fn near(&self, center: impl QueryVector, radius: f32, found: &mut Vec<FoundEntity>) {
        found.clear();
        self.find_near(center.to_query(), radius, found);
        found.sort_unstable_by_key(|found| found.entity.slot);
    }

    /// Finds the `count` nearest entities within `radius` of `center`, nearest first. Entities at the same distance are
    /// in slot order.
    pub fn nearest(&self, center: impl QueryVector, radius: f32, count: usize, found: &mut Vec<FoundEntity>) {
        found.clear();
        if count == 0 {
            return;
        }
        let center = center.to_query();
        let points = self.index.len();
        // A small circle usually contains enough entities.
        let mut reach = if count < points {
            self.index.grid.spacing(points) * (count as f32).sqrt() * NEAREST_REACH
        } else {
            radius
        };
        loop {
            let is_last = reach >= radius || radius.is_nan();
            let visited = self.find_near(center, if is_last { radius } else { reach }, found);
            if is_last || found.len() >= count {
                break;
            }
            found.clear();
            reach = if visited == points { radius } else { reach * NEAREST_GROWTH };
        }
        truncate_to_nearest(found, count);
    }

    /// Finds all entities in a rectangle, or in a box if the corners have three coordinates, the border included, in
    /// slot order.
    pub fn in_rect<V: QueryVector>(&self, min: V, max: V, found: &mut Vec<FoundEntity>) {
        found.clear();
        let (min, max) = (min.to_query(), max.to_query());
        if !(min.is_finite() && max.is_finite()) {
            return;
        }
        let area = QueryArea::Box { min: [min.at[0], min.at[1]], max: [max.at[0], max.at[1]] };
        self.scan(area, found, |position| {
            let is_inside = |axis: usize| min.at[axis] <= position[axis] && position[axis] <= max.at[axis];
            (is_inside(0) && is_inside(1) && (min.depth == 0.0 || is_inside(2))).then_some(0.0)
        });
        found.sort_unstable_by_key(|found| found.entity.slot);
    }

    /// Finds all entities that a ray hits: those whose position is within `radius` of the line of this `length` from
    /// `origin`. They are in the order in which the ray comes within `radius` of them, and `distance` is the length at
    /// which it does. The direction need not have length one.
    pub fn ray<V: QueryVector>(&self, origin: V, direction: V, length: f32, radius: f32, found: &mut Vec<FoundEntity>) {
        found.clear();
        let (origin, direction) = (origin.to_query(), direction.to_query());
        let size = direction.length();
        if !(origin.is_finite() && size.is_normal() && length >= 0.0 && radius >= 0.0) {
            return;
        }
        let direction = direction.at.map(|coordinate| coordinate / size);
        let area = QueryArea::Ray {
            origin: [origin.at[0], origin.at[1]],
            direction: [direction[0], direction[1]],
            length: length.min(self.index.farthest(origin.at)),
            reach: radius * REACH_FACTOR + REACH_MIN,
        };
        self.scan(area, found, |position| {
            let offset = origin.offset(position);
            let along = dot(offset, direction);
            let beside = [0, 1, 2].map(|axis| offset[axis] - direction[axis] * along);
            // Half of the part of the line that is within the radius.
            let half = (radius * radius - dot(beside, beside)).sqrt();
            (along - half <= length && along + half >= 0.0).then(|| (along - half).max(0.0))
        });
        found.sort_unstable_by(compare);
    }

    /// Adds all entities within a radius. Returns the number of visited points.
    fn find_near(&self, center: QueryPosition, radius: f32, found: &mut Vec<FoundEntity>) -> usize {
        if !(center.is_finite() && radius >= 0.0) {
            return self.index.len();
        }
        let reach = radius * REACH_FACTOR + REACH_MIN;
        // If squares overflow, every point may count as within the radius.
        let reach = if (reach * reach).is_finite() { reach } else { f32::INFINITY };
        let radius_squared = radius * radius;
        let area = QueryArea::Box {
            min: [center.at[0] - reach, center.at[1] - reach],
            max: [center.at[0] + reach, center.at[1] + reach],
        };
        self.scan(area, found, |position| {
            let offset = center.offset(position);
            let distance_squared = dot(offset, offset);
            (distance_squared <= radius_squared).then(|| distance_squared.sqrt())
        })
    }

    /// Adds all entities of the area whose position passes the test, which returns the distance. Returns the number of
    /// visited points.
    fn scan(
        &self,
        area: QueryArea,
        found: &mut Vec<FoundEntity>,
        mut test: impl FnMut([f32; 3]) -> Option<f32>,
    ) -> usize {
        if self.is_empty {
            return self.index.len();
        }
        let mut visited = 0;
        match &self.past {
            None => self.index.grid.visit(&area, |run| {
                visited += run.len();
                for &(slot, position) in run {
                    if let Some(distance) = test(position)
                        && let Some(entity) = self.world.entity_at(slot)
                        && self.has_components(slot)
                    {
                        found.push(FoundEntity { entity, position, distance });
                    }
                }
            }),
            Some(past) => {
                let mut check = |slot| {
                    if let Some((entity, position)) = past.at(slot)
                        && let Some(distance) = test(position)
                        && (self.mask == 0 || self.world.contains(entity) && self.has_components(slot))
                    {
                        found.push(FoundEntity { entity, position, distance });
                    }
                };
                self.index.grid.visit(&self.index.extended(area), |run| {
                    visited += run.len();
                    run.iter().for_each(|&(slot, _)| check(slot));
                });
                visited += self.index.leapers.len();
                self.index.leapers.iter().for_each(|&slot| check(slot));
            }
        }
        visited
    }

    fn has_components(&self, slot: u32) -> bool {
        self.world.shape(slot) & self.mask == self.mask
    }
}

/// Coordinates of a query: `[f32; 2]` or `[f32; 3]`.
pub trait QueryVector: sealed::ToQuery {}

impl QueryVector for [f32; 2] {}
impl QueryVector for [f32; 3] {}

mod sealed {
    use super::QueryPosition;

    /// Conversion to the form that all queries use.
    pub trait ToQuery {
        fn to_query(self) -> QueryPosition;
    }

    impl ToQuery for [f32; 2] {
        fn to_query(self) -> QueryPosition {
            QueryPosition { at: [self[0], self[1], 0.0], depth: 0.0 }
        }
    }

    impl ToQuery for [f32; 3] {
        fn to_query(self) -> QueryPosition {
            QueryPosition { at: self, depth: 1.0 }
        }
    }
}

/// A position in the query of a game.
#[derive(Clone, Copy, Debug)]
pub struct QueryPosition {
    at: [f32; 3],
    /// Weight of the third coordinate: one, or zero in a query with two.
    depth: f32,
}

impl QueryPosition {
    fn is_finite(self) -> bool {
        self.at.iter().all(|coordinate| coordinate.is_finite())
    }

    fn length(self) -> f32 {
        dot(self.at, self.at).sqrt()
    }

    fn offset(self, position: [f32; 3]) -> [f32; 3] {
        [position[0] - self.at[0], position[1] - self.at[1], (position[2] - self.at[2]) * self.depth]
    }
}

/// Index of the positions of one tick.
#[derive(Debug)]
pub(crate) struct QueryIndex {
    grid: QueryGrid,
    /// Past ticks: slots whose entity moved far until the next tick. They are not in the grid.
    leapers: Vec<u32>,
    /// Past ticks: farthest way of the other entities until the next tick.
    step_max: f32,
}

impl QueryIndex {
    fn new(bounds: WorldBounds) -> Self {
        QueryIndex { grid: QueryGrid::new(bounds), leapers: Vec::new(), step_max: 0.0 }
    }

    fn len(&self) -> usize {
        self.grid.len() + self.leapers.len()
    }

    /// Indexes present positions.
    pub fn rebuild(&mut self, expected: usize, points: impl Iterator<Item = QueryPoint> + Clone) {
        self.leapers.clear();
        self.step_max = 0.0;
        self.grid.rebuild(expected, points);
    }

    /// Indexes past positions. `step` returns the way of a slot's entity until the next tick.
    ///
    /// A query looks around its area as far as an entity may move within the tick. Entities that moved farther than the
    /// distance between neighbours, for example to another place, are kept apart so that this stays short.
    pub fn rebuild_past(
        &mut self,
        expected: usize,
        points: impl Iterator<Item = QueryPoint> + Clone,
        step: impl Fn(u32) -> f32 + Copy,
    ) {
        let limit = self.grid.spacing(expected);
        self.leapers.clear();
        self.step_max = 0.0;
        for (slot, _) in points.clone() {
            match step(slot) {
                way if way <= limit => self.step_max = self.step_max.max(way),
                _ => self.leapers.push(slot),
            }
        }
        self.grid.rebuild(expected, points.filter(move |&(slot, _)| step(slot) <= limit));
    }

    /// Upper bound of the distance between a position and a point of the grid.
    fn farthest(&self, from: [f32; 3]) -> f32 {
        from.iter().map(|coordinate| coordinate.abs()).sum::<f32>() + 3.0 * (self.grid.extent() + self.step_max)
    }

    /// Extends an area by the way of an entity within the tick.
    fn extended(&self, area: QueryArea) -> QueryArea {
        let way = self.step_max * REACH_FACTOR + (self.grid.extent() + self.step_max) * INTERPOLATION_ERROR;
        match area {
            QueryArea::Box { min, max } => {
                QueryArea::Box { min: min.map(|low| low - way), max: max.map(|high| high + way) }
            }
            QueryArea::Ray { origin, direction, length, reach } => {
                QueryArea::Ray { origin, direction, length, reach: reach + way }
            }
        }
    }
}

/// An index that is built by the first query, and whose memory is reused.
#[derive(Debug, Default)]
pub(crate) struct LazyIndex {
    built: OnceLock<QueryIndex>,
    spare: Mutex<Option<QueryIndex>>,
}

impl LazyIndex {
    /// Returns the index. The first call builds it.
    pub fn get(&self, bounds: WorldBounds, build: impl FnOnce(&mut QueryIndex)) -> &QueryIndex {
        self.built.get_or_init(|| {
            let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
            let mut index = spare.unwrap_or_else(|| QueryIndex::new(bounds));
            build(&mut index);
            index
        })
    }

    /// Forgets the index and keeps its memory.
    pub fn clear(&mut self) {
        if let Some(index) = self.built.take() {
            *self.spare.get_mut().unwrap_or_else(PoisonError::into_inner) = Some(index);
        }
    }
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn compare(a: &FoundEntity, b: &FoundEntity) -> std::cmp::Ordering {
    a.distance.total_cmp(&b.distance).then(a.entity.slot.cmp(&b.entity.slot))
}

/// Sorts the `count` nearest to the front and removes the others.
fn truncate_to_nearest(found: &mut Vec<FoundEntity>, count: usize) {
    if count < found.len() {
        found.select_nth_unstable_by(count, compare);
        found.truncate(count);
    }
    found.sort_unstable_by(compare);
}
