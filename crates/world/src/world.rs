//! World of one room.

mod builder;
mod capture;
mod queries;
mod records;

pub use builder::WorldBuilder;
pub(crate) use capture::{read_float, write_float};

use crate::Rewind;
use crate::changes::LastChanges;
use crate::column::{AnyColumn, Column};
use crate::entities::{Entities, Visibility};
use crate::positions::Positions;
use crate::query::LazyIndex;
use aether_bits::{BitWriter, Component, RecordSchema, StateHasher};
use aether_space::{IndexedPoint, SlotSet, WorldBounds};
use aether_wire::{EntityId, PlayerId, Tick};
use std::any::TypeId;
use std::fmt;

/// Default number of stored versions of a value. If a client's baseline is older, a whole value is sent instead of a
/// delta. 32 versions are half a second at 60 snapshots per second.
pub const VERSIONS_DEFAULT: u8 = 32;

/// Upper bound of the bits of all components of an entity, so that its full state fits one packet.
pub const ENTITY_BITS_MAX: u32 = 7_600;

/// The entities of a room and their components.
pub struct World {
    tick: Tick,
    entities: Entities,
    entities_max: usize,
    columns: Vec<Box<dyn AnyColumn>>,
    types: Vec<TypeId>,
    bits_max: Vec<u32>,
    positions: Positions,
    rewind: Rewind,
    bounds: WorldBounds,
    /// Index for queries about the present.
    query_index: LazyIndex,
    changed: SlotSet,
    despawned: Vec<EntityId>,
    without_position: SlotSet,
    restricted: SlotSet,
    rejected_spawns: u64,
    changes: Vec<LastChanges>,
}

/// Error when spawning or changing an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpawnError {
    /// The room's limit of entities is reached.
    Full,
    /// A component was not registered with the world.
    UnknownComponent,
    /// The components together do not fit one packet.
    TooLarge,
    /// The entity does not exist.
    NoEntity,
    /// The record is of another type than the component.
    OtherRecord,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpawnError::Full => "the room's limit of entities is reached; raise `entities_max` or despawn entities",
            SpawnError::UnknownComponent => {
                "the component is not declared; add `.component::<…>()` to the declaration of the world"
            }
            SpawnError::TooLarge => "the components of the entity do not fit one packet; use fewer or smaller fields",
            SpawnError::NoEntity => "the entity does not exist; it may have been despawned",
            SpawnError::OtherRecord => "the record is not of this component; create it by the component's record type",
        })
    }
}

impl std::error::Error for SpawnError {}

/// Methods for games.
impl World {
    /// Returns a builder for a world.
    #[must_use]
    pub fn builder() -> WorldBuilder {
        WorldBuilder::default()
    }

    /// The current tick.
    #[must_use]
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Spawns an entity with its first component. [`World::insert`] adds others.
    pub fn spawn<C: Component>(&mut self, component: C) -> Result<EntityId, SpawnError> {
        let id = self.spawn_with(self.component_index::<C>())?;
        self.put(id.slot, component);
        Ok(id)
    }

    /// Spawns an entity. The caller writes the first component.
    fn spawn_with(&mut self, index: Option<usize>) -> Result<EntityId, SpawnError> {
        if self.entities.alive.len() >= self.entities_max {
            self.rejected_spawns += 1;
            return Err(SpawnError::Full);
        }
        let shape = self.shape_with(0, index)?;
        let Some(id) = self.entities.spawn(self.tick) else {
            self.rejected_spawns += 1;
            return Err(SpawnError::Full);
        };
        if id.slot as usize >= self.changes.len() {
            self.changes.resize(id.slot as usize + 1, LastChanges::default());
        }
        self.changes[id.slot as usize] = LastChanges::default();
        self.reshape(id.slot, shape);
        Ok(id)
    }

    /// Despawns an entity. Returns false if it does not exist.
    pub fn despawn(&mut self, id: EntityId) -> bool {
        if !self.entities.despawn(id) {
            return false;
        }
        for index in bits_of(self.entities.shapes[id.slot as usize]) {
            self.columns[index].remove(id.slot);
        }
        self.positions.remove(id.slot);
        self.changed.remove(id.slot);
        self.without_position.remove(id.slot);
        self.restricted.remove(id.slot);
        self.despawned.push(id);
        true
    }

    /// Adds a component to an entity, or replaces it.
    pub fn insert<C: Component>(&mut self, id: EntityId, component: C) -> Result<(), SpawnError> {
        self.reshape_with(id, self.component_index::<C>())?;
        self.put(id.slot, component);
        Ok(())
    }

    /// Adds a component to the set of an entity. The caller writes its value.
    fn reshape_with(&mut self, id: EntityId, index: Option<usize>) -> Result<(), SpawnError> {
        if !self.entities.contains(id) {
            return Err(SpawnError::NoEntity);
        }
        let before = self.entities.shapes[id.slot as usize];
        let shape = self.shape_with(before, index)?;
        if shape != before {
            self.reshape(id.slot, shape);
        }
        Ok(())
    }

    /// Removes a component from an entity. Returns false if the entity does not have it.
    pub fn remove<C: Component>(&mut self, id: EntityId) -> bool {
        self.component_index::<C>().is_some_and(|index| self.remove_at(id, index))
    }

    fn remove_at(&mut self, id: EntityId, index: usize) -> bool {
        if !self.entities.contains(id) || self.entities.shapes[id.slot as usize] & 1 << index == 0 {
            return false;
        }
        self.columns[index].remove(id.slot);
        if self.columns[index].has_position() {
            // Another component may hold a position, too.
            match self.columns.iter().find_map(|column| column.position(id.slot)) {
                Some(position) => self.positions.set(id.slot, position),
                None => self.positions.remove(id.slot),
            }
            self.settle_third(id.slot);
            self.query_index.clear();
        }
        self.reshape(id.slot, self.entities.shapes[id.slot as usize] & !(1 << index));
        true
    }

    /// Component of an entity.
    #[must_use]
    pub fn get<C: Component>(&self, id: EntityId) -> Option<&C> {
        if self.entities.contains(id) { self.column::<C>()?.get(id.slot) } else { None }
    }

    /// Mutable component of an entity.
    pub fn get_mut<C: Component>(&mut self, id: EntityId) -> Option<&mut C> {
        if self.entities.contains(id) { self.column_mut::<C>()?.get_mut(id.slot) } else { None }
    }

    /// All entities with a component.
    pub fn each<C: Component>(&self) -> impl Iterator<Item = (EntityId, &C)> {
        let column = self.column::<C>().into_iter().flat_map(Column::iter);
        column.filter_map(|(slot, value)| Some((self.entities.at(slot)?, value)))
    }

    /// Calls `visit` with every component of a type, mutable.
    pub fn each_mut<C: Component>(&mut self, mut visit: impl FnMut(EntityId, &mut C)) {
        let Some(index) = self.component_index::<C>() else {
            return;
        };
        let entities = &self.entities;
        if let Some(column) = self.columns[index].as_any_mut().downcast_mut::<Column<C>>() {
            column.each_mut(|slot, value| {
                if let Some(id) = entities.at(slot) {
                    visit(id, value);
                }
            });
        }
    }

    /// Calls `visit` with every entity that has both components. The first component is mutable.
    pub fn each_with<A: Component, B: Component>(&mut self, mut visit: impl FnMut(EntityId, &mut A, &B)) {
        let (Some(first), Some(second)) = (self.component_index::<A>(), self.component_index::<B>()) else {
            return;
        };
        let Ok([first, second]) = self.columns.get_disjoint_mut([first, second]) else {
            return;
        };
        let first = first.as_any_mut().downcast_mut::<Column<A>>();
        let second = second.as_any().downcast_ref::<Column<B>>();
        if let (Some(first), Some(second)) = (first, second) {
            for slot in second.present().iter() {
                if let (Some(id), Some(a), Some(b)) = (self.entities.at(slot), first.get_mut(slot), second.get(slot)) {
                    visit(id, a, b);
                }
            }
        }
    }

    /// True if an entity exists.
    #[must_use]
    pub fn contains(&self, id: EntityId) -> bool {
        self.entities.contains(id)
    }

    /// Number of entities.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.alive.len()
    }

    /// True if there are no entities.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Limit of entities.
    #[must_use]
    pub fn entities_max(&self) -> usize {
        self.entities_max
    }

    /// All entities, in slot order.
    pub fn entities(&self) -> impl Iterator<Item = EntityId> {
        self.entities.alive.iter().filter_map(|slot| self.entities.at(slot))
    }

    /// Owner of an entity.
    #[must_use]
    pub fn owner(&self, id: EntityId) -> Option<PlayerId> {
        if self.entities.contains(id) { self.entities.owners[id.slot as usize] } else { None }
    }

    /// Sets or clears the owner of an entity.
    pub fn set_owner(&mut self, id: EntityId, owner: Option<PlayerId>) {
        if self.entities.contains(id) {
            self.entities.owners[id.slot as usize] = owner;
        }
    }

    /// Sets the visibility of an entity. It filters players within the interest distance.
    pub fn set_visibility(&mut self, id: EntityId, visibility: Visibility) {
        if self.entities.contains(id) {
            self.entities.visibilities[id.slot as usize] = visibility;
            if visibility == Visibility::Everyone {
                self.restricted.remove(id.slot);
            } else {
                self.restricted.insert(id.slot);
            }
        }
    }

    /// Position of an entity, as of the last [`World::settle`].
    #[must_use]
    pub fn position(&self, id: EntityId) -> Option<[f32; 2]> {
        if self.entities.contains(id) { self.positions.get(id.slot) } else { None }
    }

    /// Past positions of entities.
    #[must_use]
    pub fn rewind(&self) -> &Rewind {
        &self.rewind
    }
}

/// Methods for the engine and for replication.
impl World {
    /// Sets the tick of a world without entities, so that ticks continue from those of an earlier one.
    pub fn start_at(&mut self, tick: Tick) {
        debug_assert!(self.is_empty(), "entities know the ticks of their changes");
        self.tick = tick;
    }

    /// Begins the next tick. Later writes belong to it.
    pub fn advance(&mut self) {
        self.tick = self.tick.next();
        self.changed.clear();
        self.despawned.clear();
        self.entities.advance();
    }

    /// Ends the writes of the tick: snaps written values to the grid of the wire and records the changes.
    pub fn settle(&mut self) {
        for column in &mut self.columns {
            column.settle(self.tick, &mut self.changed, &mut self.positions);
        }
        for slot in self.changed.iter() {
            self.changes[slot as usize].record(self.tick);
            if self.positions.get(slot).is_none() {
                self.without_position.insert(slot);
            } else if !self.without_position.is_empty() {
                self.without_position.remove(slot);
            }
        }
        self.query_index.clear();
        let entities = &self.entities;
        self.rewind.record(self.tick, &self.positions, |slot| entities.at(slot).map(|id| id.generation));
    }

    /// Number of spawns rejected because of a limit since the last call.
    pub fn take_rejected_spawns(&mut self) -> u64 {
        std::mem::take(&mut self.rejected_spawns)
    }

    /// Slots that changed or were spawned in this tick. Valid after [`World::settle`].
    #[must_use]
    pub fn changed(&self) -> &SlotSet {
        &self.changed
    }

    /// Tick of the last change of a slot.
    #[inline]
    #[must_use]
    pub fn changed_at(&self, slot: u32) -> Tick {
        self.last_changes(slot).last
    }

    /// Ticks of the recent changes of a slot.
    #[inline]
    #[must_use]
    pub fn last_changes(&self, slot: u32) -> LastChanges {
        self.changes.get(slot as usize).copied().unwrap_or_default()
    }

    /// Entities despawned in this tick.
    #[must_use]
    pub fn despawned(&self) -> &[EntityId] {
        &self.despawned
    }

    /// Slots in use.
    #[must_use]
    pub fn alive(&self) -> &SlotSet {
        &self.entities.alive
    }

    /// Slots of entities without a position. Every client of the room sees these entities.
    #[must_use]
    pub fn without_position(&self) -> &SlotSet {
        &self.without_position
    }

    /// Slots of entities with a restricted visibility.
    #[must_use]
    pub fn restricted(&self) -> &SlotSet {
        &self.restricted
    }

    /// Visibility of a slot's entity.
    #[must_use]
    pub fn visibility_at(&self, slot: u32) -> Visibility {
        self.entities.visibilities.get(slot as usize).copied().unwrap_or_default()
    }

    /// Owner of a slot's entity.
    #[must_use]
    pub fn owner_at(&self, slot: u32) -> Option<PlayerId> {
        self.entities.owners.get(slot as usize).copied().flatten()
    }

    /// Entity that uses a slot.
    #[must_use]
    pub fn entity_at(&self, slot: u32) -> Option<EntityId> {
        self.entities.at(slot)
    }

    /// Position of a slot's entity.
    #[inline]
    #[must_use]
    pub fn position_at(&self, slot: u32) -> Option<[f32; 2]> {
        self.positions.get(slot)
    }

    /// All positions, for a spatial index.
    #[must_use]
    pub fn points(&self) -> &[IndexedPoint] {
        self.positions.points()
    }

    /// Components of a slot's entity, as a bit mask over [`World::columns`].
    #[must_use]
    pub fn shape(&self, slot: u32) -> u32 {
        self.entities.shapes.get(slot as usize).copied().unwrap_or(0)
    }

    /// Tick of the last change of the set of a slot's components.
    #[must_use]
    pub fn shaped_at(&self, slot: u32) -> Tick {
        self.entities.shaped_at.get(slot as usize).copied().unwrap_or(Tick::ZERO)
    }

    /// The columns, by component number.
    #[must_use]
    pub fn columns(&self) -> &[Box<dyn AnyColumn>] {
        &self.columns
    }

    /// Descriptors of the components, by component number.
    #[must_use]
    pub fn schema(&self) -> Vec<RecordSchema> {
        self.columns.iter().map(|column| column.schema()).collect()
    }

    /// Returns a hash of all entities, equal on every platform.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash_of(self.entities.alive.iter())
    }

    /// Returns a hash of some entities. Their order does not matter.
    #[must_use]
    pub fn hash_of(&self, slots: impl Iterator<Item = u32>) -> u64 {
        let mut scratch = BitWriter::new();
        slots.filter_map(|slot| self.entities.at(slot)).fold(0, |sum: u64, id| {
            let shape = self.shape(id.slot);
            let digests = bits_of(shape).map(|index| self.columns[index].digest(id.slot, &mut scratch));
            sum.wrapping_add(hash_entity(id, shape, digests))
        })
    }

    pub(crate) fn component_index<C: Component>(&self) -> Option<usize> {
        self.types.iter().position(|known| *known == TypeId::of::<C>())
    }

    /// Column of a component type.
    #[must_use]
    pub fn column<C: Component>(&self) -> Option<&Column<C>> {
        self.columns[self.component_index::<C>()?].as_any().downcast_ref()
    }

    /// Mutable column of a component type.
    pub fn column_mut<C: Component>(&mut self) -> Option<&mut Column<C>> {
        let index = self.component_index::<C>()?;
        self.columns[index].as_any_mut().downcast_mut()
    }

    /// Returns the mask with one more component, if the entity still fits one packet.
    fn shape_with(&self, before: u32, index: Option<usize>) -> Result<u32, SpawnError> {
        let shape = before | 1 << index.ok_or(SpawnError::UnknownComponent)?;
        let bits: u32 = bits_of(shape).map(|index| self.bits_max[index]).sum();
        if bits > ENTITY_BITS_MAX { Err(SpawnError::TooLarge) } else { Ok(shape) }
    }

    fn put<C: Component>(&mut self, slot: u32, component: C) {
        if let Some(column) = self.column_mut::<C>() {
            column.insert(slot, component);
        }
    }

    fn reshape(&mut self, slot: u32, shape: u32) {
        self.entities.shapes[slot as usize] = shape;
        self.entities.shaped_at[slot as usize] = self.tick;
        self.changed.insert(slot);
    }
}

/// Returns the hash of one entity. A client that sees the entity computes the same.
pub fn hash_entity(id: EntityId, shape: u32, digests: impl Iterator<Item = u64>) -> u64 {
    let mut hasher = StateHasher::new(id.to_bits());
    hasher.word(u64::from(shape));
    digests.for_each(|digest| hasher.word(digest));
    hasher.finish()
}

/// Indexes of the set bits, ascending.
#[inline]
pub fn bits_of(mask: u32) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(mask), |rest| Some(rest & rest.wrapping_sub(1)))
        .take_while(|&rest| rest != 0)
        .map(|rest| rest.trailing_zeros() as usize)
}
