//! Join times while other clients ask for unknown rooms and slow rooms are built.

use crate::{ALONE, median, p99};
use aether_testkit_server::slow_start::{BUILDING, INIT_TIME};
use aether_testkit_server::{PROTOBUF, TestServer, TransportKind};
use aether_wire::{ErrorCode, Hello, RoomSelector};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// Clients that repeatedly ask for unknown rooms.
const ASKING: u32 = 200;
/// Time between two requests of such a client.
const ASKING_PAUSE: Duration = Duration::from_secs(1);
/// Clients that repeatedly join and are measured.
const JOINING: usize = 12;
/// Rounds of the measurement, each as long as the build of a slow room; these are built one after the other meanwhile.
const ROUNDS: u32 = 5;
/// Ticks per second of the room that they join. A join waits for the next tick, so most take up to 50 ms.
const TICK_HZ: u32 = 20;

async fn start(has_durable_rooms: bool) -> Arc<TestServer> {
    let server = TestServer::start(|config| {
        config.room_mut("outpost").durable = Some(has_durable_rooms);
        config.room_mut("workshop").tick_hz = Some(TICK_HZ);
        config.room_mut("workshop").snapshot_hz = Some(TICK_HZ);
        // A player that leaves is removed at once.
        config.room_mut("workshop").resume_seconds = Some(0);
        config.connections.max = 2_000;
    });
    Arc::new(server.await)
}

/// Measures joins until `over` is set. Returns the p99 of each round.
async fn joins(server: Arc<TestServer>, over: Arc<AtomicBool>) -> Vec<Duration> {
    let (mut joins, began_all) = (JoinSet::new(), Instant::now());
    for _ in 0..JOINING {
        let (server, over) = (Arc::clone(&server), Arc::clone(&over));
        joins.spawn(async move {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let began = Instant::now();
                let player = server.join(TransportKind::WebSocket, PROTOBUF, &server.hello("workshop")).await;
                times.push((began - began_all, began.elapsed()));
                drop(player);
            }
            times
        });
    }
    let times: Vec<(Duration, Duration)> = joins.join_all().await.into_iter().flatten().collect();
    let of_round = |round: u32| {
        let from = INIT_TIME * round;
        times.iter().filter(move |(at, _)| (from..from + INIT_TIME).contains(at)).map(|(_, took)| *took).collect()
    };
    (0..ROUNDS).map(|round| p99(of_round(round))).collect()
}

/// Asks for unknown rooms until `over` is set. Returns the number of answers.
async fn join_unknown_rooms(server: Arc<TestServer>, over: Arc<AtomicBool>) -> u32 {
    let answered = Arc::new(AtomicU32::new(0));
    let mut clients = JoinSet::new();
    for number in 0..ASKING {
        let (server, over, answered) = (Arc::clone(&server), Arc::clone(&over), Arc::clone(&answered));
        clients.spawn(async move {
            tokio::time::sleep(ASKING_PAUSE * number / ASKING).await;
            let mut pause = tokio::time::interval(ASKING_PAUSE);
            while !over.load(Ordering::Relaxed) {
                pause.tick().await;
                let room = Some(RoomSelector::Code(format!("NO{number:04}")));
                let hello = Hello { room, ..server.hello("") };
                let refused = server.try_join(TransportKind::WebSocket, PROTOBUF, &hello).await.err();
                assert_eq!(refused.map(|notice| notice.code), Some(ErrorCode::RoomNotFound));
                answered.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    clients.join_all().await;
    answered.load(Ordering::Relaxed)
}

/// Joins rooms that take long to build, each with its own label, until `over` is set. Returns their number.
async fn build_slow_rooms(server: Arc<TestServer>, over: Arc<AtomicBool>) -> u32 {
    let mut built = 0;
    while !over.load(Ordering::Relaxed) {
        let room = Some(RoomSelector::Type { name: "slow_start".into(), label: Some(built.to_string()) });
        let hello = Hello { room, ..server.hello("") };
        drop(server.join(TransportKind::WebSocket, PROTOBUF, &hello).await);
        built += 1;
    }
    built
}

/// Two servers run at the same time on the same machine, so that its other load affects both. Both are asked for unknown
/// rooms equally often. Only one has to query its database for them and to build slow rooms.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_durable_rooms_and_a_slow_init_do_not_delay_the_joins_of_others() {
    let _alone = ALONE.lock().await;
    let (control, beside) = (start(false).await, start(true).await);
    let over = Arc::new(AtomicBool::new(false));
    let measure = async {
        tokio::time::sleep(INIT_TIME * ROUNDS).await;
        assert!(BUILDING.load(Ordering::Relaxed) <= 1, "one after the other");
        over.store(true, Ordering::Relaxed);
    };
    let (alone, together, asked_control, asked, built, ()) = tokio::join!(
        tokio::spawn(joins(Arc::clone(&control), Arc::clone(&over))),
        tokio::spawn(joins(Arc::clone(&beside), Arc::clone(&over))),
        tokio::spawn(join_unknown_rooms(Arc::clone(&control), Arc::clone(&over))),
        tokio::spawn(join_unknown_rooms(Arc::clone(&beside), Arc::clone(&over))),
        tokio::spawn(build_slow_rooms(Arc::clone(&beside), Arc::clone(&over))),
        measure,
    );
    let (alone, together) = (alone.unwrap(), together.unwrap());
    let (asked_control, asked, built) = (asked_control.unwrap(), asked.unwrap(), built.unwrap());
    println!("control: p99 of joins by round {alone:?}, {asked_control} rejections");
    println!("beside: p99 of joins by round {together:?}, {asked} rejections, {built} slow rooms");
    assert!(asked >= ASKING && built >= 2, "{asked} rejections, {built} slow rooms");
    // A pause of the machine affects one round of one server; a queue would affect every round.
    let (alone, together) = (median(&alone), median(&together));
    assert!(together <= alone.mul_f64(1.2), "{together:?} instead of {alone:?}");
    for server in [control, beside] {
        Arc::into_inner(server).expect("all tasks have ended").stop().await;
    }
}
