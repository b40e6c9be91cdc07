//! A client that was not ready gets the newest state when it is ready, and nothing in between.

use crate::common::{Random, stir};
use crate::support::{HEADER_BYTES, Room, bytes_of, line, nudge_all};
use aether_replication::DeliveryOrder;

const LINKS: [DeliveryOrder; 2] = [DeliveryOrder::Ordered, DeliveryOrder::Unordered];

#[test]
fn after_a_hundred_missed_ticks_one_snapshot_is_enough() {
    for order in LINKS {
        for seed in 0..20 {
            let mut room = Room::new(order);
            let mut random = Random(seed);
            for _ in 0..30 {
                room.round(|world| stir(world, &mut random));
            }
            // Changes and removals wait for this client until its next snapshot.
            for _ in 0..100 {
                room.tick(|world| stir(world, &mut random));
            }
            let packets = room.packets();
            room.deliver(&packets);
            assert!(room.agrees(), "{order:?}, seed {seed}");
        }
    }
}

#[test]
fn what_a_client_missed_is_sent_once() {
    for order in LINKS {
        let mut room = Room::new(order);
        let mut random = Random(3);
        room.round(|world| drop(line(world, 50, 3.0)));
        let typical = bytes_of(&room.round(|world| nudge_all(world, &mut random)));
        for _ in 0..10 {
            room.tick(|world| nudge_all(world, &mut random));
        }
        let packets = room.packets();
        room.deliver(&packets);
        assert!(room.agrees());
        assert!(bytes_of(&packets) <= 2 * typical + HEADER_BYTES, "{order:?}: {} bytes", bytes_of(&packets));
    }
}

#[test]
fn snapshots_at_any_distance_are_right() {
    for order in LINKS {
        for seed in 0..20 {
            let mut room = Room::new(order);
            let mut random = Random(seed);
            for step in 0..60 {
                for _ in 0..random.below(12) {
                    room.tick(|world| stir(world, &mut random));
                }
                room.round(|world| stir(world, &mut random));
                assert!(room.agrees(), "{order:?}, seed {seed}, step {step}");
            }
        }
    }
}

#[test]
fn a_view_keeps_what_its_client_missed() {
    for order in LINKS {
        for seed in 0..20 {
            let mut room = Room::new(order);
            let mut random = Random(seed);
            for step in 0..120u64 {
                let sees = |slot: u32| Random(u64::from(slot) ^ (step / 7) << 32).chance(75);
                room.tick(|world| stir(world, &mut random));
                if random.chance(80) {
                    room.skip(sees);
                    continue;
                }
                let packets = room.packets_of(sees);
                room.deliver(&packets);
                assert!(room.agrees(), "{order:?}, seed {seed}, step {step}");
            }
        }
    }
}

#[test]
fn changes_that_no_snapshot_and_no_view_received_are_not_sent() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 5, 3.0));
    room.tick(|world| nudge_all(world, &mut Random(1)));
    let missed = std::mem::take(&mut room.changed);
    room.round(|_| {});
    assert!(!room.agrees(), "a frame that names no changes sends none");
    room.tick(|_| {});
    room.changed = missed;
    let packets = room.packets();
    room.deliver(&packets);
    assert!(room.agrees(), "named late, they are sent late");
}

#[test]
fn naming_what_the_client_has_already_costs_nothing() {
    for order in LINKS {
        let mut room = Room::new(order);
        room.round(|world| drop(line(world, 5, 3.0)));
        room.tick(|world| nudge_all(world, &mut Random(1)));
        let changed = room.changed.clone();
        let packets = room.packets();
        room.deliver(&packets);
        room.tick(|_| {});
        room.changed = changed;
        assert!(room.packets().is_empty(), "{order:?}: there is nothing to say");
        assert!(room.agrees());
    }
}

#[test]
fn a_slot_that_was_reused_several_times_meanwhile_brings_the_last_entity() {
    for order in LINKS {
        let mut room = Room::new(order);
        let mut ids = Vec::new();
        room.round(|world| ids = line(world, 3, 1.0));
        let mut last = ids[1];
        for _ in 0..3 {
            room.tick(|world| assert!(world.despawn(last)));
            room.tick(|world| last = line(world, 1, 1.0)[0]);
            assert_eq!(last.slot, ids[1].slot);
        }
        let packets = room.packets();
        room.deliver(&packets);
        assert_eq!((room.mirror.left(), room.mirror.entered()), (&[ids[1]][..], &[last][..]));
        assert!(room.agrees());
    }
}
