//! A world that changes at random, and clients that receive it over a lossy network.

use aether_bits::Schema;
use aether_replication::{
    ClientView, DeliveryOrder, DeltaCache, GatherBuffer, Mirror, PacketSink, SendSettings, SnapshotContext,
};
use aether_space::{InterestChanges, SlotSet};
pub use aether_testkit::moving::{Body, Random, SECONDS_PER_TICK, Tag};
use aether_wire::{EntityId, InputSeq, PacketSeq, StateAck};
use aether_world::World;

pub fn world() -> World {
    World::builder().component::<Body>().component::<Tag>().build()
}

pub fn body(random: &mut Random) -> Body {
    Body {
        position: [random.within(-1000.0, 1000.0), random.within(-1000.0, 1000.0)],
        velocity: [random.within(-20.0, 20.0), random.within(-20.0, 20.0)],
        heading: random.within(0.0, 6.0),
    }
}

/// Spawns, ends, moves and reshapes some entities.
pub fn stir(world: &mut World, random: &mut Random) {
    let ids: Vec<EntityId> = world.entities().collect();
    for &id in &ids {
        if random.chance(60)
            && let Some(body) = world.get_mut::<Body>(id)
        {
            for axis in 0..2 {
                body.velocity[axis] += random.within(-1.0, 1.0);
                body.position[axis] += body.velocity[axis] * SECONDS_PER_TICK;
            }
        }
        match random.below(100) {
            0..2 => assert!(world.despawn(id)),
            2..4 => {
                let tag = Tag { name: format!("n{}", random.below(9)), score: random.below(999) as u16 };
                world.insert(id, tag).expect("it fits");
            }
            4..5 => {
                world.remove::<Tag>(id);
            }
            5..8 => {
                if let Some(tag) = world.get_mut::<Tag>(id) {
                    tag.score = tag.score.wrapping_add(1);
                }
            }
            _ => {}
        }
    }
    while random.chance(40) && world.len() < 60 {
        let body = body(random);
        world.spawn(body).expect("the queue is not full");
    }
}

/// A network that loses, duplicates and reorders packets, and the client behind it.
pub struct Client {
    pub view: ClientView,
    pub mirror: Mirror,
    pub typeless: Mirror,
    pub order: DeliveryOrder,
    /// Packets in flight, each with the step of its arrival.
    packets: Vec<(u32, Vec<u8>)>,
    acks: Vec<(u32, StateAck)>,
}

#[derive(Clone, Copy)]
pub struct Weather {
    pub loss: u64,
    pub delay: u64,
    pub doubles: u64,
}

impl Client {
    pub fn new(world: &World, order: DeliveryOrder) -> Client {
        let schema = Schema { components: world.schema(), ..Schema::default() };
        Client {
            view: ClientView::new(order),
            mirror: Mirror::builder().component::<Body>().component::<Tag>().build(order, SECONDS_PER_TICK),
            typeless: Mirror::builder().described(&schema).build(order, SECONDS_PER_TICK),
            order,
            packets: Vec::new(),
            acks: Vec::new(),
        }
    }

    /// Sends a snapshot and delivers what is due at this step.
    pub fn exchange(
        &mut self,
        context: &SnapshotContext<'_>,
        ended: &[u32],
        step: u32,
        net: &mut (Weather, Random),
        sees: impl Fn(u32) -> bool,
    ) {
        self.view.update_visible(context.world.tick(), ended, |visible, changes| {
            choose(context.world, visible, changes, sees);
        });
        let (mut deltas, mut gathered) = (DeltaCache::default(), GatherBuffer::default());
        deltas.begin(context.world, SECONDS_PER_TICK);
        self.view.gather(context, &mut deltas, &mut gathered);
        let mut sent = Sent::default();
        self.view.assemble(context, &deltas, &mut gathered, InputSeq(0), &mut sent);
        let (weather, random) = net;
        for packet in sent.0 {
            assert!(packet.len() <= 1000, "a packet of {} bytes", packet.len());
            let copies =
                if self.order == DeliveryOrder::Ordered { 1 } else { 1 + u32::from(random.chance(weather.doubles)) };
            for _ in 0..copies {
                if self.order == DeliveryOrder::Ordered || !random.chance(weather.loss) {
                    let delay = if self.order == DeliveryOrder::Ordered { 0 } else { random.below(weather.delay + 1) };
                    self.packets.push((step + delay as u32, packet.clone()));
                }
            }
        }
        let (due, later) = std::mem::take(&mut self.packets).into_iter().partition(|(at, _)| *at <= step);
        self.packets = later;
        let due: Vec<(u32, Vec<u8>)> = due;
        for (_, packet) in due {
            let applied = self.mirror.apply(&packet).expect("a packet of the server can be read");
            assert_eq!(self.typeless.apply(&packet), Ok(applied));
        }
        if !random.chance(weather.loss) {
            self.acks.push((step + random.below(weather.delay + 1) as u32, self.mirror.acknowledgement()));
        }
        let (due, later) = std::mem::take(&mut self.acks).into_iter().partition(|(at, _)| *at <= step);
        self.acks = later;
        let due: Vec<(u32, StateAck)> = due;
        for (_, ack) in due {
            self.view.acknowledge(ack);
        }
    }

    /// Returns true if the client has exactly what the server shows it.
    pub fn agrees(&self, world: &World) -> bool {
        let expected = world.hash_of(self.view.visible().iter());
        assert_eq!(self.mirror.hash(), self.typeless.hash(), "typed and described mirrors have the same state");
        self.mirror.hash() == expected
    }
}

#[derive(Default)]
pub struct Sent(pub Vec<Vec<u8>>);

impl PacketSink for Sent {
    fn buffer(&mut self) -> Vec<u8> {
        Vec::new()
    }

    fn packet(&mut self, _sequence: PacketSeq, bytes: Vec<u8>) {
        self.0.push(bytes);
    }
}

/// Sets the visible slots to those for which `sees` is true.
pub fn choose(world: &World, visible: &mut SlotSet, changes: &mut InterestChanges, sees: impl Fn(u32) -> bool) {
    changes.clear();
    let left: Vec<u32> = visible.iter().filter(|&slot| !world.alive().contains(slot) || !sees(slot)).collect();
    for slot in left {
        visible.remove(slot);
        changes.left.push(slot);
    }
    for slot in world.alive().iter().filter(|&slot| sees(slot)) {
        if visible.insert(slot) {
            changes.entered.push(slot);
        }
    }
}

pub fn settings() -> SendSettings {
    SendSettings { seconds_per_tick: SECONDS_PER_TICK, ..SendSettings::default() }
}

/// Returns the slots of despawned entities, ascending.
pub fn ended(world: &World) -> Vec<u32> {
    let mut slots: Vec<u32> = world.despawned().iter().map(|id| id.slot).collect();
    slots.sort_unstable();
    slots
}
