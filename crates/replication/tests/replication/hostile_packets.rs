//! No invalid packet makes a client fail.

use crate::common::{Random, stir};
use crate::support::{Room, mirror, typeless_mirror};
use aether_bits::{BitWriter, ReadError};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::StateAck;
use aether_wire::limits::SLOTS_MAX;

const LINKS: [DeliveryOrder; 2] = [DeliveryOrder::Ordered, DeliveryOrder::Unordered];

/// Maximum number of entries in a packet of a thousand bytes: a removal can take a single bit.
const ENTRIES_MAX: usize = 3 * 1_023;

/// A short history of packets, and the last of them.
fn history(order: DeliveryOrder, seed: u64) -> (Room, Vec<Vec<u8>>, Vec<u8>) {
    let mut room = Room::new(order);
    let mut random = Random(seed);
    let mut packets = Vec::new();
    for _ in 0..12 {
        packets.extend(room.round(|world| stir(world, &mut random)));
    }
    let last = packets.pop().unwrap();
    (room, packets, last)
}

fn replay(mut client: Mirror, packets: &[Vec<u8>]) -> Mirror {
    for packet in packets {
        client.apply(packet).unwrap();
    }
    client
}

/// Calls everything that a client can call after a packet.
fn exercise(client: &Mirror) {
    assert!(client.entities().count() <= ENTRIES_MAX);
    let _ = client.hash();
    for id in client.entities() {
        assert!(client.contains(id) && id.slot < SLOTS_MAX);
        let _ = (client.value(id, 0), client.value(id, 31));
    }
}

#[test]
fn random_bytes_are_refused_or_read() {
    let mut random = Random(1);
    for order in LINKS {
        for _ in 0..4_000 {
            let len = random.below(120) as usize;
            let bytes: Vec<u8> = (0..len).map(|_| random.next() as u8).collect();
            let mut client = mirror(order);
            let _ = client.apply(&bytes);
            exercise(&client);
        }
    }
}

#[test]
fn random_content_behind_a_good_header_is_refused_or_read() {
    let mut random = Random(2);
    for order in LINKS {
        let (room, packets, last) = history(order, 2);
        let mut typed = replay(mirror(order), &packets);
        let mut typeless = replay(typeless_mirror(order, &room.world), &packets);
        for _ in 0..3_000 {
            let mut bytes = last.clone();
            bytes.truncate(8);
            bytes.extend((0..random.below(80)).map(|_| random.next() as u8 & random.next() as u8));
            assert_eq!(typed.apply(&bytes), typeless.apply(&bytes));
            exercise(&typed);
        }
    }
}

#[test]
fn a_packet_cut_anywhere_is_refused() {
    for order in LINKS {
        let (room, packets, last) = history(order, 3);
        for cut in 0..last.len() {
            let mut client = replay(mirror(order), &packets);
            let before = client.acknowledgement();
            assert!(client.apply(&last[..cut]).is_err(), "{cut} of {} bytes", last.len());
            assert_eq!(client.acknowledgement(), before, "an unreadable packet is not acknowledged");
            exercise(&client);
        }
        let mut client = replay(mirror(order), &packets);
        client.apply(&last).unwrap();
        assert_eq!(client.hash(), room.mirror.hash());
    }
}

#[test]
fn after_a_packet_cut_anywhere_the_whole_one_is_still_good() {
    let (room, packets, last) = history(DeliveryOrder::Unordered, 4);
    for cut in 0..last.len() {
        let mut client = replay(mirror(DeliveryOrder::Unordered), &packets);
        assert!(client.apply(&last[..cut]).is_err());
        client.apply(&last).unwrap();
        assert_eq!(client.hash(), room.mirror.hash(), "cut at {cut}");
    }
}

#[test]
fn a_packet_with_any_bit_turned_is_refused_or_read() {
    for order in LINKS {
        for seed in 0..3 {
            let (room, packets, last) = history(order, seed);
            for bit in 0..last.len() * 8 {
                let mut bytes = last.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let mut typed = replay(mirror(order), &packets);
                let mut typeless = replay(typeless_mirror(order, &room.world), &packets);
                assert_eq!(typed.apply(&bytes), typeless.apply(&bytes), "bit {bit}");
                exercise(&typed);
                exercise(&typeless);
                // The client must continue after any packet.
                let _ = typed.apply(&last);
            }
        }
    }
}

/// A packet with two entries of one kind at these distances, and zeros after them.
fn naming(first: u32, second: u32, kind: usize) -> Vec<u8> {
    let mut writer = BitWriter::new();
    for (value, bits) in [(5, 32), (1, 16), (0, 16), (0, 1), (0, 3)] {
        writer.write(value, bits);
    }
    for part in 0..3 {
        writer.write_bool(part == kind);
        writer.write(if part == kind { 2 } else { 0 }, if part == kind { 10 } else { 0 });
    }
    for gap in [first, second] {
        let width = (gap + 1).ilog2();
        writer.write((1 << width) - 1, width + 1);
        writer.write(u64::from(gap + 1 - (1 << width)), width);
        if kind == 1 {
            writer.write(0, 16 + 2);
        }
    }
    writer.to_bytes()
}

#[test]
fn a_slot_beyond_the_limit_is_refused() {
    for kind in 0..2 {
        let mut client = mirror(DeliveryOrder::Unordered);
        assert!(client.apply(&naming(SLOTS_MAX - 2, 0, kind)).is_ok(), "the last slot is good");
        for (first, second) in [(SLOTS_MAX - 1, 0), (0, SLOTS_MAX - 1), (SLOTS_MAX / 2, SLOTS_MAX / 2)] {
            let mut client = mirror(DeliveryOrder::Unordered);
            assert_eq!(client.apply(&naming(first, second, kind)), Err(ReadError::OutOfRange));
            assert_eq!(client.acknowledgement(), StateAck::NONE);
        }
    }
}

#[test]
fn an_update_of_the_unknown_is_refused() {
    for order in LINKS {
        let (_, packets, last) = history(order, 6);
        let mut client = mirror(order);
        let refused = packets.iter().chain([&last]).filter_map(|packet| client.apply(packet).err());
        assert!(refused.count() == 0, "the history itself is good");
        let mut client = mirror(order);
        assert_eq!(client.apply(&last), Err(ReadError::NoBaseline));
    }
}
