//! A client that joins a large room gets its state over several snapshots.

use crate::common::{Body, Random, body};
use crate::support::{HEADER_BYTES, Room, bytes_of, counts_of};
use aether_replication::DeliveryOrder;
use aether_world::World;

const ENTITIES: usize = 2_000;

fn populate(world: &mut World) {
    let mut random = Random(21);
    for _ in 0..ENTITIES {
        world.spawn(body(&mut random)).unwrap();
    }
}

#[test]
fn a_full_state_is_paced_and_complete_afterwards() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut room = Room::new(order);
        room.view.center = Some([0.0, 0.0]);
        room.tick(populate);
        let (mut snapshots, mut sent, mut bytes) = (0, 0, 0);
        while room.mirror.entities().count() < ENTITIES {
            let packets = room.packets();
            room.deliver(&packets);
            assert!(bytes_of(&packets) <= room.settings.bytes_max + HEADER_BYTES * packets.len());
            bytes += bytes_of(&packets);
            sent += counts_of(&packets)[1];
            snapshots += 1;
            assert!(snapshots < 100);
            room.tick(|_| {});
        }
        assert!(room.agrees());
        assert_eq!(sent, ENTITIES, "{order:?}: each was sent once");
        let least = bytes.div_ceil(room.settings.bytes_max + 5 * HEADER_BYTES);
        assert!((least..=least + 1).contains(&snapshots), "{order:?}: {snapshots} snapshots for {bytes} bytes");
        assert!(snapshots > 4);
    }
}

#[test]
fn the_nearest_of_a_full_state_come_first() {
    let mut room = Room::new(DeliveryOrder::Ordered);
    room.view.center = Some([0.0, 0.0]);
    room.round(populate);
    let distance = |id| room.world.position(id).map_or(0.0, |[x, y]| x.hypot(y));
    let known = room.mirror.entities().map(distance).fold(0.0, f32::max);
    let unknown = room.world.entities().filter(|&id| !room.mirror.contains(id)).map(distance);
    assert!(known <= unknown.fold(f32::MAX, f32::min) + 0.01);
}

#[test]
fn a_new_client_catches_up_while_the_room_runs() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut room = Room::new(order);
        room.view.center = Some([0.0, 0.0]);
        room.tick(populate);
        let mut random = Random(4);
        let mut rounds = 0;
        while room.mirror.entities().count() < ENTITIES {
            room.round(|world| {
                world.each_mut::<Body>(|id, body| {
                    if (id.slot + rounds * 7).is_multiple_of(10) {
                        body.position[0] += random.within(-1.0, 1.0);
                    }
                });
            });
            rounds += 1;
            assert!(rounds < 60, "{order:?}: not everybody is known after 60 snapshots");
        }
        room.rounds_to_agreement(20);
    }
}
