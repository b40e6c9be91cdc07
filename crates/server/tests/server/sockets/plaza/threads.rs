//! Encoding by several threads in a running server.

use super::{Order, Program, mirror, order_message, read_state, ships, steps};
use aether_engine::RoomSettings;
use aether_replication::DeliveryOrder;
use aether_sandbox_rules::Ship;
use aether_testkit_server::{PROTOBUF, TestPlayer, TransportKind};
use aether_wire::EntityId;
use std::collections::BTreeMap;

const CLIENTS: usize = 6;

/// Ships of each number of steps, as clients see them.
type States = BTreeMap<Option<u32>, BTreeMap<EntityId, Ship>>;

/// Runs a room whose snapshots this many threads encode. Returns the states that its clients see, the number of
/// threads that the server reports, and the snapshots that several threads have built.
async fn run(threads: usize) -> (States, f64, f64) {
    let settings =
        RoomSettings { snapshot_hz: 40, parallel_clients_min: CLIENTS, rings: Vec::new(), ..RoomSettings::default() };
    let types = [("plaza", settings.clone(), 60)];
    let program = Program::start(&types, |config| config.rooms.encode_threads = threads).await;
    let mut players: Vec<TestPlayer> = Vec::new();
    for _ in 0..CLIENTS {
        players.push(program.join(TransportKind::WebSocket, PROTOBUF, "plaza").await);
    }
    let mut mirrors: Vec<_> = players.iter().map(|_| mirror(DeliveryOrder::Ordered, &settings)).collect();
    players[0].send(order_message(&Order { moves: true, burn_ms: 0 })).await;
    let mut states = States::new();
    while mirrors.iter().any(|shown| steps(shown) < Some(150)) {
        for (player, shown) in players.iter_mut().zip(&mut mirrors) {
            read_state(player, shown).await;
            let seen: BTreeMap<_, _> = ships(shown).into_iter().map(|(entity, ship)| (entity, ship.clone())).collect();
            let known = states.entry(steps(shown)).or_insert_with(|| seen.clone());
            // All ships are in sight, so all clients see the same, except before the last one has joined.
            assert!(*known == seen || steps(shown) < Some(1), "clients of one room see the same");
        }
    }
    let parallel = program.events("plaza", "snapshots_parallel");
    let reported = program.metric("aether_encode_threads", &[]);
    drop(players);
    program.stop().await;
    (states, reported.expect("the metric exists"), parallel)
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_see_the_same_with_any_number_of_encoding_threads() {
    let (one, reported, parallel) = run(1).await;
    assert_eq!((reported, parallel), (1.0, 0.0), "the tick thread encodes alone");
    for threads in [2, 4] {
        let (several, reported, parallel) = run(threads).await;
        assert_eq!(reported, threads as f64);
        // On a busy machine clients skip snapshots, so the numbers depend on its speed.
        assert!(parallel > 10.0, "{threads} threads have built {parallel} snapshots");
        let common: Vec<_> = one.iter().filter(|(step, _)| several.contains_key(step) && **step > Some(0)).collect();
        assert!(common.len() > 10, "only {} common states", common.len());
        assert!(common.into_iter().all(|(step, state)| several[step] == *state), "with {threads} threads");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn by_default_there_is_an_encoding_thread_per_core() {
    let program = Program::start(&[("plaza", RoomSettings::default(), 1)], |_| {}).await;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(program.metric("aether_encode_threads", &[]), Some(cores as f64));
    program.stop().await;
}
