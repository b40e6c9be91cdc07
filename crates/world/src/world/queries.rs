//! Spatial queries, and the third coordinate of positions.

use super::World;
use crate::query::SpatialQuery;
use aether_wire::{EntityId, Tick};

/// Spatial queries of games.
impl World {
    /// Returns queries on the positions of all entities, as of the last [`World::settle`]. Entities that were despawned
    /// since are not found, and new ones not yet.
    ///
    /// ```
    /// # use aether_bits::Replicate;
    /// # use aether_world::World;
    /// #[derive(Clone, Replicate)]
    /// #[replicate(position = position)]
    /// struct Ship {
    ///     #[replicate(range = -100.0..=100.0, step = 0.01)]
    ///     position: [f32; 2],
    /// }
    ///
    /// let mut world = World::builder().component::<Ship>().build();
    /// world.advance();
    /// let near = world.spawn(Ship { position: [3.0, 4.0] })?;
    /// let far = world.spawn(Ship { position: [80.0, 0.0] })?;
    /// world.settle();
    ///
    /// let mut found = Vec::new();
    /// world.query().near([0.0, 0.0], 10.0, &mut found);
    /// assert_eq!((found.len(), found[0].entity, found[0].distance), (1, near, 5.0));
    /// world.query().with::<Ship>().ray([0.0, 0.0], [1.0, 0.0], 100.0, 1.0, &mut found);
    /// assert_eq!((found.len(), found[0].entity), (1, far));
    /// # Ok::<(), aether_world::SpawnError>(())
    /// ```
    #[must_use]
    pub fn query(&self) -> SpatialQuery<'_> {
        let index = self.query_index.get(self.bounds, |index| {
            let points = self.positions.points();
            let third = |slot| self.positions.third(slot);
            index.rebuild(points.len(), points.iter().map(|point| (point.slot, [point.x, point.y, third(point.slot)])));
        });
        SpatialQuery::new(self, index, None)
    }

    /// Returns queries on the positions at `tick` plus a `fraction` of a tick, interpolated as on a client. The limits
    /// are those of [`Rewind::position_at`](crate::Rewind::position_at). Returns `None` if no history is stored.
    ///
    /// All entities that existed then are found, even if they were despawned since.
    #[must_use]
    pub fn query_at(&self, tick: Tick, fraction: f32) -> Option<SpatialQuery<'_>> {
        let (past, index) = self.rewind.past(tick, fraction)?;
        let index = index.get(self.bounds, |index| index.rebuild_past(past.len(), past.iter(), |slot| past.step(slot)));
        Some(SpatialQuery::new(self, index, Some(past)))
    }

    /// Position of an entity in three dimensions, as of the last [`World::settle`]. The third coordinate is zero if its
    /// component has two.
    #[must_use]
    pub fn position_3d(&self, id: EntityId) -> Option<[f32; 3]> {
        self.position(id).map(|[x, y]| [x, y, self.positions.third(id.slot)])
    }

    /// Updates the third coordinate after a component was removed.
    pub(super) fn settle_third(&mut self, slot: u32) {
        if let Some(third) = self.columns.iter().find_map(|column| column.third_coordinate(slot)) {
            self.positions.set_third(slot, third);
        }
    }
}
