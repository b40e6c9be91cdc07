//! Slots are reused while packets of their former entities are in flight.

use crate::common::{Body, Random, Tag, body, ended};
use crate::support::Room;
use aether_replication::DeliveryOrder;
use aether_wire::{EntityId, StateAck};
use aether_world::World;
use std::collections::BTreeMap;

/// Despawns about a third of a dozen entities and reuses their slots a tick later.
fn churn(world: &mut World, random: &mut Random) {
    let ids: Vec<EntityId> = world.entities().collect();
    for id in ids {
        match random.below(10) {
            0..3 => assert!(world.despawn(id)),
            3..5 => drop(world.insert(id, Tag { name: "t".to_owned(), score: random.below(9) as u16 })),
            5 => drop(world.remove::<Tag>(id)),
            6..9 => drop(world.get_mut::<Body>(id).map(|body| body.position[0] += random.within(-2.0, 2.0))),
            _ => {}
        }
    }
    while world.len() < 12 && random.chance(80) {
        world.spawn(body(random)).unwrap();
    }
}

/// Enter and leave events of each entity, which must alternate.
#[derive(Default)]
struct Story(BTreeMap<EntityId, bool>);

impl Story {
    fn note(&mut self, entered: &[EntityId], left: &[EntityId]) {
        // An entity that takes another's slot enters in the packet in which that one leaves.
        for (ids, present) in [(left, false), (entered, true)] {
            for &id in ids {
                let before = self.0.insert(id, present).unwrap_or(false);
                assert_ne!(before, present, "{id} came or went twice");
            }
        }
    }
}

/// Network that delays, loses and duplicates packets and acknowledgements.
struct Storm {
    random: Random,
    loss: u64,
    delay: u64,
    packets: Vec<(u32, Vec<u8>)>,
    acks: Vec<(u32, StateAck)>,
}

impl Storm {
    fn send(&mut self, step: u32, packets: Vec<Vec<u8>>) {
        for packet in packets {
            for _ in 0..1 + u32::from(self.random.chance(10)) {
                if !self.random.chance(self.loss) {
                    self.packets.push((step + self.random.below(self.delay) as u32, packet.clone()));
                }
            }
        }
    }

    fn deliver(&mut self, step: u32, room: &mut Room, story: &mut Story) {
        for (_, packet) in self.packets.extract_if(.., |(at, _)| *at <= step) {
            room.mirror.apply(&packet).unwrap();
            story.note(room.mirror.entered(), room.mirror.left());
        }
        if !self.random.chance(self.loss) {
            self.acks.push((step + self.random.below(self.delay) as u32, room.mirror.acknowledgement()));
        }
        for (_, ack) in self.acks.extract_if(.., |(at, _)| *at <= step) {
            room.view.acknowledge(ack);
        }
    }
}

fn survive(seed: u64, bytes_max: usize) {
    let mut room = Room::new(DeliveryOrder::Unordered);
    room.settings.bytes_max = bytes_max;
    let mut random = Random(seed);
    let mut story = Story::default();
    let mut storm = Storm { random: Random(!seed), loss: 25, delay: 12, packets: Vec::new(), acks: Vec::new() };
    for step in 0..200 {
        if step == 120 {
            (storm.loss, storm.delay) = (0, 1);
        }
        room.tick(|world| {
            if step < 120 {
                churn(world, &mut random);
            }
        });
        let era = u64::from(step.min(120) / 4);
        let packets = room.packets_of(|slot| Random(u64::from(slot) ^ era << 32).chance(80));
        storm.send(step, packets);
        storm.deliver(step, &mut room, &mut story);
    }
    assert!(room.agrees(), "seed {seed}");
    let mut present: Vec<EntityId> = room.mirror.entities().collect();
    present.sort_unstable();
    let notified: Vec<EntityId> = story.0.iter().filter(|(_, present)| **present).map(|(id, _)| *id).collect();
    assert_eq!(present, notified, "the events add up to what is there");
}

#[test]
fn the_client_converges_and_gets_each_enter_and_leave_once() {
    for seed in 0..150 {
        survive(seed, 4_000);
    }
}

#[test]
fn so_it_does_with_a_small_budget() {
    for seed in 0..80 {
        survive(seed, 60);
    }
}

#[test]
fn a_reused_slot_removes_one_entity_and_adds_the_other() {
    for order in [DeliveryOrder::Ordered, DeliveryOrder::Unordered] {
        let mut room = Room::new(order);
        let mut random = Random(1);
        let mut old = EntityId::default();
        room.round(|world| old = world.spawn(body(&mut random)).unwrap());
        room.tick(|world| assert!(world.despawn(old)));
        assert_eq!(ended(&room.world), [old.slot]);
        let mut new = EntityId::default();
        room.round(|world| new = world.spawn(body(&mut random)).unwrap());
        assert_eq!(new, EntityId { slot: old.slot, generation: old.generation + 1 });
        assert_eq!((room.mirror.left(), room.mirror.entered()), (&[old][..], &[new][..]));
        assert!(room.mirror.get::<Body>(old).is_none());
        assert!(room.agrees());
    }
}
