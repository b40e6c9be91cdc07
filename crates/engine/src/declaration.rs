//! What a game replicates.

use aether_bits::runtime::{EventHandle, RecordType, RuntimeSchema};
use aether_bits::{BitReader, Component, ReadError, RecordSchema, Schema};
use aether_world::{World, WorldBuilder};
use std::any::TypeId;
use std::sync::Arc;

/// Collects a game's components and events.
#[derive(Default)]
pub struct GameSchemaBuilder {
    world: WorldBuilder,
    input: Option<RecordSchema>,
    events: EventRegistry,
}

/// The records that a game and its clients send each other, by code.
#[derive(Clone, Debug, Default)]
pub struct EventRegistry {
    types: Vec<TypeId>,
    schemas: Vec<RecordSchema>,
    /// The types of those that were declared at run time.
    records: Vec<Option<Arc<RecordType>>>,
}

impl GameSchemaBuilder {
    /// Adds a component.
    #[must_use]
    pub fn component<C: Component>(mut self) -> Self {
        self.world = self.world.component::<C>();
        self
    }

    /// Adds an event or message. Both sides may send it.
    ///
    /// # Panics
    /// With more than [`aether_bits::schema::EVENTS_MAX`] events: that is an error in the game's source.
    #[must_use]
    pub fn event<E: Component>(mut self) -> Self {
        self.events.add(TypeId::of::<E>(), RecordSchema::of::<E>(), None);
        self
    }

    /// Adds all of a schema that was made at run time. It has to be the only declaration: its handles count from zero.
    #[must_use]
    pub fn described(mut self, schema: &RuntimeSchema) -> Self {
        for component in schema.components() {
            self.world = self.world.described(component);
        }
        for event in schema.events() {
            // No event type can ask for this code: the marker is not one.
            let marker = TypeId::of::<Arc<RecordType>>();
            self.events.add(marker, event.schema().clone(), Some(Arc::clone(event)));
        }
        self.input = schema.input().map(|input| input.schema().clone());
        self
    }

    pub(crate) fn input<I: Component>(mut self) -> Self {
        self.input = Some(RecordSchema::of::<I>());
        self
    }

    pub(crate) fn build(self, finish: impl FnOnce(WorldBuilder) -> WorldBuilder) -> (World, EventRegistry, Schema) {
        let world = finish(self.world).build();
        let schema = Schema {
            components: world.schema(),
            inputs: self.input.into_iter().collect(),
            events: self.events.schemas.clone(),
        };
        (world, self.events, schema)
    }
}

impl EventRegistry {
    fn add(&mut self, id: TypeId, schema: RecordSchema, record: Option<Arc<RecordType>>) {
        assert!(self.types.len() < aether_bits::schema::EVENTS_MAX, "a game declares at most 64 events");
        self.types.push(id);
        self.schemas.push(schema);
        self.records.push(record);
    }

    /// The type of an event that was declared at run time.
    pub(crate) fn record_type(&self, event: EventHandle) -> Option<&RecordType> {
        self.records.get(usize::from(event.code()))?.as_deref()
    }

    /// The code of an event type.
    pub(crate) fn code<E: Component>(&self) -> Option<u16> {
        self.types.iter().position(|known| *known == TypeId::of::<E>()).map(|code| code as u16)
    }
}

/// A message of a player.
#[derive(Clone, Copy, Debug)]
pub struct PlayerMessage<'a> {
    pub(crate) code: u16,
    pub(crate) payload: &'a [u8],
    pub(crate) events: &'a EventRegistry,
}

impl PlayerMessage<'_> {
    /// The message, if it is of this type.
    #[must_use]
    pub fn read<E: Component>(&self) -> Option<Result<E, ReadError>> {
        (self.events.code::<E>()? == self.code).then(|| E::read_full(&mut BitReader::new(self.payload)))
    }

    /// Its number among the declared events.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.code
    }
}
