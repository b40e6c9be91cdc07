//! A room with one client. The test delivers its packets.

use crate::common::{Body, Random, SECONDS_PER_TICK, Sent, Tag, choose, settings, world};
use aether_bits::{BitReader, Schema};
use aether_replication::{ClientView, DeliveryOrder, DeltaCache, GatherBuffer, Mirror, SendSettings, SnapshotContext};
use aether_space::SlotSet;
use aether_wire::{EntityId, InputSeq};
use aether_world::World;

/// Maximum bytes of a packet header.
pub const HEADER_BYTES: usize = 13;

/// One world, one client, and the changes that the client was not sent yet.
pub struct Room {
    pub world: World,
    pub settings: SendSettings,
    pub view: ClientView,
    pub mirror: Mirror,
    pub ring_stretch: u32,
    pub input_ack: InputSeq,
    pub changed: SlotSet,
    pub ended: Vec<u32>,
    deltas: DeltaCache,
    gathered: GatherBuffer,
}

impl Room {
    pub fn new(order: DeliveryOrder) -> Room {
        Room {
            world: world(),
            settings: settings(),
            view: ClientView::new(order),
            mirror: mirror(order),
            ring_stretch: 1,
            input_ack: InputSeq(0),
            changed: SlotSet::new(),
            ended: Vec::new(),
            deltas: DeltaCache::default(),
            gathered: GatherBuffer::default(),
        }
    }

    /// Advances the world by a tick, without a snapshot.
    pub fn tick(&mut self, act: impl FnOnce(&mut World)) {
        self.world.advance();
        act(&mut self.world);
        self.world.settle();
        self.changed.union_with(self.world.changed());
        self.ended.extend(self.world.despawned().iter().map(|id| id.slot));
    }

    /// Returns the packets of a snapshot for a client that sees what `sees` selects.
    pub fn packets_of(&mut self, sees: impl Fn(u32) -> bool) -> Vec<Vec<u8>> {
        let Room { world, settings, view, deltas, gathered, .. } = self;
        self.ended.sort_unstable();
        view.update_visible(world.tick(), &self.ended, |visible, changes| choose(world, visible, changes, sees));
        let context = SnapshotContext { world, changed: &self.changed, settings, ring_stretch: self.ring_stretch };
        deltas.begin(world, SECONDS_PER_TICK);
        view.gather(&context, deltas, gathered);
        let mut sent = Sent::default();
        view.assemble(&context, deltas, gathered, self.input_ack, &mut sent);
        self.changed.clear();
        self.ended.clear();
        sent.0
    }

    /// Returns the packets of a snapshot for a client that sees everything.
    pub fn packets(&mut self) -> Vec<Vec<u8>> {
        self.packets_of(|_| true)
    }

    /// Skips a snapshot for this client; its view defers the changes.
    pub fn skip(&mut self, sees: impl Fn(u32) -> bool) {
        let Room { world, view, .. } = self;
        self.ended.sort_unstable();
        view.update_visible(world.tick(), &self.ended, |visible, changes| choose(world, visible, changes, sees));
        view.defer(&self.changed);
        self.changed.clear();
        self.ended.clear();
    }

    /// Delivers packets to the client and its acknowledgement to the view.
    pub fn deliver(&mut self, packets: &[Vec<u8>]) {
        for packet in packets {
            self.mirror.apply(packet).unwrap();
        }
        self.view.acknowledge(self.mirror.acknowledgement());
    }

    /// Runs a tick and delivers a snapshot.
    pub fn round(&mut self, act: impl FnOnce(&mut World)) -> Vec<Vec<u8>> {
        self.tick(act);
        let packets = self.packets();
        self.deliver(&packets);
        packets
    }

    /// Runs rounds without changes until the client agrees. Returns their number.
    pub fn rounds_to_agreement(&mut self, rounds_max: u32) -> u32 {
        for round in 0..rounds_max {
            if self.agrees() {
                return round;
            }
            self.round(|_| {});
        }
        assert!(self.agrees(), "no agreement after {rounds_max} rounds");
        rounds_max
    }

    /// Returns true if the client has exactly what it is shown.
    pub fn agrees(&self) -> bool {
        self.mirror.hash() == self.world.hash_of(self.view.visible().iter())
    }

    /// Returns true if the client has the current state of an entity's body.
    pub fn is_fresh(&self, id: EntityId) -> bool {
        self.mirror.get::<Body>(id).is_some_and(|body| Some(body) == self.world.get::<Body>(id))
    }
}

pub fn mirror(order: DeliveryOrder) -> Mirror {
    Mirror::builder().component::<Body>().component::<Tag>().build(order, SECONDS_PER_TICK)
}

pub fn typeless_mirror(order: DeliveryOrder, world: &World) -> Mirror {
    let schema = Schema { components: world.schema(), ..Schema::default() };
    Mirror::builder().described(&schema).build(order, SECONDS_PER_TICK)
}

pub fn body_at(x: f32, y: f32) -> Body {
    Body { position: [x, y], velocity: [0.0, 0.0], heading: 0.0 }
}

/// Spawns bodies on a line, `spacing` apart.
pub fn line(world: &mut World, count: usize, spacing: f32) -> Vec<EntityId> {
    (0..count).map(|index| world.spawn(body_at(index as f32 * spacing, 0.0)).unwrap()).collect()
}

/// Changes every body a little, so that it differs from all recent ticks.
pub fn nudge_all(world: &mut World, random: &mut Random) {
    let tick = world.tick().0;
    world.each_mut::<Body>(|_, body| {
        body.position[1] = (tick % 4_000) as f32 / 100.0;
        body.velocity[0] = random.within(-5.0, 5.0);
    });
}

pub fn bytes_of(packets: &[Vec<u8>]) -> usize {
    packets.iter().map(Vec::len).sum()
}

/// Returns the counts of a packet: removals, full entities and updates.
pub fn counts(packet: &[u8]) -> [usize; 3] {
    let mut reader = BitReader::new(packet);
    for bits in [32, 16, 16, 1, 3] {
        reader.read(bits).unwrap();
    }
    std::array::from_fn(|_| if reader.read_bool().unwrap() { reader.read(10).unwrap() as usize } else { 0 })
}

/// Returns the sum of the counts of a snapshot's packets.
pub fn counts_of(packets: &[Vec<u8>]) -> [usize; 3] {
    packets.iter().map(|packet| counts(packet)).fold([0; 3], |sum, counts| std::array::from_fn(|i| sum[i] + counts[i]))
}

/// Returns the bits of a packet before its first entry.
pub fn header_bits(packet: &[u8]) -> usize {
    let present = counts(packet).iter().filter(|&&count| count > 0).count();
    32 + 16 + 16 + 1 + 3 + 3 + 10 * present
}
