//! Hostile servers: the client neither panics nor grows without bound.

use aether_bits::BitWriter;
use aether_client::{Client, ClientEvent, ClientPhase, ClientSettings, EndReason, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_testkit_client::engine::Random;
use aether_testkit_client::rules::{Controls, Ship};
use aether_testkit_client::{SandboxClient, Scene, network};
use aether_wire::{
    Ack, Cleared, ClientTime, CommandSeq, Correction, EntityId, Event, Fragment, GameBody, InputSeq, MessageId, Pong,
    Possession, ServerMessage, Snapshot, Tick, Welcome,
};
use std::time::Duration;

fn joined(settings: ClientSettings) -> Client<SandboxClient> {
    let mut client = Client::new(SandboxClient, settings, JoinOptions::default());
    client.connected(DeliveryOrder::Unordered, Duration::ZERO);
    client.receive(ServerMessage::Welcome(welcome(&client)), Duration::ZERO);
    client.set_input(Controls::default());
    client.advance(Duration::ZERO).for_each(drop);
    client
}

fn welcome(client: &Client<SandboxClient>) -> Welcome {
    Welcome { tick_hz: 40, snapshot_hz: 20, schema_hash: client.schema_hash(), ..Welcome::default() }
}

fn packed(bytes: Vec<u8>) -> ServerMessage {
    ServerMessage::Snapshot(Snapshot::Packed(bytes.into()))
}

/// Packet with this header and ships in the slots from `first` on.
fn packet(tick: u32, sequence: u16, input_ack: u16, (first, count): (u32, u32)) -> ServerMessage {
    let mut writer = BitWriter::new();
    writer.write(u64::from(tick), 32);
    writer.write(u64::from(sequence), 16);
    writer.write(u64::from(input_ack), 16);
    writer.write_bool(true);
    writer.write(0, 3);
    writer.write_bool(false);
    writer.write_bool(true);
    writer.write(u64::from(count), 10);
    writer.write_bool(false);
    for entry in 0..count {
        let gap = if entry == 0 { u64::from(first) } else { 0 } + 1;
        let ones = gap.ilog2();
        writer.write((1 << ones) - 1, ones + 1);
        writer.write(gap & ((1 << ones) - 1), ones);
        writer.write(1, 16);
        // Component mask: only a ship.
        writer.write(1, 4);
        aether_bits::Replicate::write_full(&ship(), &mut writer);
    }
    packed(writer.to_bytes())
}

fn ship() -> Ship {
    <Ship as aether_bits::Replicate>::initial()
}

fn advance_and_draw(client: &mut Client<SandboxClient>, now: Duration) {
    client.advance(now).for_each(drop);
    let _ = (client.own_state(), client.remote_entities().count(), client.stats(), client.tick());
}

#[test]
fn a_tick_far_ahead_is_rejected() {
    let mut client = joined(ClientSettings::default());
    client.receive(packet(u32::MAX, 1, 0, (0, 1)), Duration::from_millis(50));
    assert_eq!((client.stats().packets, client.stats().faults), (0, 1));
    client.receive(packet(2, 1, 0, (0, 1)), Duration::from_millis(50));
    assert_eq!(client.stats().packets, 1, "a plausible packet is still applied");
    for second in 1..20 {
        advance_and_draw(&mut client, Duration::from_secs(second));
    }
}

#[test]
fn an_acknowledgement_of_unsent_inputs_is_rejected() {
    let mut client = joined(ClientSettings::default());
    let entity = EntityId { slot: 0, generation: 1 };
    client.receive(ServerMessage::Possession(Possession { tick: Tick(1), entity }), Duration::ZERO);
    for number in 1..=20_u16 {
        let now = Duration::from_millis(50) * u32::from(number);
        client.receive(packet(u32::from(number) * 2, number, 30_000, (0, 1)), now);
        advance_and_draw(&mut client, now);
    }
    assert!(client.stats().faults > 0);
    assert_eq!(client.stats().corrections, 0);
}

#[test]
fn random_sequences_and_ticks_are_tolerated() {
    let mut client = joined(ClientSettings::default());
    let mut random = Random::new(4);
    for number in 0..4_000_u32 {
        let now = Duration::from_millis(10) * number;
        let (tick, sequence, ack) = (random.below(4_000), random.bits() as u16, random.bits() as u16);
        client.receive(packet(tick, sequence, ack, (random.below(50), 1 + random.below(3))), now);
        let entity = EntityId { slot: random.below(60), generation: random.below(3) as u16 };
        if number % 7 == 0 {
            let tick = Tick(random.bits() as u32);
            client.receive(ServerMessage::Possession(Possession { tick, entity }), now);
        }
        advance_and_draw(&mut client, now);
    }
    assert!(client.remote_entities().count() < 200);
}

#[test]
fn a_flood_of_entities_ends_the_connection() {
    let mut client = joined(ClientSettings { entities_max: 1_000, ..ClientSettings::default() });
    let mut packets = 0;
    while *client.phase() == ClientPhase::Joined {
        client.receive(packet(2 + packets, packets as u16 + 1, 0, (packets * 30, 30)), Duration::from_millis(50));
        packets += 1;
        assert!(packets < 100, "still joined with {} entities", client.remote_entities().count());
    }
    assert_eq!(*client.phase(), ClientPhase::Closed(EndReason::TooManyEntities));
    assert!(client.events().any(|event| event == ClientEvent::Closed(EndReason::TooManyEntities)));
    assert!((33..=35).contains(&packets), "{packets}");
}

#[test]
fn invalid_rates_close_the_client() {
    for (tick_hz, snapshot_hz) in [(u32::MAX, 20), (20, 40), (0, 1), (1_001, 1)] {
        let mut client = Client::new(SandboxClient, ClientSettings::default(), JoinOptions::default());
        client.connected(DeliveryOrder::Ordered, Duration::ZERO);
        let welcome = Welcome { tick_hz, snapshot_hz, server_tick: Tick(u32::MAX), ..welcome(&client) };
        client.receive(ServerMessage::Welcome(welcome), Duration::ZERO);
        assert_eq!(*client.phase(), ClientPhase::Closed(EndReason::InvalidRates), "{tick_hz}, {snapshot_hz}");
    }
}

#[test]
fn the_largest_tick_is_tolerated() {
    let mut client = Client::new(SandboxClient, ClientSettings::default(), JoinOptions::default());
    client.connected(DeliveryOrder::Unordered, Duration::ZERO);
    client.receive(ServerMessage::Welcome(Welcome { server_tick: Tick(u32::MAX), ..welcome(&client) }), Duration::ZERO);
    client.set_input(Controls::default());
    for number in 1..=100_u16 {
        let now = Duration::from_millis(50) * u32::from(number);
        client.receive(packet(u32::MAX - 200 + u32::from(number) * 2, number, 0, (0, 2)), now);
        advance_and_draw(&mut client, now);
    }
    advance_and_draw(&mut client, Duration::from_secs(100_000));
    assert_eq!(*client.phase(), ClientPhase::Joined);
}

#[test]
fn unexpected_messages_are_ignored_and_events_are_bounded() {
    let mut client = joined(ClientSettings::default());
    let body = GameBody::Packed { code: 60_000, payload: vec![0; 100] };
    let entity = EntityId { slot: u32::MAX, generation: u16::MAX };
    for number in 0..5_000_u32 {
        let now = Duration::from_millis(u64::from(number));
        let event = Event { tick: Tick(number), sender: None, body: body.clone() };
        assert_eq!(client.read_event::<aether_testkit_client::rules::Hit>(&event), None);
        for message in [
            ServerMessage::Event(event),
            ServerMessage::Ack(Ack { seq: CommandSeq(u32::MAX), error: None }),
            ServerMessage::Correction(Correction { entity, ack_seq: InputSeq(u32::MAX), ..Correction::default() }),
            ServerMessage::Pong(Pong { client_time: ClientTime(u64::MAX), hold_us: u32::MAX, ..Pong::default() }),
            ServerMessage::Possession(Possession { tick: Tick(u32::MAX), entity }),
            ServerMessage::Cleared(Cleared { tick: Tick(u32::MAX) }),
            ServerMessage::Schema(vec![0xff; 40]),
            ServerMessage::Welcome(welcome(&client)),
            ServerMessage::Fragment(Fragment { message: MessageId(number), index: 9, total: 3, bytes: vec![1] }),
            ServerMessage::Fragment(Fragment { message: MessageId(number), index: 0, total: 200, bytes: vec![1; 900] }),
            packed(Vec::new()),
            packed(vec![0xff; 1_000]),
        ] {
            client.receive(message, now);
        }
        advance_and_draw(&mut client, now);
    }
    assert_eq!(*client.phase(), ClientPhase::Joined);
    for seq in 0..40_000 {
        client.receive(ServerMessage::Ack(Ack { seq: CommandSeq(seq), error: None }), Duration::ZERO);
    }
    assert!(client.stats().events_dropped > 0);
    assert!(client.events().count() <= 32_768);
    assert_eq!(client.stats().round_trip, None);
}

#[test]
fn damaged_frames_of_a_real_room_are_tolerated() {
    for seed in 0..6 {
        let mut scene = Scene::new(seed);
        let pilot = scene.join(DeliveryOrder::Unordered, network(30, 0.1));
        scene.run(Duration::from_secs(2));
        let mut random = Random::new(seed);
        for _ in 0..2_000 {
            let mut bytes = vec![0; 1 + random.below(60) as usize];
            bytes.iter_mut().for_each(|byte| *byte = random.bits() as u8);
            // Half of them are state packets with a plausible tick.
            let now = scene.now;
            if random.chance(50) && bytes.len() > 4 {
                let tick = scene.room.now().0 + random.below(9);
                bytes[..4].copy_from_slice(&tick.to_le_bytes());
                scene.pilots[pilot].client.receive(packed(bytes), now);
            } else {
                scene.pilots[pilot].client.receive_frame(&bytes, now);
            }
            if random.chance(20) {
                scene.step();
            }
        }
        scene.run(Duration::from_secs(1));
        assert!(scene.pilots[pilot].client.stats().faults > 500);
    }
}

#[test]
fn a_clock_that_goes_back_or_jumps_is_tolerated() {
    let mut client = joined(ClientSettings::default());
    for ms in [0, 5_000, 100, u64::MAX / 2, 0, u64::MAX] {
        let now = Duration::from_millis(ms);
        client.receive(packet(2, 1, 0, (0, 2)), now);
        advance_and_draw(&mut client, now);
        client.disconnected(now);
        client.connected(DeliveryOrder::Ordered, now);
        client.receive(ServerMessage::Welcome(welcome(&client)), now);
    }
    advance_and_draw(&mut client, Duration::MAX);
}
