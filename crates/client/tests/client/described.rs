//! Client without a game: it gets the schema from the server.

use aether_bits::{BitWriter, FieldKind, Schema, SchemaValue};
use aether_client::{
    Client, ClientGame, ClientPhase, ClientSchemaBuilder, ClientSettings, EndReason, Interpolate, JoinOptions, Predict,
};
use aether_replication::{DeliveryOrder, Mirror};
use aether_testkit_client::engine::{JoinRequest, NoObserver, Room};
use aether_wire::{ClientMessage, EntityId, SchemaHash, ServerMessage, Snapshot, Welcome};
use std::time::Duration;

use aether_testkit_client::{FlightGame, settings};

/// Game whose schema comes from the room.
#[derive(Default)]
struct Anything {
    schema: Option<Schema>,
    accepts_schema: bool,
}

/// Values of an entity's first component.
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

    fn declare(&self, builder: ClientSchemaBuilder) -> ClientSchemaBuilder {
        match &self.schema {
            Some(schema) => builder.described(schema),
            None => builder,
        }
    }

    fn learn_schema(&mut self, schema: &Schema) {
        self.schema = self.accepts_schema.then(|| schema.clone());
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

/// Runs a room with one player for a while and returns the player's client.
fn play(accepts_schema: bool) -> Client<Anything> {
    let mut room = Room::builder(FlightGame::default(), settings()).build().expect("the settings are valid");
    let endpoint = room.handle().join(JoinRequest::default(), DeliveryOrder::Ordered).expect("the mailbox is not full");
    let mut client =
        Client::new(Anything { schema: None, accepts_schema }, ClientSettings::default(), JoinOptions::default());
    client.connected(DeliveryOrder::Ordered, Duration::ZERO);
    let schema_hash = SchemaHash(room.schema().hash());
    let welcome = Welcome { tick_hz: 40, snapshot_hz: 20, schema_hash, ..Welcome::default() };
    client.receive(ServerMessage::Welcome(welcome), Duration::ZERO);
    let has_requested = client.advance(Duration::ZERO).any(|outgoing| outgoing.message == ClientMessage::SchemaRequest);
    assert!(has_requested, "the schema is unknown");
    for tick in 1..=80_u32 {
        let now = Duration::from_millis(25) * tick;
        room.tick(&mut NoObserver);
        while let Some(message) = endpoint.next_reliable() {
            client.receive((*message).clone(), now);
        }
        while let Some(packet) = endpoint.next_state() {
            client.receive(ServerMessage::Snapshot(Snapshot::Packed(packet.into())), now);
        }
        if tick == 20 {
            // Earlier state packets are stored until now.
            assert_eq!(client.remote_entities().count(), 0);
            client.receive(ServerMessage::Schema(room.schema().to_bytes()), now);
        }
        client.advance(now).for_each(drop);
    }
    client
}

#[test]
fn a_client_with_the_rooms_schema_sees_the_world() {
    let client = play(true);
    assert_eq!(*client.phase(), ClientPhase::Joined);
    assert!(client.own_state().is_some());
    assert_eq!(client.stats().faults, 0);
}

#[test]
fn a_client_of_another_version_closes_with_unknown_schema() {
    assert_eq!(*play(false).phase(), ClientPhase::Closed(EndReason::UnknownSchema));
}
