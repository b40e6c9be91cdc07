//! Declaration of a world.

use super::{VERSIONS_DEFAULT, World};
use crate::Rewind;
use crate::column::{AnyColumn, ComponentRows, DescribedColumn};
use crate::entities::Entities;
use crate::packing::{DescribedPacking, TypedPacking};
use crate::positions::Positions;
use crate::query::LazyIndex;
use aether_bits::Component;
use aether_bits::runtime::RecordType;
use aether_bits::schema::COMPONENTS_MAX;
use aether_space::{SlotSet, WorldBounds};
use aether_wire::Tick;
use std::any::TypeId;
use std::sync::Arc;

/// Declares the components and limits of a world.
pub struct WorldBuilder {
    entities_max: usize,
    versions: u8,
    rewind_ticks: u16,
    bounds: WorldBounds,
    columns: Vec<(TypeId, MakeColumn)>,
}

/// Creates an empty column. The argument is the number of stored versions.
type MakeColumn = Box<dyn FnOnce(u8) -> Box<dyn AnyColumn> + Send>;

impl Default for WorldBuilder {
    fn default() -> Self {
        WorldBuilder {
            entities_max: usize::MAX,
            versions: VERSIONS_DEFAULT,
            rewind_ticks: 0,
            bounds: WorldBounds::default(),
            columns: Vec::new(),
        }
    }
}

impl WorldBuilder {
    /// Adds a component type. Registering one twice changes nothing.
    ///
    /// # Panics
    /// If there are more than [`COMPONENTS_MAX`] components.
    #[must_use]
    pub fn component<C: Component>(mut self) -> Self {
        if !self.columns.iter().any(|(known, _)| *known == TypeId::of::<C>()) {
            self.add(TypeId::of::<C>(), |versions| Box::new(ComponentRows::new(TypedPacking::<C>::new(), versions)));
        }
        self
    }

    /// Adds a component that was declared at run time.
    ///
    /// # Panics
    /// If there are more than [`COMPONENTS_MAX`] components. A valid schema has no more.
    #[must_use]
    pub fn described(mut self, record_type: &Arc<RecordType>) -> Self {
        let packing = DescribedPacking(Arc::clone(record_type));
        // No component type has this id, so `World::column` never finds this column.
        self.add(TypeId::of::<DescribedColumn>(), |versions| Box::new(ComponentRows::new(packing, versions)));
        self
    }

    fn add(&mut self, id: TypeId, make: impl FnOnce(u8) -> Box<dyn AnyColumn> + Send + 'static) {
        assert!(self.columns.len() < COMPONENTS_MAX, "a world has at most {COMPONENTS_MAX} component types");
        self.columns.push((id, Box::new(make)));
    }

    /// Sets the limit of entities.
    #[must_use]
    pub fn entities_max(mut self, entities_max: usize) -> Self {
        self.entities_max = entities_max;
        self
    }

    /// Sets the number of stored versions of each value, at least 2.
    #[must_use]
    pub fn versions(mut self, versions: u8) -> Self {
        self.versions = versions.max(2);
        self
    }

    /// Sets the number of ticks of position history for lag compensation.
    #[must_use]
    pub fn rewind_ticks(mut self, ticks: u16) -> Self {
        self.rewind_ticks = ticks;
        self
    }

    /// Sets the part of the plane that usually contains the entities. Queries are fast within it, and also find
    /// entities outside it.
    #[must_use]
    pub fn bounds(mut self, bounds: WorldBounds) -> Self {
        self.bounds = bounds;
        self
    }

    /// Builds an empty world, before its first tick.
    #[must_use]
    pub fn build(self) -> World {
        let types = self.columns.iter().map(|(id, _)| *id).collect();
        let columns: Vec<_> = self.columns.into_iter().map(|(_, make)| make(self.versions)).collect();
        World {
            tick: Tick::ZERO,
            entities: Entities::default(),
            entities_max: self.entities_max,
            bits_max: columns.iter().map(|column| column.schema().kind.bits_max()).collect(),
            columns,
            types,
            positions: Positions::default(),
            rewind: Rewind::new(self.rewind_ticks),
            bounds: self.bounds,
            query_index: LazyIndex::default(),
            changed: SlotSet::new(),
            despawned: Vec::new(),
            without_position: SlotSet::new(),
            restricted: SlotSet::new(),
            rejected_spawns: 0,
            changes: Vec::new(),
        }
    }
}
