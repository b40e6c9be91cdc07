//! Entities of a room as values by name, for tools.

use crate::game::Game;
use crate::room::Room;
use aether_bits::{BitReader, BitWriter, DeltaBasis, ReadError, Schema, SchemaValue};
use aether_wire::{EntityId, PlayerId, Tick};
use aether_world::bits_of;

/// Entities to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityQuery {
    /// First slot.
    pub from_slot: u32,
    /// Maximum number of entities. Reading takes time of the tick.
    pub limit: usize,
}

/// Some entities of a room, in the order of their slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityPage {
    /// Tick of the state.
    pub tick: Tick,
    /// Number of entities in the room.
    pub total: usize,
    /// First slot of the next page, if there is one.
    pub next_slot: Option<u32>,
    entities: Vec<InspectedEntity>,
    /// Components of all entities, packed as on the wire.
    values: Vec<u8>,
}

/// An entity, without its components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InspectedEntity {
    /// Id.
    pub id: EntityId,
    /// Player who owns it.
    pub owner: Option<PlayerId>,
    /// Components as a bit mask over those of the schema.
    shape: u32,
}

impl EntityPage {
    /// Calls `visit` with each entity and its components: the number in the schema, and the value.
    pub fn each(
        &self,
        schema: &Schema,
        mut visit: impl FnMut(&InspectedEntity, Vec<(usize, SchemaValue)>),
    ) -> Result<(), ReadError> {
        let mut reader = BitReader::new(&self.values);
        for entity in &self.entities {
            let mut components = Vec::new();
            for number in bits_of(entity.shape) {
                let kind = &schema.components.get(number).ok_or(ReadError::OutOfRange)?.kind;
                components.push((number, kind.read_delta(DeltaBasis::new(&kind.initial()), &mut reader)?));
            }
            visit(entity, components);
        }
        Ok(())
    }
}

impl<G: Game> Room<G> {
    /// Returns some entities as of the last tick.
    #[must_use]
    pub fn inspect(&self, query: EntityQuery) -> EntityPage {
        let world = &self.state.world;
        let mut writer = BitWriter::new();
        let mut entities = Vec::new();
        let mut next_slot = None;
        for id in world.entities().filter(|id| id.slot >= query.from_slot) {
            if entities.len() >= query.limit {
                next_slot = Some(id.slot);
                break;
            }
            let shape = world.shape(id.slot);
            entities.push(InspectedEntity { id, owner: world.owner(id), shape });
            for number in bits_of(shape) {
                world.columns()[number].write_full(id.slot, &mut writer);
            }
        }
        EntityPage { tick: self.now(), total: world.len(), next_slot, entities, values: writer.to_bytes() }
    }
}
