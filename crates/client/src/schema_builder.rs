//! Schema that the client of a game declares.

use aether_bits::{Component, RecordSchema, Schema};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::SchemaHash;

/// Collects the components, input and events of a game, in the same order as the server.
#[derive(Default)]
pub struct ClientSchemaBuilder {
    mirror: aether_replication::MirrorBuilder,
    schema: Schema,
}

impl ClientSchemaBuilder {
    /// Adds a component.
    #[must_use]
    pub fn component<C: Component>(mut self) -> Self {
        self.mirror = self.mirror.component::<C>();
        self.schema.components.push(RecordSchema::of::<C>());
        self
    }

    /// Sets the input that a player sends every tick.
    #[must_use]
    pub fn input<I: Component>(mut self) -> Self {
        self.schema.inputs = vec![RecordSchema::of::<I>()];
        self
    }

    /// Adds an event or message.
    #[must_use]
    pub fn event<E: Component>(mut self) -> Self {
        self.schema.events.push(RecordSchema::of::<E>());
        self
    }

    /// Declares everything from a schema that is known only at run time.
    #[must_use]
    pub fn described(mut self, schema: &Schema) -> Self {
        self.mirror = self.mirror.described(schema);
        self.schema = schema.clone();
        self
    }

    /// Hash by which client and server detect different schemas.
    #[must_use]
    pub fn hash(&self) -> SchemaHash {
        SchemaHash(self.schema.hash())
    }

    pub(crate) fn build(self, delivery_order: DeliveryOrder, seconds_per_tick: f32) -> (Mirror, Schema) {
        (self.mirror.build(delivery_order, seconds_per_tick), self.schema)
    }
}
