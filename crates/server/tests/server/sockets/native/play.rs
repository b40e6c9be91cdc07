//! Joining, playing and leaving.

use super::support::NativePlayer;
use aether_client::{ClientPhase, EndReason};
use aether_client_native::TransportPreference;
use aether_outpost_client::Drawn;
use aether_outpost_rules::Player;
use aether_testkit_server::{NATIVE_TRANSPORTS, TestServer, TransportKind, until};

/// Returns the number of players that have left. Lost players could resume for an hour.
fn leaves(server: &TestServer) -> f64 {
    server.metric("aether_room_events_total", &[("kind", "leaves")])
}

/// Consecutive inputs without a correction: three seconds of walking.
const INPUTS: u64 = 90;

/// Walks in squares until enough consecutive inputs had no correction. A machine that stalls for half a second makes the
/// server drop inputs, which is not an error of the prediction, so the count starts again.
async fn walk_without_corrections(player: &mut NativePlayer) {
    let mut since = player.native.client().stats();
    player
        .until("steps without corrections", |player| {
            let stats = player.native.client().stats();
            if stats.corrections != since.corrections {
                since = stats.clone();
            }
            let sides = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
            player.walk(sides[(stats.inputs / 20 % 4) as usize]);
            stats.inputs >= since.inputs + INPUTS
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prediction_is_exact_over_every_transport() {
    let server = TestServer::start(|_| {}).await;
    for transport in NATIVE_TRANSPORTS {
        let mut player = NativePlayer::at(&server, TransportPreference::Only(transport));
        player.until_joined().await;
        assert_eq!((player.native.transport(), player.joins()), (Some(transport), vec![false]));
        let Drawn(begun) = player.native.client().own_state().expect("the player has an entity");
        player.walk([1.0, 0.0]);
        player
            .until("a walk", |player| {
                player
                    .native
                    .client()
                    .own_state()
                    .is_some_and(|Drawn(player)| player.position[0] > begun.position[0] + 3.0)
            })
            .await;
        walk_without_corrections(&mut player).await;
        player.walk([0.0, 0.0]);
        player
            .until("the server to agree", |player| {
                let client = player.native.client();
                let entity = client.own_entity().expect("the player has an entity");
                let here = client.predicted_state().map(|Drawn(player)| player.clone());
                let there = client.mirror().and_then(|mirror| mirror.get::<Player>(entity));
                let is_at_rest = here.as_ref().is_some_and(|player| player.velocity == [0.0; 2]);
                is_at_rest && client.stats().inputs_unacknowledged < 30 && here.as_ref() == there
            })
            .await;
        assert_eq!(player.native.client().stats().faults, 0);
        assert!(player.native.client().stats().round_trip.is_some());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_on_different_transports_see_each_other() {
    let server = TestServer::start(|_| {}).await;
    let mut ann = NativePlayer::at(&server, TransportPreference::Only(TransportKind::WebSocket));
    let mut ben = NativePlayer::at(&server, TransportPreference::Only(TransportKind::WebTransport));
    ann.until_joined().await;
    ben.until_joined().await;
    let (of_ann, of_ben) = (ann.native.client().own_entity(), ben.native.client().own_entity());
    ben.walk([0.0, 1.0]);
    let mut seen = None;
    ann.until("the other player to walk", |ann| {
        ben.frame();
        let other = ann.native.client().remote_entities().find(|(entity, _)| Some(*entity) == of_ben);
        let Some((_, Drawn(player))) = other else { return false };
        let begun: [f32; 2] = *seen.get_or_insert(player.position);
        player.position[1] > begun[1] + 2.0
    })
    .await;
    assert!(ben.native.client().remote_entities().any(|(entity, _)| Some(entity) == of_ann));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_that_leaves_is_removed_at_once() {
    let server = TestServer::start(|config| config.room_mut("outpost").resume_seconds = Some(3_600)).await;
    for (number, transport) in NATIVE_TRANSPORTS.into_iter().enumerate() {
        let before = 2.0 * number as f64;
        let mut player = NativePlayer::at(&server, TransportPreference::Only(transport));
        player.until_joined().await;
        assert!(player.native.leave(), "the server has confirmed the leave");
        until("the first is gone", || leaves(&server) == before + 1.0 && server.connections() == 0).await;

        let mut player = NativePlayer::at(&server, TransportPreference::Only(transport));
        player.until_joined().await;
        assert!(player.native.leave_async().await, "the server has confirmed the leave");
        until("the second is gone", || leaves(&server) == before + 2.0 && server.connections() == 0).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leave_in_the_game_loop_closes_the_connection() {
    let server = TestServer::start(|config| config.room_mut("outpost").resume_seconds = Some(3_600)).await;
    for (number, transport) in NATIVE_TRANSPORTS.into_iter().enumerate() {
        let mut player = NativePlayer::at(&server, TransportPreference::Only(transport));
        player.until_joined().await;
        player.native.client_mut().leave();
        player.until("the end of the connection", |player| player.native.transport().is_none()).await;
        assert_eq!(*player.native.client().phase(), ClientPhase::Closed(EndReason::Left));
        until("the player is gone", || leaves(&server) == number as f64 + 1.0).await;
        for _ in 0..10 {
            player.frame();
        }
        assert!(player.native.transport().is_none() && player.native.last_error().is_none());
        assert!(player.native.leave(), "leaving twice returns at once");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_client_closes_its_connection_and_can_resume() {
    let server = TestServer::start(|config| config.room_mut("outpost").resume_seconds = Some(3_600)).await;
    for transport in NATIVE_TRANSPORTS {
        let mut player = NativePlayer::at(&server, TransportPreference::Only(transport));
        player.until_joined().await;
        drop(player);
        until("the connection is gone", || server.connections() == 0).await;
    }
    assert_eq!(leaves(&server), 0.0);
    server.stop().await;
}
