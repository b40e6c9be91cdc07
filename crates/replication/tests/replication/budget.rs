//! A snapshot stays within its budget, sends the most urgent entities first, and starves none.

use crate::common::{Body, Random, Tag, body};
use crate::support::{HEADER_BYTES, Room, body_at, bytes_of, counts_of, line, nudge_all};
use aether_replication::{DeliveryOrder, SendSettings};
use aether_wire::EntityId;

const LINKS: [DeliveryOrder; 2] = [DeliveryOrder::Ordered, DeliveryOrder::Unordered];

/// Runs 80 snapshots of a world in which everything changes; `sees` is what the client sees.
fn hold_to_budget(order: DeliveryOrder, bytes_max: usize, entities: usize, sees: fn(u32) -> bool) {
    let mut room = Room::new(order);
    room.settings = SendSettings { bytes_max, ..room.settings };
    room.view.center = Some([0.0, 0.0]);
    let mut random = Random(bytes_max as u64);
    for step in 0..80 {
        room.tick(|world| {
            if step == 0 {
                for _ in 0..entities {
                    world.spawn(body(&mut random)).unwrap();
                }
            }
            nudge_all(world, &mut random);
        });
        let packets = room.packets_of(sees);
        room.deliver(&packets);
        for packet in &packets {
            assert!(packet.len() <= 1_000, "a packet of {} bytes", packet.len());
        }
        let (bytes, most) = (bytes_of(&packets), bytes_max + HEADER_BYTES * packets.len());
        assert!(bytes <= most, "{order:?}, snapshot {step}: {bytes} bytes, {bytes_max} are allowed beside headers");
    }
}

#[test]
fn a_snapshot_of_a_crowd_stays_within_its_bytes() {
    for order in LINKS {
        for bytes_max in [100, 300, 1_200, 4_000] {
            hold_to_budget(order, bytes_max, 600, |_| true);
        }
    }
}

#[test]
fn a_snapshot_of_few_among_many_stays_within_its_bytes() {
    for order in LINKS {
        for bytes_max in [100, 300] {
            hold_to_budget(order, bytes_max, 9_000, |slot| slot % 90 == 0);
        }
    }
}

#[test]
fn within_the_budget_everything_is_sent_at_once() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    let mut random = Random(1);
    room.round(|world| drop(line(world, 100, 1.0)));
    for _ in 0..20 {
        room.round(|world| nudge_all(world, &mut random));
        assert!(room.agrees());
    }
}

/// A hundred bodies on a line that the client has, all of which then change once under a budget for about twenty.
fn squeezed(focus: Option<usize>) -> (Room, Vec<EntityId>) {
    let mut room = Room::new(DeliveryOrder::Ordered);
    room.view.center = Some([0.0, 0.0]);
    let mut ids = Vec::new();
    room.round(|world| ids = line(world, 100, 9.0));
    assert!(room.agrees());
    room.view.focus = focus.map(|index| ids[index]);
    room.settings.bytes_max = 150;
    room.round(|world| nudge_all(world, &mut Random(3)));
    (room, ids)
}

#[test]
fn the_nearest_are_sent_first() {
    let (room, ids) = squeezed(None);
    let fresh: Vec<bool> = ids.iter().map(|&id| room.is_fresh(id)).collect();
    let sent = fresh.iter().filter(|&&fresh| fresh).count();
    assert!((10..60).contains(&sent), "{sent} fitted");
    assert!(fresh[..sent].iter().all(|&fresh| fresh), "the {sent} nearest");
}

#[test]
fn the_players_own_entity_is_sent_first_wherever_it_is() {
    let (mut room, ids) = squeezed(Some(99));
    assert!(room.is_fresh(ids[99]));
    let mut random = Random(5);
    // A budget so small that all others grow very urgent.
    room.settings.bytes_max = 30;
    for _ in 0..50 {
        room.round(|world| nudge_all(world, &mut random));
        assert!(room.is_fresh(ids[99]), "it is never left waiting");
    }
}

#[test]
fn what_waited_longest_goes_before_what_is_a_little_nearer() {
    let (mut room, ids) = squeezed(None);
    let mut random = Random(5);
    let last_of_first = ids.iter().take_while(|&&id| room.is_fresh(id)).count();
    room.round(|world| nudge_all(world, &mut random));
    assert!(room.is_fresh(ids[last_of_first]), "the first that did not fit before");
    assert!(!room.is_fresh(ids[last_of_first - 1]), "the last that did");
}

#[test]
fn what_was_sent_in_a_calm_snapshot_is_no_longer_urgent() {
    let (mut room, ids) = squeezed(None);
    room.settings.bytes_max = 4_000;
    room.round(|world| nudge_all(world, &mut Random(4)));
    assert!(room.agrees(), "everybody got everything");
    room.settings.bytes_max = 150;
    room.round(|world| nudge_all(world, &mut Random(5)));
    let fresh: Vec<usize> = (0..ids.len()).filter(|&index| room.is_fresh(ids[index])).collect();
    let nearest: Vec<usize> = (0..fresh.len()).collect();
    assert_eq!(fresh, nearest, "so the nearest go first again");
}

/// With `n` entities that all change, of which `k` fit a snapshot, and urgencies that grow by `r` to `R` a snapshot: who
/// has waited `s` snapshots is at least `r * s` urgent, and nobody else reaches that twice within `r * s / R` snapshots.
/// So once `n` fit into that many snapshots it is sent, which is after at most `(n / k + 1) * (R / r + 1)`.
#[test]
fn with_a_tiny_budget_everything_is_sent_within_the_bound() {
    const ENTITIES: usize = 120;
    /// Maximum bits of an update of a body, with its slot and source.
    const UPDATE_BITS_MAX: usize = 2 * (2 * 18 + 2 * 14 + 8) + 3 * 5 + 42;
    for bytes_max in [60, 150] {
        let mut room = Room::new(DeliveryOrder::Ordered);
        room.view.center = Some([0.0, 0.0]);
        let mut random = Random(bytes_max as u64);
        let mut ids = Vec::new();
        room.round(|world| ids = line(world, ENTITIES, 4.0));
        room.settings.bytes_max = bytes_max;
        let at_a_time = bytes_max * 8 / UPDATE_BITS_MAX;
        let slowest = 50.0 / (50.0 + ENTITIES as f32 * 4.0 + 100.0);
        let bound = ((ENTITIES / at_a_time + 1) as f32 * (1.0 / slowest + 1.0)) as u32;
        let mut waited = vec![0u32; ENTITIES];
        let mut longest = 0;
        for _ in 0..2 * bound {
            room.round(|world| nudge_all(world, &mut random));
            for (waited, &id) in waited.iter_mut().zip(&ids) {
                *waited = if room.is_fresh(id) { 0 } else { *waited + 1 };
                longest = longest.max(*waited);
            }
        }
        assert!(longest <= bound, "{bytes_max} bytes: somebody waited {longest} snapshots, bound {bound}");
        assert!(longest > 2, "the budget was tight");
    }
}

#[test]
fn on_a_lossy_link_a_tiny_budget_starves_nobody_either() {
    let mut room = Room::new(DeliveryOrder::Unordered);
    room.view.center = Some([0.0, 0.0]);
    room.settings.bytes_max = 100;
    let mut random = Random(8);
    let mut ids = Vec::new();
    room.tick(|world| ids = line(world, 60, 10.0));
    let mut waited = [0u32; 60];
    for step in 0..600 {
        room.tick(|world| nudge_all(world, &mut random));
        let mut packets = room.packets();
        packets.retain(|_| !random.chance(20));
        room.deliver(&packets);
        for (waited, &id) in waited.iter_mut().zip(&ids) {
            *waited = if room.is_fresh(id) { 0 } else { *waited + 1 };
            assert!(*waited < 300, "{id} waited 300 snapshots at step {step}");
        }
    }
}

#[test]
fn an_entity_larger_than_the_budget_is_sent_all_the_same() {
    for order in LINKS {
        let mut room = Room::new(order);
        room.settings.bytes_max = 8;
        room.tick(|world| {
            let id = world.spawn(body_at(1.0, 1.0)).unwrap();
            world.insert(id, Tag { name: "long one".to_owned(), score: 9 }).unwrap();
            world.spawn(body_at(500.0, 1.0)).unwrap();
        });
        let packets = room.packets();
        room.deliver(&packets);
        assert!(room.rounds_to_agreement(100) <= 2, "each of the two needs one snapshot");
    }
}

#[test]
fn a_change_of_one_component_costs_less_than_the_entity() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    let mut ids = Vec::new();
    room.round(|world| {
        ids = line(world, 50, 3.0);
        for &id in &ids {
            world.insert(id, Tag { name: "a name".to_owned(), score: 1 }).unwrap();
        }
    });
    let packets = room.round(|world| world.each_mut::<Tag>(|_, tag| tag.score += 1));
    assert_eq!(counts_of(&packets), [0, 0, 50]);
    assert!(bytes_of(&packets) <= HEADER_BYTES + 50 * 3, "{} bytes", bytes_of(&packets));
    assert!(room.agrees());
    room.round(|world| world.each_mut::<Body>(|_, body| body.heading += 1.0));
    assert!(room.agrees());
}
