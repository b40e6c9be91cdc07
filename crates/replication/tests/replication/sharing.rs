//! Deltas are encoded once for all clients, in one pass or in several.

use crate::common::{Random, SECONDS_PER_TICK, Sent, choose, ended, settings, stir, world};
use crate::support::mirror;
use aether_replication::{
    ClientView, DeliveryOrder, DeltaCache, GatherBuffer, Mirror, SendSettings, SnapshotContext, UpdateRing,
};
use aether_wire::InputSeq;
use aether_world::World;

/// Clients of both delivery orders with their own visibility and speed.
struct Crew(Vec<(ClientView, Mirror)>);

/// Clients with an even number have ordered delivery.
fn order(index: usize) -> DeliveryOrder {
    if index.is_multiple_of(2) { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered }
}

impl Crew {
    fn new() -> Crew {
        Crew((0..6).map(|index| (ClientView::new(order(index)), mirror(order(index)))).collect())
    }

    fn look(&mut self, world: &World, step: u32) {
        let ended = ended(world);
        for (index, (view, _)) in self.0.iter_mut().enumerate() {
            view.center = Some([index as f32 * 100.0, 0.0]);
            let key = u64::from(step / 8) << 32 | (index as u64) << 20;
            let sees = |slot: u32| Random(key ^ u64::from(slot)).chance(70);
            view.update_visible(world.tick(), &ended, |visible, changes| choose(world, visible, changes, sees));
        }
    }

    /// Delivers what was sent, except for some packets of unordered clients.
    fn deliver(&mut self, sent: &[Vec<Vec<u8>>], random: &mut Random) {
        for (index, ((view, mirror), packets)) in self.0.iter_mut().zip(sent).enumerate() {
            for packet in packets {
                if order(index) == DeliveryOrder::Ordered || !random.chance(20) {
                    mirror.apply(packet).unwrap();
                }
            }
            view.acknowledge(mirror.acknowledgement());
        }
    }
}

fn send(
    view: &mut ClientView,
    context: &SnapshotContext<'_>,
    deltas: &DeltaCache,
    gathered: &mut GatherBuffer,
) -> Vec<Vec<u8>> {
    let mut sent = Sent::default();
    view.assemble(context, deltas, gathered, InputSeq(3), &mut sent);
    sent.0
}

/// One pass: each client gathers and assembles with the shared deltas.
fn in_one_pass(crew: &mut Crew, context: &SnapshotContext<'_>, deltas: &mut DeltaCache) -> Vec<Vec<Vec<u8>>> {
    deltas.begin(context.world, SECONDS_PER_TICK);
    let mut gathered = GatherBuffer::default();
    let one = |(view, _): &mut (ClientView, Mirror)| {
        view.gather(context, deltas, &mut gathered);
        send(view, context, deltas, &mut gathered)
    };
    crew.0.iter_mut().map(one).collect()
}

/// In parts, as threads do: each serves some clients with a copy of the deltas that were encoded ahead.
fn in_parts(crew: &mut Crew, context: &SnapshotContext<'_>, deltas: &mut DeltaCache) -> Vec<Vec<Vec<u8>>> {
    deltas.begin(context.world, SECONDS_PER_TICK);
    deltas.encode_ahead(context, crew.0.iter().map(|(view, _)| view));
    let part = crew.0.len().div_ceil(3);
    let serve = |crew: &mut [(ClientView, Mirror)]| {
        let (mut copy, mut gathered) = (DeltaCache::default(), GatherBuffer::default());
        copy.copy_from(deltas);
        let one = |(view, _): &mut (ClientView, Mirror)| {
            view.gather(context, &mut copy, &mut gathered);
            send(view, context, &copy, &mut gathered)
        };
        crew.iter_mut().map(one).collect::<Vec<_>>()
    };
    crew.0.chunks_mut(part).flat_map(serve).collect()
}

/// Each client with its own delta cache.
fn unshared(crew: &mut Crew, context: &SnapshotContext<'_>, _: &mut DeltaCache) -> Vec<Vec<Vec<u8>>> {
    let one = |(view, _): &mut (ClientView, Mirror)| {
        let (mut deltas, mut gathered) = (DeltaCache::default(), GatherBuffer::default());
        deltas.begin(context.world, SECONDS_PER_TICK);
        view.gather(context, &mut deltas, &mut gathered);
        send(view, context, &deltas, &mut gathered)
    };
    crew.0.iter_mut().map(one).collect()
}

type Way = fn(&mut Crew, &SnapshotContext<'_>, &mut DeltaCache) -> Vec<Vec<Vec<u8>>>;

/// Runs a room and returns all its packets.
fn run(seed: u64, settings: &SendSettings, way: Way) -> Vec<Vec<Vec<Vec<u8>>>> {
    let (mut world, mut random, mut loss) = (world(), Random(seed), Random(!seed));
    let mut crew = Crew::new();
    let mut deltas = DeltaCache::default();
    let run = (0..80).map(|step| {
        world.advance();
        stir(&mut world, &mut random);
        world.settle();
        crew.look(&world, step);
        let context = SnapshotContext { world: &world, changed: world.changed(), settings, ring_stretch: 1 };
        let sent = way(&mut crew, &context, &mut deltas);
        crew.deliver(&sent, &mut loss);
        sent
    });
    run.collect()
}

fn all_settings() -> [SendSettings; 2] {
    let rings = vec![UpdateRing { distance: 300.0, interval: 1 }, UpdateRing { distance: 600.0, interval: 4 }];
    [settings(), SendSettings { bytes_max: 120, rings, ..settings() }]
}

#[test]
fn clients_served_in_parts_get_the_same_bytes() {
    for settings in all_settings() {
        for seed in 0..6 {
            assert!(run(seed, &settings, in_parts) == run(seed, &settings, in_one_pass), "seed {seed}");
        }
    }
}

#[test]
fn shared_deltas_give_the_same_bytes_as_separate_ones() {
    for settings in all_settings() {
        for seed in 0..6 {
            assert!(run(seed, &settings, unshared) == run(seed, &settings, in_one_pass), "seed {seed}");
        }
    }
}

#[test]
fn at_the_edge_of_the_budget_every_method_gives_the_same_bytes() {
    for bytes_max in (60..460).step_by(8) {
        let settings = SendSettings { bytes_max, ..settings() };
        let packets = run(7, &settings, in_one_pass);
        assert!(run(7, &settings, in_parts) == packets, "in parts, {bytes_max} bytes");
        assert!(run(7, &settings, unshared) == packets, "unshared, {bytes_max} bytes");
    }
}

#[test]
fn clients_with_the_same_baseline_share_one_delta() {
    let (mut world, settings) = (world(), settings());
    let mut crew =
        Crew((0..4).map(|_| (ClientView::new(DeliveryOrder::Ordered), mirror(DeliveryOrder::Ordered))).collect());
    let mut deltas = DeltaCache::default();
    for step in 0..3 {
        world.advance();
        if step == 0 {
            crate::support::line(&mut world, 10, 1.0);
        }
        crate::support::nudge_all(&mut world, &mut Random(step));
        world.settle();
        for (view, _) in &mut crew.0 {
            view.update_visible(world.tick(), &[], |visible, changes| choose(&world, visible, changes, |_| true));
        }
        let context = SnapshotContext { world: &world, changed: world.changed(), settings: &settings, ring_stretch: 1 };
        let sent = in_one_pass(&mut crew, &context, &mut deltas);
        assert!(sent.windows(2).all(|pair| pair[0] == pair[1]));
        assert_eq!(deltas.len(), 10, "step {step}");
    }
}

/// A tick thread runs many rooms, whose ticks have the same numbers.
#[test]
fn one_scratch_memory_serves_several_worlds() {
    let settings = settings();
    let mut worlds = [world(), world()];
    for (index, world) in worlds.iter_mut().enumerate() {
        world.advance();
        crate::support::line(world, 20 - 10 * index, 3.0 + index as f32);
        world.settle();
    }
    let mut shared = DeltaCache::default();
    for world in &worlds {
        let context = SnapshotContext { world, changed: world.changed(), settings: &settings, ring_stretch: 1 };
        let mut crews = [Crew::new(), Crew::new()];
        crews.iter_mut().for_each(|crew| crew.look(world, 0));
        let expected = in_one_pass(&mut crews[0], &context, &mut DeltaCache::default());
        assert!(in_one_pass(&mut crews[1], &context, &mut shared) == expected);
    }
}
