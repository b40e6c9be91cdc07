//! Sizes of messages in a plain room type, over real sockets.

use super::{Order, Program, mirror, order_message, ships, steps};
use aether_bits::{BitWriter, Replicate};
use aether_engine::RoomSettings;
use aether_replication::DeliveryOrder;
use aether_sandbox_rules::{Controls, Ship};
use aether_testkit_server::{DEADLINE, PROTOBUF, TRANSPORTS, TestPlayer, TransportKind};
use aether_wire::{
    ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, PacketSeq, ServerMessage, Snapshot, StateAck, Tick,
    ViewTick,
};
use std::collections::BTreeMap;
use tokio::time::timeout;

/// Visible entities, with the own one.
const VISIBLE: usize = 40;
/// Exclusive upper bound of the bytes of a snapshot.
const SNAPSHOT_BYTES: usize = 512;
/// Exclusive upper bound of the bytes of an input.
const INPUT_BYTES: usize = 32;

/// Returns the next state packet and the size of its whole message.
async fn next_packet(player: &mut TestPlayer) -> (Vec<u8>, usize) {
    loop {
        let frame = timeout(DEADLINE, player.client.next_frame()).await.expect("state arrives in time");
        let frame = frame.expect("the connection is open");
        if let Ok(ServerMessage::Snapshot(Snapshot::Packed(packet))) = ServerMessage::decode(&frame) {
            return (packet.bytes, frame.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_of_40_visible_moving_entities_is_below_512_bytes() {
    let settings = RoomSettings::default();
    let program = Program::start(&[("plain", settings.clone(), VISIBLE as u32 - 1)], |_| {}).await;
    for transport in TRANSPORTS {
        let mut player = program.join(transport, PROTOBUF, "plain").await;
        let (order, is_ordered) = match transport {
            TransportKind::WebSocket => (DeliveryOrder::Ordered, true),
            TransportKind::WebTransport | TransportKind::Udp => (DeliveryOrder::Unordered, false),
        };
        let mut shown = mirror(order, &settings);
        player.send(order_message(&Order { moves: true, burn_ms: 0 })).await;
        let mut snapshots: BTreeMap<Tick, (usize, usize)> = BTreeMap::new();
        while snapshots.len() < 100 {
            let (packet, bytes) = next_packet(&mut player).await;
            let before: BTreeMap<_, Ship> =
                ships(&shown).into_iter().map(|(entity, ship)| (entity, ship.clone())).collect();
            shown.apply(&packet).expect("the packet is valid");
            if !is_ordered {
                player.send(ClientMessage::Ack(shown.acknowledgement())).await;
            }
            // The first snapshots contain whole entities; the others contain what has changed.
            if steps(&shown) > Some(40) && ships(&shown).len() == VISIBLE {
                let moved = ships(&shown).into_iter().filter(|(entity, ship)| before.get(entity) != Some(*ship));
                let (sum, moving) = snapshots.entry(shown.tick()).or_default();
                (*sum, *moving) = (*sum + bytes, *moving + moved.count());
            }
        }
        let full: Vec<usize> =
            snapshots.values().filter(|(_, moving)| *moving == VISIBLE).map(|(bytes, _)| *bytes).collect();
        assert!(full.len() >= 90, "all {VISIBLE} entities move in every snapshot, but only in {} of 100", full.len());
        let largest = full.iter().max().expect("there are snapshots");
        assert!(*largest < SNAPSHOT_BYTES, "{largest} bytes over {}", transport.name());
        player.send(ClientMessage::Leave).await;
        player.end().await;
    }
    program.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_is_below_32_bytes() {
    let settings = RoomSettings::default();
    let program = Program::start(&[("plain", settings.clone(), VISIBLE as u32 - 1)], |_| {}).await;
    for transport in TRANSPORTS {
        let mut player = program.join(transport, PROTOBUF, "plain").await;
        let order = match transport {
            TransportKind::WebSocket => DeliveryOrder::Ordered,
            TransportKind::WebTransport | TransportKind::Udp => DeliveryOrder::Unordered,
        };
        let mut shown = mirror(order, &settings);
        player.send(order_message(&Order { moves: true, burn_ms: 0 })).await;
        let (packet, _) = next_packet(&mut player).await;
        shown.apply(&packet).expect("the packet is valid");
        // Numbers are as high as after a day of play.
        let mut writer = BitWriter::new();
        Controls { thrust: true, left: false, right: true, fire: true }.write_full(&mut writer);
        let payload = InputPayload::Packed(InputBytes::new(&writer.to_bytes()).expect("it is short"));
        let view = ViewTick { tick: Tick(3_500_000), fraction: 200 };
        let input = |seq: u32, ack| {
            let payloads = vec![payload.clone()].into();
            let message = ClientMessage::Inputs(Inputs { first_seq: InputSeq(seq), payloads, ack, view });
            let mut bytes = Vec::new();
            message.encode(&mut bytes).expect("it can be encoded");
            assert!(bytes.len() < INPUT_BYTES, "{} bytes over {}", bytes.len(), transport.name());
            (message, bytes)
        };
        // With the loss of one of the last packets.
        input(3_500_000, StateAck::from_missing(PacketSeq(3_500_000), 1 << 20));
        let (message, bytes) = match transport {
            TransportKind::WebSocket => input(1, StateAck::NONE),
            TransportKind::WebTransport | TransportKind::Udp => input(1, shown.acknowledgement()),
        };
        player.client.send_frame(aether_wire::DeliveryPath::of(&message), &bytes).await.expect("it is sent");
        while shown.input_ack() != InputSeq(1) {
            let (packet, _) = next_packet(&mut player).await;
            shown.apply(&packet).expect("the packet is valid");
        }
        player.send(ClientMessage::Leave).await;
        player.end().await;
    }
    program.stop().await;
}
