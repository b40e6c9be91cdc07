//! Bits of each component in a snapshot.

use crate::common::{Body, SECONDS_PER_TICK, Sent, Tag, choose, settings, world};
use crate::support::{header_bits, line};
use aether_bits::{BasisAges, BitWriter, DeltaBasis, Replicate};
use aether_replication::{ClientView, ComponentBits, DeliveryOrder, DeltaCache, GatherBuffer, SnapshotContext};
use aether_wire::{EntityId, InputSeq};
use aether_world::World;

/// A room with two clients that see everything, and the component bits of its last snapshot.
struct CountedRoom {
    world: World,
    views: [ClientView; 2],
    /// All bits except the headers, with the padding of each packet.
    bits_max: usize,
    component_bits: ComponentBits,
    packets: Vec<Vec<u8>>,
}

impl CountedRoom {
    fn new() -> CountedRoom {
        let views = [ClientView::new(DeliveryOrder::Ordered), ClientView::new(DeliveryOrder::Ordered)];
        CountedRoom {
            world: world(),
            views,
            bits_max: 0,
            component_bits: ComponentBits::default(),
            packets: Vec::new(),
        }
    }

    fn round(&mut self, act: impl FnOnce(&mut World)) {
        self.world.advance();
        act(&mut self.world);
        self.world.settle();
        let (world, settings) = (&self.world, settings());
        let context = SnapshotContext { world, changed: world.changed(), settings: &settings, ring_stretch: 1 };
        let (mut deltas, mut gathered, mut sent) = (DeltaCache::default(), GatherBuffer::default(), Sent::default());
        deltas.begin(world, SECONDS_PER_TICK);
        gathered.begin();
        for view in &mut self.views {
            view.update_visible(world.tick(), &[], |visible, changes| choose(world, visible, changes, |_| true));
            view.gather(&context, &mut deltas, &mut gathered);
            view.assemble(&context, &deltas, &mut gathered, InputSeq(0), &mut sent);
        }
        self.component_bits = ComponentBits::default();
        deltas.count_bits(&mut gathered, &mut self.component_bits);
        self.packets = sent.0;
        self.bits_max = self.packets.iter().map(|packet| packet.len() * 8 - header_bits(packet)).sum();
    }
}

/// Twelve entities, of which the first four have a tag.
fn populate(world: &mut World) -> Vec<EntityId> {
    let ids = line(world, 12, 3.0);
    for &id in &ids[..4] {
        world.insert(id, Tag { name: "name".to_owned(), score: id.slot as u16 }).unwrap();
    }
    ids
}

fn bits_of_full(value: &impl Replicate) -> u64 {
    let mut writer = BitWriter::new();
    value.write_full(&mut writer);
    writer.bits() as u64
}

#[test]
fn full_entities_are_counted_by_component_for_every_client() {
    let mut room = CountedRoom::new();
    room.round(|world| drop(populate(world)));
    let bodies: u64 = room.world.each::<Body>().map(|(_, body)| bits_of_full(body)).sum();
    let tags: u64 = room.world.each::<Tag>().map(|(_, tag)| bits_of_full(tag)).sum();
    assert_eq!(room.component_bits.bits, [2 * bodies, 2 * tags]);
    // An entry has a slot of one bit, a generation and a mask besides.
    let overhead = 2 * 12 * (1 + 16 + 2);
    let total = 2 * (bodies + tags) as usize + overhead;
    assert!((room.bits_max - 16..=room.bits_max).contains(&total), "{total} bits in {}", room.bits_max);
}

#[test]
fn a_delta_is_counted_as_it_was_written() {
    let mut room = CountedRoom::new();
    let mut ids = Vec::new();
    room.round(|world| ids = populate(world));
    let before = room.world.get::<Body>(ids[5]).unwrap().clone();
    room.round(|world| world.get_mut::<Body>(ids[5]).unwrap().position = [40.0, 3.0]);
    let mut writer = BitWriter::new();
    let ages = BasisAges { elapsed: 1, spacing: 0, seconds_per_tick: SECONDS_PER_TICK };
    let basis = DeltaBasis { value: &before, earlier: None, ages };
    room.world.get::<Body>(ids[5]).unwrap().write_delta(basis, &mut writer);
    assert_eq!(room.component_bits.bits, [2 * writer.bits() as u64, 0]);
}

#[test]
fn a_component_that_did_not_change_costs_nothing() {
    let mut room = CountedRoom::new();
    let mut ids = Vec::new();
    room.round(|world| ids = populate(world));
    room.round(|world| world.get_mut::<Tag>(ids[2]).unwrap().score = 99);
    assert_eq!(room.component_bits.bits[0], 0);
    assert!(room.component_bits.bits[1] > 0);
    room.round(|world| world.each_mut::<Body>(|_, body| body.heading += 1.0));
    assert!(room.component_bits.bits[0] > 0);
    assert_eq!(room.component_bits.bits[1], 0);
    room.round(|_| {});
    assert_eq!(room.component_bits.bits.iter().sum::<u64>(), 0);
}

#[test]
fn the_component_bits_never_exceed_what_was_sent() {
    let mut room = CountedRoom::new();
    room.round(|world| drop(populate(world)));
    for step in 0..30 {
        room.round(|world| {
            world.each_mut::<Body>(|id, body| body.position[0] += (id.slot + step) as f32 / 10.0);
            world.each_mut::<Tag>(|_, tag| tag.score += u16::from(step % 3 == 0));
        });
        let counted = room.component_bits.bits.iter().sum::<u64>() as usize;
        assert!(counted <= room.bits_max, "{counted} of {}", room.bits_max);
        // Twelve slots, twelve sources and four masks of two bits are all there is besides.
        assert!(room.bits_max - counted <= 2 * (12 * 6 + 4 * 2 + 8), "{counted} of {}", room.bits_max);
    }
}

#[test]
fn entities_beyond_the_budget_are_not_counted() {
    let mut world = world();
    world.advance();
    line(&mut world, 100, 1.0);
    world.settle();
    let mut settings = settings();
    settings.bytes_max = 100;
    let context = SnapshotContext { world: &world, changed: world.changed(), settings: &settings, ring_stretch: 1 };
    let (mut deltas, mut gathered, mut sent) = (DeltaCache::default(), GatherBuffer::default(), Sent::default());
    let mut view = ClientView::new(DeliveryOrder::Ordered);
    deltas.begin(&world, SECONDS_PER_TICK);
    view.update_visible(world.tick(), &[], |visible, changes| choose(&world, visible, changes, |_| true));
    view.gather(&context, &mut deltas, &mut gathered);
    view.assemble(&context, &deltas, &mut gathered, InputSeq(0), &mut sent);
    let mut component_bits = ComponentBits::default();
    let updates = deltas.count_bits(&mut gathered, &mut component_bits);
    assert_eq!(deltas.len(), 100);
    assert!(updates < 20);
    assert!(component_bits.bits[0] <= 800);
}
