//! What a game replicates.

use aether_bits::{BitReader, Component, ReadError, RecordSchema, Schema};
use aether_world::{World, WorldBuilder};
use std::any::TypeId;

/// Collects a game's components and events.
#[derive(Default)]
pub struct Declaration {
    world: WorldBuilder,
    events: Events,
}

/// The records that a game and its clients send each other, by code.
#[derive(Clone, Debug, Default)]
pub struct Events {
    types: Vec<TypeId>,
    schemas: Vec<RecordSchema>,
}

impl Declaration {
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
        assert!(self.events.types.len() < aether_bits::schema::EVENTS_MAX, "a game declares at most 64 events");
        self.events.types.push(TypeId::of::<E>());
        self.events.schemas.push(RecordSchema::of::<E>());
        self
    }

    pub(crate) fn build<I: Component>(
        self,
        finish: impl FnOnce(WorldBuilder) -> WorldBuilder,
    ) -> (World, Events, Schema) {
        let world = finish(self.world).build();
        let schema = Schema {
            components: world.schema(),
            inputs: vec![RecordSchema::of::<I>()],
            events: self.events.schemas.clone(),
        };
        (world, self.events, schema)
    }
}

impl Events {
    /// The code of an event type.
    pub(crate) fn code<E: Component>(&self) -> Option<u16> {
        self.types.iter().position(|known| *known == TypeId::of::<E>()).map(|code| code as u16)
    }
}

/// A message of a player.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub(crate) code: u16,
    pub(crate) payload: &'a [u8],
    pub(crate) events: &'a Events,
}

impl Message<'_> {
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
