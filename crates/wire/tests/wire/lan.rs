//! Packets of the local network: round trips, bounds and hostile bytes.

use aether_wire::lan::{
    FRAME_PAYLOAD_BYTES_MAX, FrameBody, KEY_FRAME_PARTS_MAX, KeyFrame, KeyFrameAssembler, LAN_DATAGRAM_BYTES_MAX,
    LanAnswer, LanDecodeError, LanOffer, LanQuery, LanRoom, LanWatch, OfferedStream, QUERY_BYTES, SIGNATURE_BYTES,
    ServerKey, StreamFrame, StreamRefusal, WATCH_BYTES, key_frame_parts,
};
use aether_wire::limits::{SCHEMA_BYTES_MAX, STATE_PACKET_BYTES_MAX};
use aether_wire::{SchemaHash, Tick};
use proptest::collection::vec;
use proptest::prelude::*;
use std::net::{Ipv4Addr, SocketAddrV4};

const KEY: ServerKey = ServerKey([7; 32]);

fn answer(rooms: Vec<LanRoom>) -> LanAnswer {
    LanAnswer {
        nonce: 9,
        key: KEY,
        http_port: 7350,
        is_secure: true,
        host: "play.example.com".to_owned(),
        name: "Den".to_owned(),
        version: "0.1.0".to_owned(),
        room_types: vec!["asteroids".to_owned(), "arena".to_owned()],
        rooms_total: rooms.len() as u16,
        first_room: 0,
        rooms,
    }
}

fn room(number: usize) -> LanRoom {
    LanRoom {
        id: format!("0190f5c2-1111-7222-8333-{number:012}.node"),
        code: "F4MDHS".to_owned(),
        room_type: "asteroids".to_owned(),
        players: 3,
        players_max: 16,
        label: "Friday".to_owned(),
        can_watch: true,
    }
}

fn signed(mut packet: Vec<u8>) -> Vec<u8> {
    packet.extend_from_slice(&[0; SIGNATURE_BYTES]);
    packet
}

#[test]
fn queries_and_watches_are_padded_and_shorter_ones_are_refused() {
    let query = LanQuery { nonce: 5, server: KEY.id(), first_room: 2, name: "friday".to_owned() };
    let packet = query.encode();
    assert_eq!(packet.len(), QUERY_BYTES);
    assert_eq!(LanQuery::decode(&packet), Ok(query));
    assert_eq!(LanQuery::decode(&packet[..QUERY_BYTES - 1]), Err(LanDecodeError::Length));
    let watch = LanWatch { nonce: 5, server: KEY.id(), room: "room.node".to_owned() };
    let packet = watch.encode();
    assert_eq!(packet.len(), WATCH_BYTES);
    assert_eq!(LanWatch::decode(&packet), Ok(watch));
    assert_eq!(LanWatch::decode(&packet[..100]), Err(LanDecodeError::Length));
    assert_eq!(LanQuery::decode(&packet), Err(LanDecodeError::Foreign), "another kind");
}

#[test]
fn an_answer_has_as_many_rooms_as_fit_and_is_never_longer_than_a_query() {
    let all = answer((0..40).map(room).collect());
    let (packet, listed) = all.encode();
    let packet = signed(packet);
    assert!(packet.len() <= QUERY_BYTES && (5..40).contains(&listed), "{} bytes, {listed} rooms", packet.len());
    let decoded = LanAnswer::decode(&packet).expect("a valid answer");
    assert_eq!(decoded.rooms, all.rooms[..listed]);
    assert_eq!(decoded.rooms_total, 40);
    assert_eq!(LanAnswer { rooms: all.rooms.clone(), ..decoded }, all);
}

#[test]
fn texts_are_cut_and_lose_their_control_characters() {
    let long = LanAnswer {
        name: "é".repeat(300),
        host: "h".repeat(400),
        version: "\u{1b}[31m1".to_owned(),
        room_types: (0..99).map(|number| format!("{number}-{}", "t".repeat(60))).collect(),
        ..answer(vec![LanRoom { label: "l".repeat(1_000), id: "i".repeat(500), ..room(0) }; 99])
    };
    let packet = signed(long.encode().0);
    assert!(packet.len() <= LAN_DATAGRAM_BYTES_MAX);
    let decoded = LanAnswer::decode(&packet).expect("a valid answer");
    assert_eq!((decoded.name.as_str(), decoded.version.as_str()), ("é".repeat(32).as_str(), "[31m1"));
    assert_eq!(decoded.rooms[0].label.len(), 64);
    // A forged escape sequence is refused, so that it cannot reach a terminal.
    let mut forged = signed(answer(Vec::new()).encode().0);
    let at = forged.windows(3).position(|window| window == b"Den").expect("the name");
    forged[at] = 0x1b;
    assert_eq!(LanAnswer::decode(&forged), Err(LanDecodeError::Malformed));
}

#[test]
fn offers_say_where_a_stream_is_or_why_there_is_none() {
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 255, 73, 51), 7353);
    for stream in [Ok(OfferedStream { stream: 77, group }), Err(StreamRefusal::NotOffered), Err(StreamRefusal::TooMany)]
    {
        let offer = LanOffer { nonce: 1, key: KEY, stream };
        let packet = signed(offer.encode());
        assert!(packet.len() < WATCH_BYTES);
        assert_eq!(LanOffer::decode(&packet), Ok(offer));
    }
    let unicast = OfferedStream { stream: 1, group: SocketAddrV4::new(Ipv4Addr::LOCALHOST, 1) };
    let packet = signed(LanOffer { nonce: 1, key: KEY, stream: Ok(unicast) }.encode());
    assert_eq!(LanOffer::decode(&packet), Err(LanDecodeError::Malformed), "not a multicast group");
}

#[test]
fn a_server_key_is_text_of_64_digits() {
    assert_eq!(KEY.to_string().parse(), Ok(KEY));
    for bad in ["", "07", &"g".repeat(64), &"0".repeat(65), &"+1".repeat(32)] {
        assert!(bad.parse::<ServerKey>().is_err(), "{bad}");
    }
    assert_ne!(ServerKey([0; 32]).id(), 0);
}

fn key_frame(schema_bytes: usize, packets: usize) -> KeyFrame {
    KeyFrame {
        room: "room.node".to_owned(),
        room_type: "asteroids".to_owned(),
        tick_hz: 60,
        snapshot_hz: 20,
        tick: Tick(1_234),
        schema_hash: SchemaHash(99),
        schema: vec![3; schema_bytes],
        packets: (0..packets).map(|number| vec![number as u8; STATE_PACKET_BYTES_MAX]).collect(),
    }
}

#[test]
fn the_largest_key_frame_fits_its_parts_and_arrives_in_any_order_and_twice() {
    let largest = key_frame(SCHEMA_BYTES_MAX, 128);
    let bytes = largest.encode();
    let parts: Vec<&[u8]> = key_frame_parts(&bytes).collect();
    assert!(parts.len() <= KEY_FRAME_PARTS_MAX);
    let count = parts.len() as u16;
    let mut assembler = KeyFrameAssembler::default();
    let mut finished = Vec::new();
    for copy in 0..2 {
        for (number, part) in parts.iter().enumerate().rev() {
            finished.extend(assembler.push(4, (number as u16, count), part));
        }
        assert_eq!(finished.len(), 1, "copy {copy}");
    }
    assert_eq!(KeyFrame::decode(&finished[0]), Ok(largest));
    assert_eq!(assembler.push(3, (0, 1), b"old"), None);
    assert_eq!(assembler.push(5, (0, 1), b"new"), Some(b"new".to_vec()));
    assert_eq!(assembler.epoch(), 5);
}

#[test]
fn a_new_epoch_replaces_an_unfinished_key_frame() {
    let mut assembler = KeyFrameAssembler::default();
    assert_eq!(assembler.push(1, (0, 2), b"a"), None);
    assert_eq!(assembler.push(2, (1, 2), b"d"), None);
    assert_eq!(assembler.push(1, (1, 2), b"b"), None, "too late");
    assert_eq!(assembler.push(2, (0, 2), b"c"), Some(b"cd".to_vec()));
    assert_eq!(assembler.push(3, (0, u16::MAX), b"x"), None, "too many parts");
    assert_eq!(assembler.push(3, (0, 0), b"x"), None);
    assert_eq!(assembler.push(3, (2, 2), b"x"), None);
}

proptest! {
    #![proptest_config(crate::cases(2_048))]

    #[test]
    fn frames_survive_a_round_trip(
        stream: u64, epoch: u32, sequence: u32, key: bool, payload in vec(any::<u8>(), 1..FRAME_PAYLOAD_BYTES_MAX)
    ) {
        let body = match key {
            true => FrameBody::KeyPart { part: 3, parts: 9, bytes: &payload },
            false => FrameBody::State(&payload),
        };
        let frame = StreamFrame { stream, epoch, sequence, body };
        let packet = signed(frame.encode());
        prop_assert!(packet.len() <= LAN_DATAGRAM_BYTES_MAX);
        prop_assert_eq!(StreamFrame::decode(&packet), Ok(frame));
    }

    #[test]
    fn hostile_bytes_never_panic(
        kind in 0u8..8, noise in vec(any::<u8>(), 0..1_300), flips in vec((any::<usize>(), any::<u8>()), 0..6)
    ) {
        let mut random = b"ALAN\x01".to_vec();
        random.push(kind);
        random.extend_from_slice(&noise);
        let frame = StreamFrame { stream: 1, epoch: 1, sequence: 1, body: FrameBody::State(b"state") };
        let offer = LanOffer { nonce: 1, key: KEY, stream: Err(StreamRefusal::TooMany) };
        let watch = LanWatch { nonce: 1, server: 1, room: "room".to_owned() };
        let mut packets = vec![
            noise,
            random,
            LanQuery::default().encode(),
            signed(answer(vec![room(1), room(2)]).encode().0),
            watch.encode(),
            signed(offer.encode()),
            signed(frame.encode()),
            key_frame(10, 2).encode(),
        ];
        for packet in &mut packets {
            for &(at, value) in &flips {
                if !packet.is_empty() {
                    let at = at % packet.len();
                    packet[at] = value;
                }
            }
            let _ = LanQuery::decode(packet);
            let _ = LanWatch::decode(packet);
            let _ = LanOffer::decode(packet);
            let _ = KeyFrame::decode(packet);
            if let Ok(answer) = LanAnswer::decode(packet) {
                prop_assert!(answer.rooms.len() <= 255 && answer.room_types.len() <= 16);
            }
            if let Ok(StreamFrame { body: FrameBody::KeyPart { part, parts, bytes }, epoch, .. }) = StreamFrame::decode(packet) {
                let _ = KeyFrameAssembler::default().push(epoch, (part, parts), bytes);
            }
        }
    }
}
