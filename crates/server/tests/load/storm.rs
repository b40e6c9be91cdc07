//! A thousand clients that lose their connection at once.

use crate::ALONE;
use aether_testkit_server::{PROTOBUF, Player, TestServer, TransportKind};
use aether_wire::{EntityId, Hello, PlayerId, RoomId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Barrier, Semaphore};

const CLIENTS: usize = 1_000;
/// How many of them use WebTransport.
const OVER_QUIC: usize = 200;
/// All are back within this time.
const BACK_WITHIN: Duration = Duration::from_secs(10);
/// Connections that are being opened at a time: the system's queue for them is bounded.
const OPENING_AT_ONCE: usize = 100;

struct Place {
    player: PlayerId,
    room: RoomId,
    ship: EntityId,
    comeback: Hello,
}

async fn place(player: &mut Player) -> Place {
    let ship = player.possession().await;
    let Player { welcome, .. } = &*player;
    Place { player: welcome.player, room: welcome.room.clone(), ship, comeback: player.comeback() }
}

/// Reads and forgets until everyone is there.
async fn wait_for_all(player: &mut Player, barrier: &Barrier) {
    tokio::select! {
        _ = barrier.wait() => {}
        error = async { loop { if let Err(error) = player.client.receive(&mut |_| {}).await { break error } } } => {
            panic!("the connection broke: {error}")
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_clients_that_drop_are_all_back_in_their_ships_within_ten_seconds() {
    let _alone = ALONE.lock().await;
    rlimit::increase_nofile_limit(u64::MAX).expect("more files can be open");
    let server = Arc::new(TestServer::start(|_| {}).await);
    let all_in = Arc::new(Barrier::new(CLIENTS + 1));
    let all_back = Arc::new(Barrier::new(CLIENTS + 1));
    let opening = Arc::new(Semaphore::new(OPENING_AT_ONCE));
    let began = Instant::now();
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (server, opening) = (Arc::clone(&server), Arc::clone(&opening));
            let (all_in, all_back) = (Arc::clone(&all_in), Arc::clone(&all_back));
            tokio::spawn(async move {
                let transport = if number < OVER_QUIC { TransportKind::WebTransport } else { TransportKind::WebSocket };
                let join = async |hello: &Hello| {
                    let _permit = opening.acquire().await.expect("it is never closed");
                    let mut player = server.join(transport, PROTOBUF, hello).await;
                    let place = place(&mut player).await;
                    (player, place)
                };
                let (mut player, before) = join(&server.hello("sandbox")).await;
                wait_for_all(&mut player, &all_in).await;
                drop(player);
                let (mut player, after) = join(&before.comeback).await;
                wait_for_all(&mut player, &all_back).await;
                assert_eq!((after.player, &after.room, after.ship), (before.player, &before.room, before.ship));
            })
        })
        .collect();
    all_in.wait().await;
    let joined = began.elapsed();
    let dropped_at = Instant::now();
    all_back.wait().await;
    let back = dropped_at.elapsed();
    println!("{CLIENTS} clients joined in {joined:?}; after all dropped, all were back in {back:?}");
    for task in tasks {
        task.await.expect("everyone is back in the same ship");
    }
    assert!(back < BACK_WITHIN, "{back:?}");
    assert_eq!(server.metric("aether_resumes_total", &[]), CLIENTS as f64);
    assert_eq!(server.metric("aether_room_events_total", &[("kind", "joins")]), CLIENTS as f64);
    assert_eq!(server.metric("aether_room_events_total", &[("kind", "leaves")]), 0.0);
    Arc::into_inner(server).expect("all tasks have ended").stop().await;
}
