//! Simulated network conditions around real connections.

use super::support::NativePlayer;
use aether_client::{Bandwidth, Conditions};
use aether_client_native::{NativeClientSettings, TransportPreference, TrustStore};
use aether_server::tokens::Role;
use aether_testkit_server::{NATIVE_TRANSPORTS, TestServer, TransportKind, until};
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn a_native_client_plays_over_simulated_conditions() {
    let server = TestServer::start(|_| {}).await;
    let conditions = Conditions {
        latency: Duration::from_millis(60),
        jitter: Duration::from_millis(10),
        loss: 0.2,
        duplication: 0.1,
        reordering: 0.1,
        bandwidth: Some(Bandwidth { bytes_per_second: 200_000, queue_bytes_max: 24_000 }),
    };
    for transport in NATIVE_TRANSPORTS {
        let settings = NativeClientSettings {
            transport: TransportPreference::Only(transport),
            conditions: Some(conditions),
            ..NativeClientSettings::default()
        };
        let address = format!("http://{}", server.http);
        let mut player = NativePlayer::new(&address, Some(server.token(Role::Player)), settings, TrustStore::system());
        player.until_joined().await;
        player.walk([1.0, 0.0]);
        player.until("late pongs", |player| round_trip(player) >= Duration::from_millis(120)).await;
        let has_loss = transport != TransportKind::WebSocket;
        player.until("loss", |player| (player.native.client().stats().loss > 0.05) == has_loss).await;
        assert_eq!(player.native.client().stats().faults, 0);
        // Without conditions the network is fast again.
        player.native.set_conditions(None);
        player.until("early pongs", |player| round_trip(player) < Duration::from_millis(100)).await;
        player.native.set_conditions(Some(conditions));
        assert!(player.native.leave(), "the leave message passes the simulated network");
    }
    until("all players have left", || server.connections() == 0).await;
    server.stop().await;
}

fn round_trip(player: &NativePlayer) -> Duration {
    player.native.client().stats().round_trip.unwrap_or_default()
}
