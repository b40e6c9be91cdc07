//! What a game and its client say to each other.

use aether_client::{Client, ClientEvent, ClientSettings, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_testkit_client::rules::{Controls, Hit};
use aether_testkit_client::{Sandbox, Scene, network};
use aether_wire::{
    ClientMessage, CommandSeq, Event, GameBody, GameMessage, InputSeq, MessageId, Reassembler, ServerMessage, Snapshot,
    Tick, Welcome, fragment,
};
use std::time::Duration;

fn joined() -> Client<Sandbox> {
    let mut client = Client::new(Sandbox, ClientSettings::default(), JoinOptions::default());
    assert_eq!(client.send_message(&HIT), None, "nobody listens yet");
    client.connected(DeliveryOrder::Ordered, ZERO);
    let schema_hash = client.schema_hash();
    let welcome = Welcome { tick_hz: 40, snapshot_hz: 20, schema_hash, ..Welcome::default() };
    client.receive(ServerMessage::Welcome(welcome), ZERO);
    client.advance(ZERO).for_each(drop);
    client
}

const ZERO: Duration = Duration::ZERO;
const HIT: Hit = Hit { shooter: 3, target: 4, hull: 75 };

#[test]
fn messages_of_the_game_are_packed_and_unpacked_by_type() {
    let mut client = joined();
    assert_eq!(client.send_message(&HIT), Some(CommandSeq(1)));
    let said = client.advance(ZERO).next().expect("it is sent").message;
    let ClientMessage::Game(GameMessage { seq: CommandSeq(1), body }) = said else { panic!("{said:?}") };
    client.receive(ServerMessage::Event(Event { tick: Tick(9), sender: None, body }), ZERO);
    let heard = client.events().last().expect("it is heard");
    let ClientEvent::Game(event) = heard else { panic!("{heard:?}") };
    assert_eq!(client.read_event::<Hit>(&event), Some(HIT));
    assert_eq!(client.send_message(&Controls::default()), None, "that is no message of this game");
}

#[test]
fn what_is_longer_than_a_frame_goes_in_parts_both_ways() {
    let mut client = joined();
    let body = GameBody::Packed { code: 0, payload: vec![7; 5_000] };
    let long = body.clone();
    client.send_command(|seq| ClientMessage::Game(GameMessage { seq, body: long })).expect("it is sent");
    let mut reassembler = Reassembler::closed();
    reassembler.open();
    let mut whole = None;
    for outgoing in client.advance(ZERO).filter(|outgoing| outgoing.reliable) {
        let ClientMessage::Fragment(part) = outgoing.message else { panic!("{outgoing:?}") };
        whole = reassembler.push(part, 0).expect("parts are well made");
    }
    let message = ClientMessage::decode(&whole.expect("all parts came")).expect("it can be read");
    assert_eq!(message, ClientMessage::Game(GameMessage { seq: CommandSeq(1), body: body.clone() }));

    let mut bytes = Vec::new();
    let event = Event { tick: Tick(1), sender: None, body };
    ServerMessage::Event(event.clone()).encode(&mut bytes).expect("it can be written");
    for part in fragment(MessageId(1), &bytes, 900).expect("it can be cut") {
        client.receive(ServerMessage::Fragment(part), ZERO);
    }
    assert_eq!(client.events().last(), Some(ClientEvent::Game(event)));
}

#[test]
fn silence_and_traffic_are_told() {
    let mut scene = Scene::new(8);
    let pilot = scene.join(DeliveryOrder::Unordered, network(20, 0.05));
    scene.run(Duration::from_secs(5));
    let client = &scene.pilots[pilot].client;
    assert!(client.silence(scene.now) < Duration::from_millis(300));
    assert!(client.silence(scene.now + Duration::from_secs(6)) >= Duration::from_secs(6));
    let stats = client.stats();
    assert!(stats.bytes_in > 1_000 && stats.bytes_out > 1_000, "{stats:?}");
}

#[test]
fn who_sets_no_input_only_watches_and_acknowledges() {
    let mut scene = Scene::new(8);
    let pilot = scene.join(DeliveryOrder::Unordered, network(20, 0.05));
    scene.run(Duration::from_secs(5));
    let mut watcher = Client::new(Sandbox, ClientSettings::default(), JoinOptions::default());
    watcher.connected(DeliveryOrder::Unordered, ZERO);
    watcher.advance(ZERO).for_each(drop);
    watcher.receive(ServerMessage::Welcome(scene.pilots[pilot].client.welcome().expect("it is in").clone()), ZERO);
    let mut said = Vec::new();
    let end = scene.watch();
    for tick in 1..=40_u32 {
        scene.run(Duration::from_millis(25));
        while let Some(packet) = end.next_state() {
            watcher.receive(ServerMessage::Snapshot(Snapshot::Packed(packet)), Duration::from_millis(25) * tick);
        }
        said.extend(watcher.advance(Duration::from_millis(25) * tick).map(|outgoing| outgoing.message.name()));
    }
    assert_eq!(watcher.last_input(), InputSeq(0));
    assert!(said.iter().filter(|name| **name == "ack").count() > 5, "{said:?}");
    assert!(!said.contains(&"inputs"), "{said:?}");
    assert!(watcher.remote_entities().count() >= 1);
}
