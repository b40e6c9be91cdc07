//! Messages between a game and its client.

use aether_client::{Client, ClientEvent, ClientSettings, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_testkit_client::rules::{Controls, Hit};
use aether_testkit_client::{SandboxClient, Scene, network};
use aether_wire::{
    ClientMessage, CommandSeq, Event, GameBody, GameMessage, InputSeq, MessageId, Reassembler, ServerMessage, Snapshot,
    Tick, Welcome, fragment,
};
use std::time::Duration;

fn joined() -> Client<SandboxClient> {
    let mut client = Client::new(SandboxClient, ClientSettings::default(), JoinOptions::default());
    assert_eq!(client.send_message(&HIT), None, "not joined yet");
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
fn game_messages_are_packed_and_unpacked_by_type() {
    let mut client = joined();
    assert_eq!(client.send_message(&HIT), Some(CommandSeq(1)));
    let sent = client.advance(ZERO).next().expect("a message").message;
    let ClientMessage::Game(GameMessage { seq: CommandSeq(1), body }) = sent else { panic!("{sent:?}") };
    client.receive(ServerMessage::Event(Event { tick: Tick(9), sender: None, body }), ZERO);
    let received = client.events().last().expect("an event");
    let ClientEvent::Game(event) = received else { panic!("{received:?}") };
    assert_eq!(client.read_event::<Hit>(&event), Some(HIT));
    assert_eq!(client.send_message(&Controls::default()), None, "the game declares no such message");
}

#[test]
fn long_messages_are_fragmented_in_both_directions() {
    let mut client = joined();
    let body = GameBody::Packed { code: 0, payload: vec![7; 5_000] };
    let long = body.clone();
    client.send_command(|seq| ClientMessage::Game(GameMessage { seq, body: long })).expect("the command is accepted");
    let mut reassembler = Reassembler::closed();
    reassembler.open();
    let mut whole = None;
    for outgoing in client.advance(ZERO).filter(|outgoing| outgoing.reliable) {
        let ClientMessage::Fragment(part) = outgoing.message else { panic!("{outgoing:?}") };
        whole = reassembler.push(part, 0).expect("valid fragments");
    }
    let message = ClientMessage::decode(&whole.expect("all fragments")).expect("a valid message");
    assert_eq!(message, ClientMessage::Game(GameMessage { seq: CommandSeq(1), body: body.clone() }));

    let mut bytes = Vec::new();
    let event = Event { tick: Tick(1), sender: None, body };
    ServerMessage::Event(event.clone()).encode(&mut bytes).expect("the message can be encoded");
    for part in fragment(MessageId(1), &bytes, 900).expect("the message can be fragmented") {
        client.receive(ServerMessage::Fragment(part), ZERO);
    }
    assert_eq!(client.events().last(), Some(ClientEvent::Game(event)));
}

#[test]
fn silence_and_traffic_are_reported() {
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
fn a_client_without_input_only_acknowledges() {
    let mut scene = Scene::new(8);
    let pilot = scene.join(DeliveryOrder::Unordered, network(20, 0.05));
    scene.run(Duration::from_secs(5));
    let mut observer = Client::new(SandboxClient, ClientSettings::default(), JoinOptions::default());
    observer.connected(DeliveryOrder::Unordered, ZERO);
    observer.advance(ZERO).for_each(drop);
    observer.receive(
        ServerMessage::Welcome(scene.pilots[pilot].client.welcome().expect("the client has joined").clone()),
        ZERO,
    );
    let mut sent = Vec::new();
    let endpoint = scene.join_observer();
    for tick in 1..=40_u32 {
        scene.run(Duration::from_millis(25));
        while let Some(packet) = endpoint.next_state() {
            observer
                .receive(ServerMessage::Snapshot(Snapshot::Packed(packet.into())), Duration::from_millis(25) * tick);
        }
        sent.extend(observer.advance(Duration::from_millis(25) * tick).map(|outgoing| outgoing.message.name()));
    }
    assert_eq!(observer.last_input(), InputSeq(0));
    assert!(sent.iter().filter(|name| **name == "ack").count() > 5, "{sent:?}");
    assert!(!sent.contains(&"inputs"), "{sent:?}");
    assert!(observer.remote_entities().count() >= 1);
}

#[test]
fn the_clock_offset_the_loss_and_the_jitter_are_measured() {
    for (order, loss) in
        [(DeliveryOrder::Ordered, 0.0), (DeliveryOrder::Unordered, 0.0), (DeliveryOrder::Unordered, 0.3)]
    {
        let mut scene = Scene::new(5);
        scene.run(Duration::from_secs(3));
        let pilot = scene.join(order, network(80, loss));
        let before = scene.pilots[pilot].client.stats();
        assert_eq!((before.clock_offset_seconds, before.loss), (None, 0.0));
        let (mut losses, mut samples) = (0.0, 0.0);
        for _ in 0..100 {
            scene.run(Duration::from_millis(100));
            losses += scene.pilots[pilot].client.stats().loss;
            samples += 1.0;
        }
        let stats = scene.pilots[pilot].client.stats();
        let tick_hz = f64::from(scene.room.settings().tick_hz);
        let offset = f64::from(scene.room.now().0) / tick_hz - scene.now.as_secs_f64();
        let error = stats.clock_offset_seconds.expect("the clock is known") - offset;
        // A tick, the asymmetry of the jitter, and the state's way through the room.
        assert!(error.abs() < 0.06, "{order:?}, {loss} lost: the offset is wrong by {error} s");
        let measured = losses / samples;
        assert!((measured - loss).abs() < 0.1, "{order:?}: {measured} instead of {loss} lost");
        assert!(stats.jitter > Duration::from_millis(1), "{stats:?}");
    }
}
