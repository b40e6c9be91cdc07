//! Packets of an established connection that are altered, repeated, or break a rule.

use std::net::SocketAddr;
use std::time::Duration;

use aether_rudp::{
    Acceptor, Channel, CloseCause, ConnectionState, DATAGRAM_BYTES_MAX, DropReason, Handshake, Settings,
};

use crate::support::pair::{CLIENT, SERVER, UNIX, token_key};
use crate::support::{Pair, Random};

const FRAGMENT_BYTES: usize = 1_096;
const ORDERED: u16 = 3;
const UNORDERED: u16 = 4;
const ORDERED_FRAGMENT: u16 = 5;
const UNORDERED_FRAGMENT: u16 = 6;

fn frame(kind: u16, body: &[u8]) -> Vec<u8> {
    let mut frame = (kind << 11 | body.len() as u16).to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

fn fragment(kind: u16, number: u16, index: u8, total: u8, length: usize) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let mut body = vec![high, low, index, total];
    body.resize(4 + length, 0);
    frame(kind, &body)
}

/// Feeds a payload to a new connection behind the seal.
fn feed(pair: &mut Pair, payload: &[u8]) -> Result<(), DropReason> {
    pair.server.handle_opened(pair.now, 0, payload, &mut |_, _| {})
}

fn client_packet(pair: &mut Pair, message: &[u8]) -> Vec<u8> {
    pair.client.send(Channel::ReliableOrdered, message).expect("an open connection");
    let mut packet = Vec::new();
    assert_eq!(pair.client.poll_transmit(pair.now, &mut packet), Some(SERVER));
    packet
}

#[test]
fn every_flipped_bit_is_noticed() {
    let mut pair = Pair::new();
    let packet = client_packet(&mut pair, b"a message");
    for position in 0..packet.len() {
        for bit in 0..8 {
            let mut altered = packet.clone();
            altered[position] ^= 1 << bit;
            let outcome = pair.server.handle(pair.now, CLIENT, &mut altered, &mut |_, _| panic!("delivered"));
            assert!(outcome.is_err(), "byte {position}, bit {bit}");
        }
    }
    let mut arrived = Vec::new();
    let mut take = |_, message: &[u8]| arrived.push(message.to_vec());
    pair.server.handle(pair.now, CLIENT, &mut packet.clone(), &mut take).unwrap();
    assert_eq!(arrived, [b"a message"]);
    assert_eq!(pair.server.state(), ConnectionState::Open);
}

#[test]
fn every_length_and_random_bytes_are_dropped() {
    let mut pair = Pair::new();
    let packet = client_packet(&mut pair, b"a message");
    for length in 0..packet.len() {
        let outcome = pair.server.handle(pair.now, CLIENT, &mut packet[..length].to_vec(), &mut |_, _| {});
        assert!(outcome.is_err(), "{length}");
    }
    let mut random = Random::new(3);
    for _ in 0..10_000 {
        let length = random.below(DATAGRAM_BYTES_MAX as u64 + 100) as usize;
        let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        if let Some(first) = bytes.first_mut().filter(|_| random.chance(800)) {
            *first = 0xD0 | (*first & 0x0F);
        }
        assert!(pair.server.handle(pair.now, CLIENT, &mut bytes.clone(), &mut |_, _| {}).is_err());
        assert!(pair.client.handle(pair.now, SERVER, &mut bytes, &mut |_, _| {}).is_err());
    }
    assert_eq!(pair.server.state(), ConnectionState::Open);
}

#[test]
fn a_repeated_packet_is_dropped() {
    let mut pair = Pair::new();
    let mut packets = Vec::new();
    for index in 0..5_u8 {
        packets.push(client_packet(&mut pair, &[index]));
    }
    let mut count = 0;
    for packet in packets.iter().rev().chain(&packets).chain(&packets) {
        let _ = pair.server.handle(pair.now, CLIENT, &mut packet.clone(), &mut |_, _| count += 1);
    }
    assert_eq!(count, 5);
    let outcome = pair.server.handle(pair.now, CLIENT, &mut packets[2].clone(), &mut |_, _| {});
    assert_eq!(outcome, Err(DropReason::Replayed));
}

#[test]
fn a_packet_of_the_own_direction_is_dropped() {
    let mut pair = Pair::new();
    let mut packet = client_packet(&mut pair, b"reflected");
    assert!(pair.client.handle(pair.now, SERVER, &mut packet, &mut |_, _| {}).is_err());
}

#[test]
fn data_before_the_handshake_is_dropped() {
    let acceptor = Acceptor::new(token_key(), Settings::default());
    let mut pair = Pair::new();
    let packet = client_packet(&mut pair, &[0; 5_000]);
    let mut answer = Vec::new();
    let outcome = acceptor.handle(pair.now, UNIX, CLIENT, 0, &packet, &mut answer);
    assert!(matches!(outcome, Handshake::Dropped(DropReason::Unknown)), "{outcome:?}");
}

#[test]
fn the_connection_closes_before_its_numbers_end() {
    let mut pair = Pair::new();
    pair.run(Duration::from_millis(100));
    let last = 1 << 28;
    pair.server.skip_to_number(last - 40);
    for _ in 0..60 {
        let _ = pair.server.send(Channel::Unreliable, b"x");
        let mut packet = Vec::new();
        while pair.server.poll_transmit(pair.now, &mut packet).is_some() {}
        pair.now += Duration::from_millis(60);
    }
    assert_eq!(pair.server.state(), ConnectionState::Closed(CloseCause::Exhausted));
    let mut packet = Vec::new();
    assert_eq!(pair.server.poll_transmit(pair.now, &mut packet), None);
}

#[test]
fn fragments_that_break_a_rule_close_the_connection() {
    let bad = [
        fragment(ORDERED_FRAGMENT, 0, 2, 2, FRAGMENT_BYTES),
        fragment(ORDERED_FRAGMENT, 0, 255, 2, FRAGMENT_BYTES),
        fragment(ORDERED_FRAGMENT, 0, 0, 0, FRAGMENT_BYTES),
        fragment(ORDERED_FRAGMENT, 0, 0, 1, FRAGMENT_BYTES),
        fragment(ORDERED_FRAGMENT, 0, 0, 255, FRAGMENT_BYTES),
        fragment(ORDERED_FRAGMENT, 0, 0, 61, FRAGMENT_BYTES),
        fragment(ORDERED_FRAGMENT, 0, 0, 2, FRAGMENT_BYTES - 1),
        fragment(ORDERED_FRAGMENT, 0, 1, 2, FRAGMENT_BYTES + 1),
        fragment(ORDERED_FRAGMENT, 0, 1, 2, 0),
        fragment(ORDERED_FRAGMENT, 0, 59, 60, FRAGMENT_BYTES),
        [fragment(ORDERED_FRAGMENT, 0, 0, 3, FRAGMENT_BYTES), fragment(ORDERED_FRAGMENT, 0, 1, 4, FRAGMENT_BYTES)]
            .concat(),
        [fragment(UNORDERED_FRAGMENT, 0, 0, 3, FRAGMENT_BYTES), frame(UNORDERED, &[0, 0, 1])].concat(),
        fragment(ORDERED_FRAGMENT, 5_000, 0, 2, FRAGMENT_BYTES),
        frame(ORDERED, &[0x10, 0x00, 1]),
        frame(ORDERED, &[1]),
        frame(0, &[]),
        frame(11, &[]),
        frame(31, &[1, 2, 3]),
        frame(8, &[1, 2, 3]),
        frame(10, &[1]),
        vec![0x0F],
        vec![0x0F, 0xFF, 1],
    ];
    for (index, payload) in bad.iter().enumerate() {
        let mut pair = Pair::new();
        assert_eq!(feed(&mut pair, payload), Err(DropReason::Malformed), "{index}");
        assert_eq!(pair.server.state(), ConnectionState::Closing, "{index}");
        pair.run(Duration::from_millis(200));
        assert_eq!(pair.server.state(), ConnectionState::Closed(CloseCause::Violation), "{index}");
        assert_eq!(pair.client.state(), ConnectionState::Closed(CloseCause::Peer(0xFFFF)), "{index}");
    }
}

#[test]
fn unfinished_messages_are_bounded() {
    for kind in [ORDERED_FRAGMENT, UNORDERED_FRAGMENT] {
        let mut pair = Pair::new();
        let accepted =
            (0..10_000).take_while(|number| feed(&mut pair, &fragment(kind, *number, 0, 2, FRAGMENT_BYTES)).is_ok());
        let accepted = accepted.count();
        assert!(accepted * 2 * FRAGMENT_BYTES <= 512 * 1_024, "{accepted}");
        assert_eq!(pair.server.state(), ConnectionState::Closing);
    }
    let mut pair = Pair::new();
    let accepted = (1..10_000_u16).take_while(|number| feed(&mut pair, &frame(ORDERED, &number.to_be_bytes())).is_ok());
    assert_eq!(accepted.count(), 4_095);
}

#[test]
fn acknowledgements_of_packets_never_sent_are_ignored() {
    let mut pair = Pair::new();
    pair.run(Duration::from_millis(100));
    for newest in (0..=u16::MAX).step_by(7) {
        let [high, low] = newest.to_be_bytes();
        let mut payload = vec![high, low, 0, 64];
        payload.extend_from_slice(&[0xFF; 64]);
        pair.server.handle_opened(pair.now, 1, &payload, &mut |_, _| {}).unwrap();
    }
    assert_eq!(pair.server.state(), ConnectionState::Open);
    let mut pair = Pair::new();
    assert_eq!(pair.server.handle_opened(pair.now, 1, &[0, 0, 0, 65], &mut |_, _| {}), Err(DropReason::Malformed));
    let mut pair = Pair::new();
    assert_eq!(pair.server.handle_opened(pair.now, 1, &[0, 0, 0], &mut |_, _| {}), Err(DropReason::Malformed));
}

#[test]
fn a_packet_from_another_address_moves_nothing() {
    let mut pair = Pair::new();
    pair.run(Duration::from_millis(100));
    let attacker = SocketAddr::new([203, 0, 113, 9].into(), 9);
    // The attacker forwards an authentic packet, faster than the path does.
    let mut packet = client_packet(&mut pair, b"forwarded");
    pair.server.handle(pair.now, attacker, &mut packet, &mut |_, _| {}).unwrap();
    let mut challenge = Vec::new();
    assert_eq!(pair.server.poll_transmit(pair.now, &mut challenge), Some(attacker));
    assert!(challenge.len() < 64, "{} bytes", challenge.len());
    assert_eq!(pair.server.peer(), CLIENT);
    // Even the challenge reaches the client, but its answer comes from the client's address.
    pair.client.handle(pair.now, SERVER, &mut challenge, &mut |_, _| {}).unwrap();
    pair.run(Duration::from_secs(3));
    assert_eq!(pair.server.peer(), CLIENT);
    assert_eq!(pair.server.state(), ConnectionState::Open);
}

#[test]
fn a_client_follows_no_other_server() {
    let mut pair = Pair::new();
    pair.server.send(Channel::Unreliable, b"x").unwrap();
    let mut packet = Vec::new();
    pair.server.poll_transmit(pair.now, &mut packet);
    let outcome = pair.client.handle(pair.now, CLIENT, &mut packet, &mut |_, _| {});
    assert_eq!(outcome, Err(DropReason::OtherAddress));
}
