//! A client that knows no game: it learns the schema from the server.

use aether_bits::{BitWriter, FieldKind, Schema, SchemaValue};
use aether_client::{
    Client, ClientGame, ClientPhase, ClientSchemaBuilder, ClientSettings, EndReason, Interpolate, JoinOptions, Predict,
};
use aether_replication::{DeliveryOrder, Mirror};
use aether_testkit_client::engine::{JoinRequest, NoObserver, Room};
use aether_wire::{ClientMessage, EntityId, SchemaHash, ServerMessage, Snapshot, Welcome};
use std::time::Duration;

use aether_testkit_client::{Flight, settings};

/// Whatever a room replicates.
#[derive(Default)]
struct Anything {
    schema: Option<Schema>,
    learns: bool,
}

/// The first component of an entity, as values.
#[derive(Clone, Debug, PartialEq)]
struct Values(SchemaValue);

impl Interpolate for Values {
    fn moved(&self, _from: &Self, _to: &Self, _share: f32) -> Self {
        self.clone()
    }

    fn distance(&self, other: &Self) -> f32 {
        if self == other { 0.0 } else { 1.0 }
    }
}

impl Predict for Anything {
    type State = Values;
    type Input = ();

    fn step(&self, _state: &mut Values, _input: &(), _seconds: f32) {}

    fn snap(&self, _state: &mut Values) {}

    fn is_same(&self, a: &Values, b: &Values) -> bool {
        a == b
    }
}

impl ClientGame for Anything {
    type Remote = Values;

    fn declare(&self, declaration: ClientSchemaBuilder) -> ClientSchemaBuilder {
        match &self.schema {
            Some(schema) => declaration.described(schema),
            None => declaration,
        }
    }

    fn learn_schema(&mut self, schema: &Schema) {
        self.schema = self.learns.then(|| schema.clone());
    }

    fn pack_input(&self, _input: &(), _writer: &mut BitWriter) {}

    fn own_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Values> {
        let (kind, value) = mirror.value(entity, 0)?;
        assert!(matches!(kind, FieldKind::Record { .. }));
        Some(Values(value.clone()))
    }

    fn remote_state(&self, mirror: &Mirror, entity: EntityId) -> Option<Values> {
        self.own_state(mirror, entity)
    }
}

/// Runs a room with one player for a while; tells what became of a client that watches over its shoulder.
fn watch(learns: bool) -> Client<Anything> {
    let mut room = Room::builder(Flight::default(), settings()).build().expect("the settings are valid");
    let end = room.handle().join(JoinRequest::default(), DeliveryOrder::Ordered).expect("the mailbox has place");
    let mut client = Client::new(Anything { schema: None, learns }, ClientSettings::default(), JoinOptions::default());
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    let schema_hash = SchemaHash(room.schema().hash());
    let welcome = Welcome { tick_hz: 40, snapshot_hz: 20, schema_hash, ..Welcome::default() };
    client.receive(ServerMessage::Welcome(welcome), Duration::ZERO);
    let asked = client.advance(Duration::ZERO).any(|outgoing| outgoing.message == ClientMessage::SchemaRequest);
    assert!(asked, "it does not know the schema");
    for tick in 1..=80_u32 {
        let now = Duration::from_millis(25) * tick;
        room.tick(&mut NoObserver);
        while let Some(message) = end.next_reliable() {
            client.receive((*message).clone(), now);
        }
        while let Some(packet) = end.next_state() {
            client.receive(ServerMessage::Snapshot(Snapshot::Packed(packet)), now);
        }
        if tick == 20 {
            // State that came before waits until now.
            assert_eq!(client.remote_entities().count(), 0);
            client.receive(ServerMessage::Schema(room.schema().to_bytes()), now);
        }
        client.advance(now).for_each(drop);
    }
    client
}

#[test]
fn a_client_that_learns_the_schema_sees_the_world() {
    let client = watch(true);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    assert!(client.own_state().is_some());
    assert_eq!(client.stats().faults, 0);
}

#[test]
fn a_client_of_another_version_says_so_instead_of_misreading() {
    assert_eq!(*watch(false).phase(), ClientPhase::Closed(EndReason::UnknownSchema));
}
