//! Joining, playing and leaving.

use super::support::Seat;
use aether_client::{ClientPhase, EndReason};
use aether_client_native::TransportPreference;
use aether_outpost_client::Drawn;
use aether_outpost_rules::Player;
use aether_testkit_server::{TRANSPORTS, TestServer, TransportKind, until};

/// How many players are gone for good: their places are kept for an hour unless they leave.
fn gone(server: &TestServer) -> f64 {
    server.metric("aether_room_events_total", &[("kind", "leaves")])
}

/// Inputs in a row that nothing is corrected in: three seconds of walking.
const INPUTS: u64 = 90;

/// Walks in squares until so many inputs in a row were right. A machine that stands still for half a second makes the server
/// drop inputs, which is no fault of the prediction, and the count begins anew.
async fn walk_without_corrections(seat: &mut Seat) {
    let mut since = seat.shell.client().stats();
    seat.until("steps without corrections", |seat| {
        let stats = seat.shell.client().stats();
        if stats.corrections != since.corrections {
            since = stats.clone();
        }
        let sides = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
        seat.walk(sides[(stats.inputs / 20 % 4) as usize]);
        stats.inputs >= since.inputs + INPUTS
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_own_player_is_predicted_right_over_every_transport() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut seat = Seat::at(&server, TransportPreference::Only(transport));
        seat.until_joined().await;
        assert_eq!((seat.shell.transport(), seat.joins()), (Some(transport), vec![false]));
        let Drawn(begun) = seat.shell.client().own_state().expect("it has a body");
        seat.walk([1.0, 0.0]);
        seat.until("a walk", |seat| {
            seat.shell.client().own_state().is_some_and(|Drawn(player)| player.position[0] > begun.position[0] + 3.0)
        })
        .await;
        walk_without_corrections(&mut seat).await;
        seat.walk([0.0, 0.0]);
        seat.until("the server to agree", |seat| {
            let client = seat.shell.client();
            let entity = client.own_entity().expect("it has a body");
            let here = client.predicted_state().map(|Drawn(player)| player.clone());
            let there = client.mirror().and_then(|mirror| mirror.get::<Player>(entity));
            let is_at_rest = here.as_ref().is_some_and(|player| player.velocity == [0.0; 2]);
            is_at_rest && client.stats().inputs_unacknowledged < 30 && here.as_ref() == there
        })
        .await;
        assert_eq!(seat.shell.client().stats().faults, 0);
        assert!(seat.shell.client().stats().round_trip.is_some());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_see_each_other_whatever_carries_them() {
    let server = TestServer::start(|_| {}).await;
    let mut ann = Seat::at(&server, TransportPreference::Only(TransportKind::WebSocket));
    let mut ben = Seat::at(&server, TransportPreference::Only(TransportKind::WebTransport));
    ann.until_joined().await;
    ben.until_joined().await;
    let (of_ann, of_ben) = (ann.shell.client().own_entity(), ben.shell.client().own_entity());
    ben.walk([0.0, 1.0]);
    let mut seen = None;
    ann.until("someone who walks", |ann| {
        ben.frame();
        let other = ann.shell.client().remote_entities().find(|(entity, _)| Some(*entity) == of_ben);
        let Some((_, Drawn(player))) = other else { return false };
        let begun: [f32; 2] = *seen.get_or_insert(player.position);
        player.position[1] > begun[1] + 2.0
    })
    .await;
    assert!(ben.shell.client().remote_entities().any(|(entity, _)| Some(entity) == of_ann));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_is_gone_at_once_and_for_good() {
    let server = TestServer::start(|config| config.room_mut("outpost").resume_seconds = Some(3_600)).await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let before = 2.0 * number as f64;
        let mut seat = Seat::at(&server, TransportPreference::Only(transport));
        seat.until_joined().await;
        assert!(seat.shell.leave(), "the server has heard it");
        until("the first is gone", || gone(&server) == before + 1.0 && server.connections() == 0).await;

        let mut seat = Seat::at(&server, TransportPreference::Only(transport));
        seat.until_joined().await;
        assert!(seat.shell.leave_async().await, "the server has heard it");
        until("the second is gone", || gone(&server) == before + 2.0 && server.connections() == 0).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_that_leaves_in_its_loop_sees_the_end_and_needs_no_more() {
    let server = TestServer::start(|config| config.room_mut("outpost").resume_seconds = Some(3_600)).await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let mut seat = Seat::at(&server, TransportPreference::Only(transport));
        seat.until_joined().await;
        seat.shell.client_mut().leave();
        seat.until("the end of the connection", |seat| seat.shell.transport().is_none()).await;
        assert_eq!(*seat.shell.client().phase(), ClientPhase::Closed(EndReason::Left));
        until("the player is gone", || gone(&server) == number as f64 + 1.0).await;
        for _ in 0..10 {
            seat.frame();
        }
        assert!(seat.shell.transport().is_none() && seat.shell.last_error().is_none());
        assert!(seat.shell.leave(), "there is nothing to wait for");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_that_is_dropped_leaves_nothing_open_and_keeps_the_place() {
    let server = TestServer::start(|config| config.room_mut("outpost").resume_seconds = Some(3_600)).await;
    for transport in TRANSPORTS {
        let mut seat = Seat::at(&server, TransportPreference::Only(transport));
        seat.until_joined().await;
        drop(seat);
        until("the connection is gone", || server.connections() == 0).await;
    }
    assert_eq!(gone(&server), 0.0);
    server.stop().await;
}
