//! Packets that arrive late, twice, or in another order.

use crate::common::{Body, Client, Random, Weather, ended, settings, stir, world};
use crate::support::{Room, line, mirror, nudge_all};
use aether_replication::{BASELINE_AGE_MAX, DeliveryOrder, SnapshotContext};
use aether_wire::{PacketSeq, StateAck};

#[test]
fn a_packet_that_comes_twice_changes_nothing() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(1);
    for _ in 0..60 {
        let packets = room.round(|world| stir(world, &mut random));
        let (hash, acknowledgement) = (room.mirror.hash(), room.mirror.acknowledgement());
        for packet in &packets {
            room.mirror.apply(packet).unwrap();
            assert!(room.mirror.entered().is_empty() && room.mirror.left().is_empty());
        }
        assert_eq!((room.mirror.hash(), room.mirror.acknowledgement()), (hash, acknowledgement));
    }
}

#[test]
fn an_overtaken_packet_does_not_turn_time_back() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(1);
    room.round(|world| drop(line(world, 10, 1.0)));
    room.tick(|world| nudge_all(world, &mut random));
    let early = room.packets();
    room.round(|world| nudge_all(world, &mut random));
    let (hash, tick) = (room.mirror.hash(), room.mirror.tick());
    for packet in &early {
        let applied = room.mirror.apply(packet).unwrap();
        assert!(!applied.stale && applied.tick < tick);
    }
    assert_eq!((room.mirror.hash(), room.mirror.tick()), (hash, tick));
    assert_eq!(room.mirror.acknowledgement(), StateAck::new(PacketSeq(3), 0b11), "it arrived all the same");
    room.round(|world| nudge_all(world, &mut random));
    assert!(room.agrees());
}

#[test]
fn a_removal_and_what_was_sent_before_it_may_change_places() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    room.round(|world| drop(line(world, 3, 1.0)));
    room.tick(|world| drop(line(world, 1, 1.0)));
    let full = room.packets();
    room.tick(|_| {});
    let removal = room.packets_of(|slot| slot < 3);
    room.deliver(&removal);
    assert!(room.agrees());
    room.deliver(&full);
    assert!(room.agrees(), "an entity that left before it was sent does not enter again");
    assert!(room.mirror.entered().is_empty());
}

#[test]
fn a_removal_that_comes_after_the_return_is_void() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 3, 1.0));
    room.tick(|_| {});
    let removal = room.packets_of(|slot| slot != 1);
    room.round(|_| {});
    room.deliver(&removal);
    assert!(room.mirror.contains(ids[1]) && room.mirror.left().is_empty());
    assert!(room.agrees());
}

#[test]
fn a_packet_that_is_too_old_is_stale_and_not_acknowledged() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(1);
    room.round(|world| drop(line(world, 10, 1.0)));
    room.tick(|world| nudge_all(world, &mut random));
    let early = room.packets();
    for _ in 0..=BASELINE_AGE_MAX {
        room.round(|world| nudge_all(world, &mut random));
    }
    let (hash, acknowledgement) = (room.mirror.hash(), room.mirror.acknowledgement());
    let applied = room.mirror.apply(&early[0]).unwrap();
    assert!(applied.stale);
    assert_eq!((room.mirror.hash(), room.mirror.acknowledgement()), (hash, acknowledgement));
}

#[test]
fn the_last_packet_of_a_snapshot_says_so() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    room.tick(|world| drop(line(world, 300, 1.0)));
    let packets = room.packets();
    assert!(packets.len() > 2);
    let mut client = mirror(DeliveryOrder::Unordered);
    let last: Vec<bool> = packets.iter().map(|packet| client.apply(packet).unwrap().last).collect();
    assert!(last[packets.len() - 1]);
    assert!(last[..packets.len() - 1].iter().all(|last| !last));
}

#[test]
fn the_packets_of_a_snapshot_stand_alone() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(1);
    room.round(|world| drop(line(world, 700, 1.0)));
    room.rounds_to_agreement(5);
    room.settings.bytes_max = 100_000;
    room.tick(|world| nudge_all(world, &mut random));
    let mut packets = room.packets();
    assert!(packets.len() > 2);
    packets.reverse();
    room.deliver(&packets);
    assert!(room.agrees());
}

/// A state that is too old for new packets may still be the baseline of a delayed packet.
#[test]
fn a_packet_from_an_old_baseline_may_be_overtaken() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 1, 1.0));
    for _ in 2..BASELINE_AGE_MAX - 2 {
        room.tick(|_| {});
    }
    let turn = |room: &mut Room| room.tick(|world| world.get_mut::<Body>(ids[0]).unwrap().heading += 1.0);
    turn(&mut room);
    let slow = room.packets();
    for _ in 0..3 {
        room.tick(|_| {});
    }
    turn(&mut room);
    assert_eq!(room.world.tick().0, 1 + BASELINE_AGE_MAX + 1, "tick 1 is too long ago for this one");
    let quick = room.packets();
    room.deliver(&quick);
    assert!(room.agrees());
    for packet in &slow {
        assert_eq!(room.mirror.apply(packet).map(|applied| applied.tick.0), Ok(BASELINE_AGE_MAX - 2));
    }
    assert!(room.agrees());
}

#[test]
fn the_input_acknowledgement_travels_with_the_state_and_never_falls_back() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(1);
    room.round(|world| drop(line(world, 2, 1.0)));
    room.input_ack.0 = 7;
    room.tick(|world| nudge_all(world, &mut random));
    let early = room.packets();
    room.input_ack.0 = 9;
    let packets = room.round(|_| {});
    assert_eq!(packets.len(), 1, "an input that was applied is news");
    assert_eq!(room.mirror.input_ack().0, 9);
    room.deliver(&early);
    assert_eq!(room.mirror.input_ack().0, 9);
}

#[test]
fn silence_is_broken_now_and_then_so_that_the_clock_goes_on() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    room.round(|world| drop(line(world, 2, 1.0)));
    let sent: Vec<usize> = (0..100).map(|_| room.round(|_| {}).len()).collect();
    let count: usize = sent.iter().sum();
    assert!((4..=6).contains(&count), "{count} packets in 100 silent snapshots");
    assert!(room.mirror.tick().0 > 80);
}

#[test]
fn a_link_that_loses_most_and_delays_the_rest_is_survived() {
    for seed in 0..20 {
        let (mut world, mut random) = (world(), Random(seed));
        let mut client = Client::new(&world, DeliveryOrder::Unordered);
        let mut net = (Weather { loss: 70, delay: 15, doubles: 20 }, Random(!seed));
        for step in 0..300 {
            world.advance();
            if step < 200 {
                stir(&mut world, &mut random);
            } else {
                net.0 = Weather { loss: 0, delay: 0, doubles: 0 };
            }
            world.settle();
            let context =
                SnapshotContext { world: &world, changed: world.changed(), settings: &settings(), ring_stretch: 1 };
            client.exchange(&context, &ended(&world), step, &mut net, |_| true);
        }
        assert!(client.agrees(&world), "seed {seed}");
    }
}
