//! What a game replicates, as its client declares it.

use aether_bits::{Component, RecordSchema, Schema};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::SchemaHash;

/// Collects a game's components, input and events. The order is that of the server's declaration.
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

    /// Sets what a player sends every tick.
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

    /// Declares all of a schema, without its types.
    #[must_use]
    pub fn described(mut self, schema: &Schema) -> Self {
        self.mirror = self.mirror.described(schema);
        self.schema = schema.clone();
        self
    }

    /// The number by which client and server know that they speak of the same.
    #[must_use]
    pub fn hash(&self) -> SchemaHash {
        SchemaHash(self.schema.hash())
    }

    pub(crate) fn build(self, link: DeliveryOrder, seconds_per_tick: f32) -> (Mirror, Schema) {
        (self.mirror.build(link, seconds_per_tick), self.schema)
    }
}
