//! Only acknowledged packets count as received.

use crate::common::{Body, Random, Tag, stir};
use crate::support::{Room, bytes_of, counts_of, line, mirror, nudge_all, typeless_mirror};
use aether_replication::DeliveryOrder;
use aether_wire::{PacketSeq, StateAck};
use aether_world::World;

#[test]
fn without_an_acknowledgement_whole_entities_are_sent() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(1);
    room.tick(|world| drop(line(world, 5, 1.0)));
    for _ in 0..5 {
        room.tick(|world| nudge_all(world, &mut random));
        let packets = room.packets();
        assert_eq!(counts_of(&packets), [0, 5, 0]);
        for packet in &packets {
            room.mirror.apply(packet).unwrap();
        }
        assert!(room.agrees());
    }
    room.view.acknowledge(room.mirror.acknowledgement());
    room.tick(|world| nudge_all(world, &mut random));
    assert_eq!(counts_of(&room.packets()), [0, 0, 5]);
}

#[test]
fn acknowledging_what_was_never_sent_changes_nothing() {
    let mut random = Random(1);
    let mut room = Room::new(DeliveryOrder::Unordered);
    room.view.acknowledge(StateAck::new(PacketSeq(1), u64::MAX));
    room.tick(|world| drop(line(world, 5, 1.0)));
    assert_eq!(room.packets().len(), 1);
    for latest in [2, 3, 64, 65, 66, 1_000, u32::MAX] {
        room.view.acknowledge(StateAck::new(PacketSeq(latest), u64::MAX));
        room.view.acknowledge(StateAck::new(PacketSeq(latest), 0));
    }
    room.view.acknowledge(StateAck::new(PacketSeq(0), u64::MAX));
    room.tick(|world| nudge_all(world, &mut random));
    assert_eq!(counts_of(&room.packets()), [0, 5, 0], "the client is not known to have anything");
}

#[test]
fn old_acknowledgements_that_come_again_change_nothing() {
    let (mut first, mut second) = (Room::new(DeliveryOrder::Unordered), Room::new(DeliveryOrder::Unordered));
    let (mut one, mut other) = (Random(7), Random(7));
    let mut old = Vec::new();
    for step in 0..120 {
        let packets = first.round(|world| stir(world, &mut one));
        second.tick(|world| stir(world, &mut other));
        assert_eq!(second.packets(), packets, "step {step}");
        second.deliver(&packets);
        old.push(second.mirror.acknowledgement());
        for &ack in old.iter().rev().skip(1).step_by(5) {
            second.view.acknowledge(ack);
        }
    }
    assert!(first.agrees() && second.agrees());
}

#[test]
fn a_packet_that_was_skipped_long_enough_is_lost_and_its_content_sent_again() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 2, 1.0));
    room.tick(|world| world.get_mut::<Body>(ids[0]).unwrap().heading = 1.0);
    drop(room.packets());
    let turn = |world: &mut World| {
        world.get_mut::<Body>(ids[1]).unwrap().heading += 0.5;
    };
    let mut rounds = 0;
    while !room.agrees() {
        room.round(turn);
        rounds += 1;
        assert!(rounds < 20, "later packets tell that it was lost");
    }
    assert!(rounds > 3, "a little overtaking is not loss");
}

#[test]
fn a_packet_older_than_any_baseline_is_lost_regardless_of_the_settings() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    room.settings.resend_ticks = 1_000_000;
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 2, 1.0));
    room.tick(|world| world.get_mut::<Body>(ids[0]).unwrap().heading = 1.0);
    drop(room.packets());
    let mut packets_sent = 0;
    while !room.agrees() {
        room.tick(|world| world.get_mut::<Body>(ids[1]).unwrap().heading += 0.5);
        for packet in room.packets() {
            room.mirror.apply(&packet).unwrap();
            packets_sent += 1;
        }
        assert!(packets_sent < 100, "the log of packets in flight has no end");
    }
    assert!(packets_sent > 50);
}

#[test]
fn a_lost_removal_is_sent_again() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 3, 1.0));
    room.tick(|world| assert!(world.despawn(ids[1])));
    assert_eq!(counts_of(&room.packets()), [1, 0, 0]);
    assert!(!room.agrees());
    let rounds = room.rounds_to_agreement(60);
    assert!(rounds >= room.settings.resend_ticks, "not before it counts as lost: {rounds} rounds");
}

#[test]
fn what_was_sent_before_an_entity_left_does_not_count_after_its_return() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 2, 1.0));
    room.tick(|world| nudge_all(world, &mut Random(1)));
    for packet in room.packets() {
        room.mirror.apply(&packet).unwrap();
    }
    let late = room.mirror.acknowledgement();
    room.tick(|_| {});
    let removal = room.packets_of(|slot| slot == 0);
    assert_eq!(counts_of(&removal), [1, 0, 0]);
    room.tick(|_| {});
    assert_eq!(counts_of(&room.packets()), [0, 1, 0], "it is back, but the packet is lost");
    room.view.acknowledge(late);
    for packet in &removal {
        room.mirror.apply(packet).unwrap();
    }
    let packets = room.round(|world| world.get_mut::<Body>(ids[1]).unwrap().heading += 1.0);
    assert_eq!(counts_of(&packets), [0, 1, 0], "the client may have dropped it meanwhile");
    assert!(room.agrees());
}

#[test]
fn false_acknowledgements_harm_only_their_sender() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(3);
    for step in 1..200 {
        room.tick(|world| stir(world, &mut random));
        let packets = room.packets();
        assert!(bytes_of(&packets) <= 6_000);
        room.view.acknowledge(StateAck::new(PacketSeq(step), random.next()));
    }
}

#[test]
fn a_client_that_never_acknowledges_keeps_getting_right_and_bounded_state() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(11);
    let mut typeless = typeless_mirror(DeliveryOrder::Unordered, &room.world);
    let mut most = 0;
    for step in 0..5_000 {
        room.tick(|world| {
            if step < 10 || step % 5 == 0 {
                stir(world, &mut random);
            }
        });
        let packets = room.packets_of(|slot| Random(u64::from(slot) ^ (step / 50) << 32).chance(80));
        most = most.max(bytes_of(&packets));
        for packet in &packets {
            let applied = room.mirror.apply(packet).unwrap();
            assert_eq!(typeless.apply(packet), Ok(applied));
            assert!(!applied.stale);
            assert_eq!(counts_of(std::slice::from_ref(packet))[2], 0, "there is no baseline for a delta");
        }
        assert!(room.agrees(), "step {step}");
    }
    assert!(most < 2_500, "{most} bytes in one snapshot");
}

#[test]
fn where_older_values_are_forgotten_whole_entities_are_sent() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut room = Room::new(order);
        room.world = World::builder().component::<Body>().component::<Tag>().versions(2).build();
        let mut random = Random(6);
        let mut whole = 0;
        for step in 0..200 {
            room.tick(|world| stir(world, &mut random));
            let packets = room.packets();
            whole += counts_of(&packets)[1];
            for packet in &packets {
                room.mirror.apply(packet).unwrap();
            }
            if step % 4 == 3 {
                room.view.acknowledge(room.mirror.acknowledgement());
            }
            assert!(room.agrees(), "{order:?}, step {step}");
        }
        assert!(whole > 300, "{order:?}: {whole} whole entities");
    }
}

#[test]
fn a_late_join_needs_no_earlier_packets() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    let mut random = Random(12);
    for _ in 0..300 {
        room.tick(|world| stir(world, &mut random));
        drop(room.packets());
    }
    room.mirror = mirror(DeliveryOrder::Unordered);
    for _ in 0..room.settings.resend_ticks + 2 {
        room.tick(|world| nudge_all(world, &mut random));
        for packet in room.packets() {
            room.mirror.apply(&packet).unwrap();
        }
    }
    assert!(room.agrees());
}

#[test]
fn an_acknowledgement_that_comes_after_its_packet_was_given_up_still_counts() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    room.settings.resend_ticks = 5;
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 50, 1.0));
    // Every acknowledgement takes 20 ticks, four times as long as packets are waited for.
    let mut acks = std::collections::VecDeque::new();
    let mut counts = [0; 3];
    for _ in 0..120 {
        room.tick(|world| {
            for &id in &ids {
                world.get_mut::<Body>(id).unwrap().heading += 0.3;
            }
        });
        let packets = room.packets();
        counts = counts_of(&packets);
        for packet in &packets {
            room.mirror.apply(packet).unwrap();
        }
        acks.push_back(room.mirror.acknowledgement());
        if acks.len() > 20 {
            room.view.acknowledge(acks.pop_front().unwrap());
        }
    }
    assert_eq!(counts, [0, 0, 50], "differences are sent, and no whole entities");
    assert!(room.agrees());
}
