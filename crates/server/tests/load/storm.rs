//! A thousand clients that lose their connection at once.

use crate::ALONE;
use aether_testkit_server::{PROTOBUF, TestPlayer, TestServer, TransportKind};
use aether_wire::{EntityId, Hello, PlayerId, RoomId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Barrier, Semaphore};

const CLIENTS: usize = 1_000;
/// Number of clients over WebTransport.
const OVER_QUIC: usize = 200;
/// Time limit for all clients to resume.
const RESUME_TIME_MAX: Duration = Duration::from_secs(10);
/// Connections that are opened at a time, because the listener's queue is bounded.
const OPENING_AT_ONCE: usize = 100;

/// A player and its ship.
struct JoinedPlayer {
    player: PlayerId,
    room: RoomId,
    ship: EntityId,
    resume: Hello,
}

async fn joined_player(player: &mut TestPlayer) -> JoinedPlayer {
    let ship = player.possession().await;
    let TestPlayer { welcome, .. } = &*player;
    JoinedPlayer { player: welcome.player, room: welcome.room.clone(), ship, resume: player.resume_hello() }
}

/// Reads and discards messages until all clients have reached the barrier.
async fn wait_for_all(player: &mut TestPlayer, barrier: &Barrier) {
    tokio::select! {
        _ = barrier.wait() => {}
        error = async { loop { if let Err(error) = player.client.receive(&mut |_| {}).await { break error } } } => {
            panic!("the connection broke: {error}")
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_dropped_clients_resume_with_their_ships_within_ten_seconds() {
    let _alone = ALONE.lock().await;
    rlimit::increase_nofile_limit(u64::MAX).expect("the limit of open files can be raised");
    let server = Arc::new(TestServer::start(|_| {}).await);
    let all_joined = Arc::new(Barrier::new(CLIENTS + 1));
    let all_resumed = Arc::new(Barrier::new(CLIENTS + 1));
    let opening = Arc::new(Semaphore::new(OPENING_AT_ONCE));
    let began = Instant::now();
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (server, opening) = (Arc::clone(&server), Arc::clone(&opening));
            let (all_joined, all_resumed) = (Arc::clone(&all_joined), Arc::clone(&all_resumed));
            tokio::spawn(async move {
                let transport = if number < OVER_QUIC { TransportKind::WebTransport } else { TransportKind::WebSocket };
                let join = async |hello: &Hello| {
                    let _permit = opening.acquire().await.expect("the semaphore is never closed");
                    let mut player = server.join(transport, PROTOBUF, hello).await;
                    let joined = joined_player(&mut player).await;
                    (player, joined)
                };
                let (mut player, before) = join(&server.hello("sandbox")).await;
                wait_for_all(&mut player, &all_joined).await;
                drop(player);
                let (mut player, after) = join(&before.resume).await;
                wait_for_all(&mut player, &all_resumed).await;
                assert_eq!((after.player, &after.room, after.ship), (before.player, &before.room, before.ship));
            })
        })
        .collect();
    all_joined.wait().await;
    let joined = began.elapsed();
    let dropped_at = Instant::now();
    all_resumed.wait().await;
    let resumed = dropped_at.elapsed();
    println!("{CLIENTS} clients joined in {joined:?}; after all dropped, all resumed in {resumed:?}");
    for task in tasks {
        task.await.expect("all clients have the same ship");
    }
    assert!(resumed < RESUME_TIME_MAX, "{resumed:?}");
    assert_eq!(server.metric("aether_resumes_total", &[]), CLIENTS as f64);
    assert_eq!(server.metric("aether_room_events_total", &[("kind", "joins")]), CLIENTS as f64);
    assert_eq!(server.metric("aether_room_events_total", &[("kind", "leaves")]), 0.0);
    Arc::into_inner(server).expect("all tasks have ended").stop().await;
}
