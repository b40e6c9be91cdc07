//! Distant entities are updated less often, in turns, and never lost.

use crate::common::{Body, Random, Tag};
use crate::support::{Room, body_at, counts_of, nudge_all};
use aether_replication::{DeliveryOrder, UpdateRing};
use aether_wire::EntityId;

const NEAR: usize = 20;
const FAR: usize = 40;

/// Twenty bodies nearby and forty far away; the far ring is updated every fourth snapshot.
fn ringed(order: DeliveryOrder) -> (Room, Vec<EntityId>) {
    let mut room = Room::new(order);
    room.settings.rings =
        vec![UpdateRing { distance: 100.0, interval: 1 }, UpdateRing { distance: 500.0, interval: 4 }];
    room.view.center = Some([0.0, 0.0]);
    let mut ids = Vec::new();
    room.round(|world| {
        for index in 0..NEAR + FAR {
            // The last ones lie beyond the last ring.
            let x = if index < NEAR { 10.0 } else { 250.0 + 10.0 * index as f32 };
            ids.push(world.spawn(body_at(x, 0.0)).unwrap());
        }
    });
    assert!(room.agrees(), "new entities are sent at once at any distance");
    (room, ids)
}

/// Returns the number of updates of each entity over several snapshots in which all changed.
fn arrivals(room: &mut Room, ids: &[EntityId], snapshots: u32) -> Vec<u32> {
    let mut random = Random(2);
    let mut arrivals = vec![0; ids.len()];
    for _ in 0..snapshots {
        room.round(|world| nudge_all(world, &mut random));
        for (arrivals, &id) in arrivals.iter_mut().zip(ids) {
            *arrivals += u32::from(room.is_fresh(id));
        }
    }
    arrivals
}

#[test]
fn the_far_ring_is_updated_every_fourth_snapshot() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let (mut room, ids) = ringed(order);
        let arrivals = arrivals(&mut room, &ids, 40);
        assert!(arrivals[..NEAR].iter().all(|&count| count == 40), "{arrivals:?}");
        assert!(arrivals[NEAR..].iter().all(|&count| count == 10), "{arrivals:?}");
    }
}

#[test]
fn the_turns_of_a_ring_are_spread_over_the_snapshots() {
    let (mut room, _) = ringed(DeliveryOrder::Ordered);
    let mut random = Random(2);
    for _ in 0..12 {
        let packets = room.round(|world| nudge_all(world, &mut random));
        assert_eq!(counts_of(&packets), [0, 0, NEAR + FAR / 4]);
    }
}

#[test]
fn overload_stretches_all_rings_but_the_nearest() {
    let (mut room, ids) = ringed(DeliveryOrder::Ordered);
    room.ring_stretch = 2;
    let arrivals = arrivals(&mut room, &ids, 40);
    assert!(arrivals[..NEAR].iter().all(|&count| count == 40), "{arrivals:?}");
    assert!(arrivals[NEAR..].iter().all(|&count| count == 5), "{arrivals:?}");
}

#[test]
fn a_single_change_far_away_arrives_within_a_turn() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let (mut room, ids) = ringed(order);
        for &id in &ids[NEAR..] {
            room.round(|world| world.get_mut::<Body>(id).unwrap().heading += 1.0);
            let rounds = room.rounds_to_agreement(4);
            assert!(rounds <= 3, "{id} took {rounds} more snapshots");
        }
    }
}

#[test]
fn a_change_far_away_that_was_lost_is_sent_again() {
    let (mut room, ids) = ringed(DeliveryOrder::Unordered);
    for &id in &ids[NEAR..NEAR + 4] {
        room.tick(|world| world.get_mut::<Body>(id).unwrap().heading += 1.0);
        for _ in 0..4 {
            drop(room.packets());
            room.tick(|_| {});
        }
        let resend = room.settings.resend_ticks;
        assert!(room.rounds_to_agreement(resend + 8) <= resend + 4);
    }
}

#[test]
fn what_has_no_place_is_sent_with_every_snapshot() {
    let (mut room, _) = ringed(DeliveryOrder::Ordered);
    let mut id = EntityId::default();
    room.round(|world| id = world.spawn(Tag { name: "score".to_owned(), score: 0 }).unwrap());
    for _ in 0..8 {
        room.round(|world| world.get_mut::<Tag>(id).unwrap().score += 1);
        assert!(room.agrees());
    }
}

#[test]
fn a_client_that_takes_every_second_snapshot_gets_its_turns_too() {
    let (mut room, ids) = ringed(DeliveryOrder::Ordered);
    let mut random = Random(2);
    let mut seen = vec![false; ids.len()];
    for _ in 0..12 {
        room.tick(|world| nudge_all(world, &mut random));
        // The room numbers its snapshots for all clients; this one was not ready for that one.
        room.skip(|_| true);
        room.round(|world| nudge_all(world, &mut random));
        for (seen, &id) in seen.iter_mut().zip(&ids) {
            *seen |= room.is_fresh(id);
        }
    }
    let missed = seen.iter().filter(|&&seen| !seen).count();
    assert_eq!(missed, 0, "entities that were not updated once in twelve snapshots");
}
