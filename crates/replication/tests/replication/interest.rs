//! Entities out of view are gone from the client and from every byte.

use crate::common::{Body, Random, Tag, body, stir};
use crate::support::{Room, counts_of, line, nudge_all};
use aether_replication::DeliveryOrder;
use aether_space::{
    Grid, InterestChanges, InterestManager, InterestSettings, SlotSet, SpatialIndex, Viewer, WorldBounds,
};
use aether_wire::EntityId;
use std::collections::BTreeSet;

const LINKS: [DeliveryOrder; 2] = [DeliveryOrder::Ordered, DeliveryOrder::Unordered];

#[test]
fn what_leaves_is_removed_and_what_comes_back_is_whole() {
    for order in LINKS {
        let mut room = Room::new(order);
        let mut ids = Vec::new();
        room.round(|world| ids = line(world, 4, 1.0));
        assert_eq!(room.mirror.entered(), ids);
        room.tick(|_| {});
        let packets = room.packets_of(|slot| slot != 2);
        assert_eq!(counts_of(&packets), [1, 0, 0]);
        room.deliver(&packets);
        assert_eq!(room.mirror.left(), [ids[2]]);
        assert!(!room.mirror.contains(ids[2]) && room.mirror.get::<Body>(ids[2]).is_none());
        assert!(room.agrees());
        // It keeps changing out of view.
        room.tick(|world| nudge_all(world, &mut Random(1)));
        let packets = room.packets_of(|slot| slot != 2);
        assert_eq!(counts_of(&packets), [0, 0, 3]);
        room.deliver(&packets);
        let packets = room.round(|_| {});
        assert_eq!(counts_of(&packets), [0, 1, 0]);
        assert_eq!(room.mirror.entered(), [ids[2]]);
        assert!(room.agrees());
    }
}

#[test]
fn an_ended_entity_is_removed() {
    for order in LINKS {
        let mut room = Room::new(order);
        let mut ids = Vec::new();
        room.round(|world| ids = line(world, 3, 1.0));
        room.round(|world| assert!(world.despawn(ids[1])));
        assert_eq!(room.mirror.left(), [ids[1]]);
        assert!(room.agrees());
    }
}

#[test]
fn coming_and_going_every_snapshot_stays_right() {
    for order in LINKS {
        let mut room = Room::new(order);
        let mut random = Random(9);
        room.tick(|world| drop(line(world, 130, 1.0)));
        for step in 0..100u32 {
            room.tick(|world| nudge_all(world, &mut random));
            let packets = room.packets_of(|slot| Random(u64::from(slot) << 32 | u64::from(step)).chance(50));
            room.deliver(&packets);
            assert!(room.agrees(), "{order:?}, step {step}");
        }
    }
}

#[test]
fn an_entity_that_was_never_sent_needs_no_removal() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    room.view.center = Some([0.0, 0.0]);
    room.settings.bytes_max = 100;
    room.round(|world| drop(line(world, 100, 5.0)));
    let known = room.mirror.entities().count();
    assert!(known < 50);
    room.tick(|_| {});
    let packets = room.packets_of(|_| false);
    assert_eq!(counts_of(&packets)[0], known, "only entities that the client may see");
    room.deliver(&packets);
    assert!(room.agrees());
}

/// Even slots are visible. Odd ones are not, and differ between two runs.
#[test]
fn the_unseen_is_absent_from_every_byte() {
    for order in LINKS {
        let run = |secret: u64| {
            let (mut shown, mut hidden) = (Random(5), Random(secret));
            let mut room = Room::new(order);
            room.view.center = Some([0.0, 0.0]);
            room.settings.bytes_max = 200;
            let mut packets = Vec::new();
            for step in 0..60 {
                room.tick(|world| {
                    if step == 0 {
                        for index in 0..80 {
                            let random = if index % 2 == 0 { &mut shown } else { &mut hidden };
                            let id = world.spawn(body(random)).unwrap();
                            if index % 2 == 1 && hidden.chance(50) {
                                world.insert(id, Tag { name: "secret".to_owned(), score: 7 }).unwrap();
                            }
                        }
                        // These have higher slots than everything that is visible, in one run only.
                        for _ in 0..secret % 7 * 10 {
                            world.spawn(body(&mut hidden)).unwrap();
                        }
                    }
                    world.each_mut::<Body>(|id, body| {
                        let seen = id.slot.is_multiple_of(2) && id.slot < 80;
                        let random = if seen { &mut shown } else { &mut hidden };
                        if random.chance(40) {
                            body.position[0] += random.within(-1.0, 1.0);
                        }
                    });
                });
                let sent = room.packets_of(|slot| slot.is_multiple_of(2) && slot < 80);
                room.deliver(&sent);
                packets.extend(sent);
            }
            packets
        };
        assert_eq!(run(1), run(2), "{order:?}");
    }
}

#[test]
fn an_entity_that_was_never_visible_is_never_sent() {
    for order in LINKS {
        for seed in 0..10 {
            let mut room = Room::new(order);
            let mut random = Random(seed);
            let mut shown: BTreeSet<EntityId> = BTreeSet::new();
            for step in 0..120u64 {
                room.tick(|world| stir(world, &mut random));
                let sees = |slot: u32| Random(u64::from(slot) ^ (step / 9) << 32).chance(40);
                let packets = room.packets_of(sees);
                shown.extend(room.view.visible().iter().filter_map(|slot| room.world.entity_at(slot)));
                for packet in packets {
                    room.deliver(&[packet]);
                    let news = room.mirror.entered().iter().chain(room.mirror.left());
                    assert!(news.chain(&room.mirror.entities().collect::<Vec<_>>()).all(|id| shown.contains(id)));
                }
                assert!(room.agrees(), "{order:?}, seed {seed}, step {step}");
            }
        }
    }
}

/// The same with the sets that a room really uses.
#[test]
fn a_walk_through_a_crowd_shows_who_is_near() {
    for order in LINKS {
        let mut room = Room::new(order);
        let mut random = Random(14);
        let settings = InterestSettings { radius: 500.0, ..InterestSettings::default() };
        let mut grid = Grid::new(WorldBounds::default(), settings.outer_radius()).unwrap();
        let mut interest = InterestManager::new(settings).unwrap();
        let (nobody, mut visible, mut changes) = (SlotSet::new(), SlotSet::new(), InterestChanges::new());
        let (mut came, mut went) = (0, 0);
        for step in 0..200u32 {
            let center = [step as f32 * 8.0 - 800.0, 0.0];
            room.view.center = Some(center);
            room.tick(|world| stir(world, &mut random));
            grid.rebuild(room.world.points());
            for &slot in &room.ended {
                visible.remove(slot);
            }
            let viewer = Viewer { center: room.view.center, always: &nobody, hidden: &nobody };
            interest.update(&grid, &viewer, &mut visible, &mut changes);
            let packets = room.packets_of(|slot| visible.contains(slot));
            for packet in packets {
                room.deliver(&[packet]);
                came += room.mirror.entered().len();
                went += room.mirror.left().len();
            }
            assert!(room.agrees(), "{order:?}, step {step}");
            let reach = settings.outer_radius() + 0.01;
            assert!(room.mirror.entities().all(|id| {
                let [x, y] = room.world.position(id).unwrap();
                (x - center[0]).hypot(y) <= reach
            }));
        }
        assert!(came > 15 && went > 15, "{came} came and {went} went");
    }
}
