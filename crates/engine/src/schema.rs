//! The schema of a game.

use aether_bits::runtime::{EventHandle, RecordType, RuntimeSchema};
use aether_bits::{BitReader, Component, ReadError, RecordSchema, Schema};
use aether_world::{World, WorldBuilder};
use std::any::TypeId;
use std::sync::Arc;

/// Collects the components and events of a game. Passed to [`crate::Game::declare`].
///
/// ```
/// # use aether_bits::Replicate;
/// # use aether_engine::GameSchemaBuilder;
/// # #[derive(Clone, Replicate)]
/// # struct Ship { fuel: u16 }
/// # #[derive(Clone, Replicate)]
/// # struct Sunk { by: u32 }
/// fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
///     schema.component::<Ship>().event::<Sunk>()
/// }
/// ```
#[derive(Default)]
pub struct GameSchemaBuilder {
    world: WorldBuilder,
    input: Option<RecordSchema>,
    events: EventRegistry,
}

/// Event and message types of a game, by code.
#[derive(Clone, Debug, Default)]
pub struct EventRegistry {
    types: Vec<TypeId>,
    schemas: Vec<RecordSchema>,
    /// Types of events that are declared at run time.
    records: Vec<Option<Arc<RecordType>>>,
}

/// Result of building a game schema.
pub(crate) struct BuiltSchema {
    /// The empty world of its components.
    pub world: World,
    pub events: EventRegistry,
    pub schema: Schema,
}

impl GameSchemaBuilder {
    /// Adds a component. The order is part of the schema.
    #[must_use]
    pub fn component<C: Component>(mut self) -> Self {
        self.world = self.world.component::<C>();
        self
    }

    /// Adds an event or message type. Both the game and its clients may send it.
    ///
    /// # Panics
    /// If there are more than [`aether_bits::schema::EVENTS_MAX`] events.
    #[must_use]
    pub fn event<E: Component>(mut self) -> Self {
        self.events.add(TypeId::of::<E>(), RecordSchema::of::<E>(), None);
        self
    }

    /// Adds a schema that was built at run time. Do not combine it with other declarations: its handles count from
    /// zero.
    #[must_use]
    pub fn described(mut self, schema: &RuntimeSchema) -> Self {
        for component in schema.components() {
            self.world = self.world.described(component);
        }
        for event in schema.events() {
            // Run-time events have no Rust type. This marker keeps `code` from finding them by type.
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

    pub(crate) fn build(self, finish: impl FnOnce(WorldBuilder) -> WorldBuilder) -> BuiltSchema {
        let world = finish(self.world).build();
        let schema = Schema {
            components: world.schema(),
            inputs: self.input.into_iter().collect(),
            events: self.events.schemas.clone(),
        };
        BuiltSchema { world, events: self.events, schema }
    }
}

impl EventRegistry {
    fn add(&mut self, id: TypeId, schema: RecordSchema, record: Option<Arc<RecordType>>) {
        assert!(self.types.len() < aether_bits::schema::EVENTS_MAX, "a game declares at most 64 events");
        self.types.push(id);
        self.schemas.push(schema);
        self.records.push(record);
    }

    /// Returns the type of an event that is declared at run time.
    pub(crate) fn record_type(&self, event: EventHandle) -> Option<&RecordType> {
        self.records.get(usize::from(event.code()))?.as_deref()
    }

    /// Returns the code of an event type.
    pub(crate) fn code<E: Component>(&self) -> Option<u16> {
        self.types.iter().position(|known| *known == TypeId::of::<E>()).map(|code| code as u16)
    }
}

/// A reliable message of a player.
#[derive(Clone, Copy, Debug)]
pub struct PlayerMessage<'a> {
    pub(crate) code: u16,
    pub(crate) payload: &'a [u8],
    pub(crate) events: &'a EventRegistry,
}

impl PlayerMessage<'_> {
    /// Decodes the message if it has this type. Returns none if it has another type.
    #[must_use]
    pub fn read<E: Component>(&self) -> Option<Result<E, ReadError>> {
        (self.events.code::<E>()? == self.code).then(|| E::read_full(&mut BitReader::new(self.payload)))
    }

    /// Returns the code of the message: its index among the declared events, or the op code of match data.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.code
    }

    /// Returns the bytes of the message, for a game that decodes match data itself.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.payload
    }
}
