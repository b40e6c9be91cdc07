//! The five stages of a tick, and the contents of a snapshot.

use crate::support::{Client, Crate, Scene, join_request, read_all, settings};
use aether_engine::{ConnectionEndpoint, RoomSettings, TickStage};
use aether_replication::DeliveryOrder;
use aether_wire::Tick;

#[test]
fn every_tick_runs_the_five_stages_in_order_and_reports_its_counts() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    ann.push(1, &[1.0]);
    scene.ticks(2);
    let expected: Vec<_> = (1..=3).flat_map(|tick| TickStage::ALL.map(|stage| (Tick(tick), stage))).collect();
    assert_eq!(scene.watch.stages, expected);
    let inputs: Vec<_> =
        scene.watch.ticked.iter().map(|(tick, counts)| (tick.0, counts.joins, counts.inputs)).collect();
    assert_eq!(inputs, [(1, 1, 0), (2, 0, 1), (3, 0, 0)]);
}

#[test]
fn the_counts_of_the_ticks_add_up_to_the_totals() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    for seq in 1..=20 {
        ann.push(seq, &[1.0]);
        scene.play(1, &mut [&mut ann]);
    }
    let mut sum = aether_engine::RoomCounts::default();
    scene.watch.ticked.iter().for_each(|(_, counts)| sum.add(counts));
    assert_eq!(sum, *scene.totals());
    let names: Vec<_> = sum.each().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect();
    assert!(names.contains(&"inputs") && names.contains(&"snapshots"), "{names:?}");
}

#[test]
fn what_is_spawned_in_a_tick_is_in_its_snapshot() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    let spawned = scene.spawn_at([3.0, 4.0]);
    ann.read();
    assert_eq!(ann.mirror.tick(), scene.room.now());
    assert_eq!(ann.place(spawned), Some([3.0, 4.0]));
}

#[test]
fn what_a_join_or_an_input_spawns_or_moves_is_in_that_ticks_snapshot() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    assert_eq!(ann.own_place(), Some([10.0, 0.0]));
    ann.push(1, &[2.0]);
    scene.tick();
    ann.read();
    assert_eq!(ann.own_place(), Some([12.0, 0.0]));
    assert_eq!(ann.packet_ticks, [Tick(1), Tick(2)]);
}

#[test]
fn packets_are_sent_on_snapshot_ticks_only_with_all_changes_since() {
    let mut scene = Scene::new(RoomSettings { tick_hz: 20, snapshot_hz: 5, ..settings() });
    let mut ann = scene.join("ann");
    let known = [1.0, 2.0, 3.0].map(|y| scene.spawn_at([20.0, y]));
    scene.play(4, &mut [&mut ann]);
    for tick in 9..=40u32 {
        // One of three moves in each tick between snapshots, and an entity is spawned in one of them.
        if let Some(&entity) = known.get(tick as usize % 4) {
            scene.put(entity, [20.0, tick as f32]);
        }
        if tick % 4 == 1 {
            scene.next(|room| {
                room.world.spawn(Crate { position: [30.0, 0.0], velocity: [0.0; 2] }).unwrap();
            });
        }
        scene.tick();
        if ann.read() > 0 {
            assert_eq!(tick % 4, 0, "tick {tick} is no snapshot tick");
            assert!(scene.agrees_with(&ann), "at tick {tick} something is missing");
        }
    }
    assert_eq!(ann.packet_ticks, [4, 12, 16, 20, 24, 28, 32, 36, 40].map(Tick));
    assert_eq!(ann.crates(), 1 + 3 + 8);
}

#[test]
fn an_entity_that_reuses_a_slot_between_two_snapshots_replaces_the_other() {
    let mut scene = Scene::new(RoomSettings { tick_hz: 20, snapshot_hz: 5, ..settings() });
    let mut ann = scene.join("ann");
    let first = scene.spawn_at([10.0, 1.0]);
    scene.play(2, &mut [&mut ann]);
    assert!(ann.mirror.contains(first));
    scene.next(move |room| assert!(room.world.despawn(first)));
    scene.tick();
    let second = scene.spawn_at([10.0, 2.0]);
    assert_eq!(second.slot, first.slot);
    scene.play(2, &mut [&mut ann]);
    assert!(!ann.mirror.contains(first));
    assert_eq!(ann.place(second), Some([10.0, 2.0]));
    assert!(scene.agrees_with(&ann));
}

#[test]
fn an_entity_that_exists_only_between_two_snapshots_is_never_sent() {
    let mut scene = Scene::new(RoomSettings { tick_hz: 20, snapshot_hz: 5, ..settings() });
    let mut ann = scene.join("ann");
    scene.play(3, &mut [&mut ann]);
    let brief = scene.spawn_at([10.0, 0.0]);
    scene.next(move |room| assert!(room.world.despawn(brief)));
    scene.play(2, &mut [&mut ann]);
    // The slot is reused before the next snapshot.
    let heir = scene.spawn_at([11.0, 0.0]);
    scene.play(4, &mut [&mut ann]);
    assert_eq!(heir.slot, brief.slot);
    assert!(ann.mirror.contains(heir));
    assert!(!ann.ever.contains(&brief));
    assert!(scene.agrees_with(&ann));
}

#[test]
fn deltas_that_all_clients_share_are_encoded_once() {
    const CLIENTS: u64 = 50;
    let mut scene = Scene::new(settings());
    // They join together, so that one delta fits all.
    let endpoints: Vec<_> =
        (0..CLIENTS).map(|_| scene.handle.join(join_request("player"), DeliveryOrder::Ordered).unwrap()).collect();
    scene.tick();
    let client = |endpoint: ConnectionEndpoint| {
        let player = *endpoint.admission().unwrap().as_ref().unwrap();
        Client::new(endpoint, player, DeliveryOrder::Ordered, scene.room.settings().seconds_per_tick())
    };
    let mut clients: Vec<_> = endpoints.into_iter().map(client).collect();
    for _ in 0..10 {
        scene.tick();
        read_all(&mut clients);
    }
    let mut move_all = |clients: &mut [Client]| {
        let before = *scene.totals();
        scene.next(|room| room.world.each_mut::<Crate>(|_, body| body.position[1] += 1.0));
        scene.tick();
        read_all(clients);
        assert!(clients.iter().all(|client| scene.agrees_with(client)));
        let after = scene.totals();
        (after.deltas_encoded - before.deltas_encoded, after.updates - before.updates)
    };
    let (encoded, _) = move_all(&mut clients);
    assert!(encoded <= 2 * CLIENTS, "what rested may be encoded in vain once, but not {encoded} times");
    for _ in 0..5 {
        move_all(&mut clients);
    }
    let (encoded, updates) = move_all(&mut clients);
    // Players stand 10 units apart, so each sees 20 others on either side.
    let seen: u64 = clients.iter().map(|client| client.crates() as u64).sum();
    assert!(seen > 20 * CLIENTS, "{seen}");
    assert_eq!(updates, seen);
    assert_eq!(encoded, CLIENTS, "one delta per moved crate, not one per client");
}

#[test]
fn a_snapshot_stays_within_its_budget_and_sends_the_own_entity_first() {
    let bytes_max = 400;
    let mut scene = Scene::new(RoomSettings { snapshot_bytes_max: bytes_max, ..settings() });
    scene.next(|room| {
        for step in 0..250 {
            room.world.spawn(Crate { position: [step as f32 / 2.0, 3.3], velocity: [0.7, 0.0] }).unwrap();
        }
    });
    scene.tick();
    let mut ann = scene.join("ann");
    ann.read();
    assert!(ann.own_place().is_some());
    assert!(ann.crates() < 100, "{} at once", ann.crates());
    let mut snapshots = 1;
    while ann.crates() < 251 {
        let before = ann.state_bytes;
        scene.play(1, &mut [&mut ann]);
        snapshots += 1;
        assert!(ann.state_bytes - before <= bytes_max + 20, "{} bytes", ann.state_bytes - before);
        assert!(snapshots < 200, "something starves");
    }
    // At rest, everything arrives.
    scene.next(|room| room.world.each_mut::<Crate>(|_, body| body.velocity = [0.0; 2]));
    scene.play(100, &mut [&mut ann]);
    assert!(scene.agrees_with(&ann));
}

#[test]
fn a_late_join_gets_full_state_and_then_deltas() {
    let mut scene = Scene::new(settings());
    let first = scene.spawn_at([10.0, 10.0]);
    scene.ticks(50);
    let mut late = scene.join("late");
    late.read();
    assert!(late.mirror.contains(first));
    assert!(scene.agrees_with(&late));
    let full = late.state_bytes;
    scene.put(first, [11.0, 10.0]);
    scene.play(1, &mut [&mut late]);
    assert!(scene.agrees_with(&late));
    assert!(late.state_bytes - full < full, "a difference is smaller than the whole");
}

#[test]
fn several_threads_encode_the_same_bytes_as_one() {
    let bytes = |pool: Option<usize>| {
        let settings = RoomSettings { parallel_clients_min: 1, ..settings() };
        let mut builder = aether_engine::Room::builder(crate::support::Yard::default(), settings).seed(3);
        if let Some(threads) = pool {
            builder = builder.pool(aether_engine::encode_pool(threads).unwrap());
        }
        let mut room = builder.build().unwrap();
        let endpoints: Vec<_> =
            (0..20).map(|_| room.handle().join(join_request("player"), DeliveryOrder::Ordered).unwrap()).collect();
        let mut packets = Vec::new();
        for _ in 0..20 {
            room.tick(&mut aether_engine::NoObserver);
            packets.extend(endpoints.iter().flat_map(|endpoint| std::iter::from_fn(|| endpoint.next_state())));
        }
        let totals = *room.totals();
        assert_eq!(totals.snapshots_parallel, if pool.is_some() { totals.snapshots } else { 0 });
        // Threads may each encode what only a few clients need.
        (packets, aether_engine::RoomCounts { snapshots_parallel: 0, deltas_encoded: 0, ..totals })
    };
    let one = bytes(None);
    assert!(!one.0.is_empty());
    assert_eq!(bytes(Some(1)), one);
    assert_eq!(bytes(Some(4)), one);
}

#[test]
fn either_spatial_index_gives_the_same_bytes() {
    let packets = |index, nearest_max| {
        let interest = aether_space::InterestSettings { radius: 60.0, nearest_max, ..Default::default() };
        // Some entities are outside the bounds, where a grid has only its border cells.
        let bounds = aether_space::WorldBounds { min: [-30.0; 2], max: [30.0; 2] };
        let settings = RoomSettings { index, bounds, interest: Some(interest), ..settings() };
        let mut scene = Scene::new(settings);
        for number in 0..120 {
            scene.spawn_at([(number % 12) as f32 * 9.0 - 50.0, (number / 12) as f32 * 11.0 - 60.0]);
        }
        let endpoints: Vec<_> = ["ann", "ben", "cid"]
            .map(|name| scene.room.handle().join(join_request(name), DeliveryOrder::Ordered).unwrap())
            .into_iter()
            .collect();
        let mut packets = Vec::new();
        for tick in 0..60 {
            scene.next(move |room| {
                let turn = tick as f32 * 0.2;
                room.world.each_mut::<Crate>(|_, body| {
                    body.position[0] += turn.sin();
                    body.position[1] += turn.cos();
                });
            });
            scene.ticks(1);
            packets.extend(endpoints.iter().flat_map(|endpoint| std::iter::from_fn(|| endpoint.next_state())));
        }
        packets
    };
    for nearest_max in [None, Some(7)] {
        let grid = packets(aether_space::IndexKind::Grid, nearest_max);
        assert!(grid.len() > 60);
        assert!(grid == packets(aether_space::IndexKind::Quadtree, nearest_max), "the packets differ");
    }
}
