//! Access to components that were declared at run time.

use super::{SpawnError, World};
use crate::column::DescribedColumn;
use aether_bits::runtime::{ComponentHandle, Record, RecordMut, RecordType};
use aether_wire::EntityId;

/// Methods for components that were declared at run time.
impl World {
    /// Spawns an entity with its first component. [`World::insert_record`] adds others.
    pub fn spawn_record(&mut self, component: ComponentHandle, record: Record) -> Result<EntityId, SpawnError> {
        self.check_record(component, &record)?;
        let id = self.spawn_with(Some(component.index()))?;
        self.put_record(id, component, record);
        Ok(id)
    }

    /// Adds a component to an entity, or replaces it.
    pub fn insert_record(
        &mut self,
        id: EntityId,
        component: ComponentHandle,
        record: Record,
    ) -> Result<(), SpawnError> {
        self.check_record(component, &record)?;
        self.reshape_with(id, Some(component.index()))?;
        self.put_record(id, component, record);
        Ok(())
    }

    /// Removes a component from an entity. Returns false if the entity does not have it.
    pub fn remove_record(&mut self, id: EntityId, component: ComponentHandle) -> bool {
        self.described(component).is_some() && self.remove_at(id, component.index())
    }

    /// Component of an entity.
    #[must_use]
    pub fn record(&self, id: EntityId, component: ComponentHandle) -> Option<&Record> {
        if self.entities.contains(id) { self.described(component)?.get(id.slot) } else { None }
    }

    /// Mutable component of an entity.
    pub fn record_mut(&mut self, id: EntityId, component: ComponentHandle) -> Option<RecordMut<'_>> {
        if self.entities.contains(id) { self.described_mut(component)?.record_mut(id.slot) } else { None }
    }

    /// All entities with a component.
    pub fn each_record(&self, component: ComponentHandle) -> impl Iterator<Item = (EntityId, &Record)> {
        let column = self.described(component).into_iter().flat_map(DescribedColumn::iter);
        column.filter_map(|(slot, record)| Some((self.entities.at(slot)?, record)))
    }

    /// Calls `visit` with every record of a component, mutable.
    pub fn each_record_mut(&mut self, component: ComponentHandle, mut visit: impl FnMut(EntityId, RecordMut<'_>)) {
        let Some(column) = self.columns.get_mut(component.index()) else { return };
        let Some(column) = column.as_any_mut().downcast_mut::<DescribedColumn>() else { return };
        let entities = &self.entities;
        column.each_record_mut(|slot, record| {
            if let Some(id) = entities.at(slot) {
                visit(id, record);
            }
        });
    }

    /// Type of a component that was declared at run time.
    #[must_use]
    pub fn record_type(&self, component: ComponentHandle) -> Option<&RecordType> {
        self.described(component).map(DescribedColumn::record_type)
    }

    /// Column of a component that was declared at run time.
    #[must_use]
    pub fn described(&self, component: ComponentHandle) -> Option<&DescribedColumn> {
        self.columns.get(component.index())?.as_any().downcast_ref()
    }

    fn described_mut(&mut self, component: ComponentHandle) -> Option<&mut DescribedColumn> {
        self.columns.get_mut(component.index())?.as_any_mut().downcast_mut()
    }

    fn check_record(&self, component: ComponentHandle, record: &Record) -> Result<(), SpawnError> {
        let column = self.described(component).ok_or(SpawnError::UnknownComponent)?;
        column.record_type().check(record).map_err(|_| SpawnError::OtherRecord)
    }

    fn put_record(&mut self, id: EntityId, component: ComponentHandle, record: Record) {
        if let Some(column) = self.described_mut(component) {
            column.insert(id.slot, record);
        }
    }
}
