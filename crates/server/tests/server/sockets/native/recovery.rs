//! Reconnection of the native client.

use super::proxy::Proxy;
use super::support::NativePlayer;
use super::udp_proxy::UdpProxy;
use aether_client::{ClientEvent, ClientPhase, EndReason};
use aether_client_native::{ConnectionError, NativeClientSettings, TokenSource, TransportPreference, TrustStore};
use aether_server::config::Config;
use aether_server::tokens::Role;
use aether_testkit_server::{NATIVE_TRANSPORTS, TestServer, TransportKind, until};
use aether_wire::ErrorCode;

fn through(proxy: &Proxy, server: &TestServer, transport: TransportPreference) -> NativePlayer {
    let settings = NativeClientSettings { transport, ..NativeClientSettings::default() };
    NativePlayer::new(
        &format!("http://{}", proxy.address),
        Some(server.token(Role::Player)),
        settings,
        TrustStore::system(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_available_transport_is_used() {
    let server = TestServer::start(|_| {}).await;
    let mut player = NativePlayer::at(&server, TransportPreference::Best);
    player.until_joined().await;
    assert_eq!(player.native.transport(), Some(TransportKind::Udp));
    assert!(player.native.transport_stats().is_some_and(|stats| stats.packets_in > 0));
    server.stop().await;

    let server = TestServer::start(|config| config.udp.enabled = false).await;
    let mut player = NativePlayer::at(&server, TransportPreference::Best);
    player.until_joined().await;
    assert_eq!(player.native.transport(), Some(TransportKind::WebTransport));
    let mut player = NativePlayer::at(&server, TransportPreference::Only(TransportKind::Udp));
    player.until("an attempt", |player| player.native.last_error().is_some()).await;
    assert!(matches!(player.native.last_error(), Some(ConnectionError::NotOffered(TransportKind::Udp))));
    server.stop().await;

    let disable = |config: &mut Config| (config.webtransport.enabled, config.udp.enabled) = (false, false);
    let server = TestServer::start(disable).await;
    let mut player = NativePlayer::at(&server, TransportPreference::Best);
    player.until_joined().await;
    assert_eq!(player.native.transport(), Some(TransportKind::WebSocket));
    let mut player = NativePlayer::at(&server, TransportPreference::Only(TransportKind::WebTransport));
    player.until("an attempt", |player| player.native.last_error().is_some()).await;
    assert!(matches!(player.native.last_error(), Some(ConnectionError::NotOffered(TransportKind::WebTransport))));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_udp_the_client_uses_websocket() {
    // The proxy passes TCP only. Reliable UDP would go to the server directly, because its port is that of the server.
    let server = TestServer::start(|config| config.udp.enabled = false).await;
    let proxy = Proxy::start(Some(server.http)).await;
    let mut player = through(&proxy, &server, TransportPreference::Best);
    player.until_joined().await;
    assert_eq!(player.native.transport(), Some(TransportKind::WebSocket));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_resumes_as_the_same_player_after_a_cut() {
    let server = TestServer::start(|_| {}).await;
    let proxy = Proxy::start(Some(server.http)).await;
    let mut player = through(&proxy, &server, TransportPreference::Only(TransportKind::WebSocket));
    let before = player.until_joined().await;
    let body = player.native.client().own_entity();
    for time in 1..=3 {
        proxy.cut();
        player.until("the client to resume", |player| player.joins().len() == time + 1).await;
        let again = player.until_joined().await;
        assert_eq!((again.player, &again.room), (before.player, &before.room));
        assert_eq!(player.native.client().own_entity(), body);
        assert!(player.native.last_error().is_none());
    }
    assert_eq!(player.joins(), [false, true, true, true]);
    assert_eq!(player.events.iter().filter(|event| **event == ClientEvent::Lost).count(), 3);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reconnecting_and_switching_transport_keeps_the_player() {
    let server = TestServer::start(|_| {}).await;
    for transport in NATIVE_TRANSPORTS {
        let mut player = NativePlayer::at(&server, TransportPreference::Only(transport));
        let before = player.until_joined().await;
        player.native.reconnect();
        player.until("the client to resume", |player| player.joins().len() == 2).await;
        for (number, other) in NATIVE_TRANSPORTS.into_iter().enumerate() {
            player.native.switch_transport(TransportPreference::Only(other));
            player.until("the client to resume", |player| player.joins().len() == number + 3).await;
            assert_eq!(player.native.transport(), Some(other));
        }
        assert_eq!(player.until_joined().await.player, before.player);
        assert_eq!(player.joins(), [false, true, true, true, true]);
    }
    until("each player has one connection", || server.connections() == 0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_retries_until_the_server_is_reachable() {
    let proxy = Proxy::start(None).await;
    let settings = NativeClientSettings {
        transport: TransportPreference::Only(TransportKind::WebSocket),
        tokens: TokenSource::guest(),
        ..NativeClientSettings::default()
    };
    let mut player = NativePlayer::new(&format!("http://{}", proxy.address), None, settings, TrustStore::system());
    player.until("two attempts", |player| player.native.client().attempts() >= 2).await;
    assert!(player.native.last_error().is_some(), "the client has the reason");
    let server = TestServer::start(|_| {}).await;
    proxy.set_server(server.http);
    player.until_joined().await;
    assert!(player.native.last_error().is_none());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_join_is_not_retried() {
    let server = TestServer::start(|_| {}).await;
    for transport in NATIVE_TRANSPORTS {
        let mut player = NativePlayer::at(&server, TransportPreference::Only(transport));
        player.native.client_mut().set_token(Some(aether_wire::Token::new("made up")));
        player.until("a rejection", |player| matches!(player.native.client().phase(), ClientPhase::Closed(_))).await;
        let ClientPhase::Closed(EndReason::JoinRejected(notice)) = player.native.client().phase() else {
            panic!("{:?}", player.events)
        };
        assert_eq!(notice.code, ErrorCode::Unauthenticated);
        player.until("no connection", |player| player.native.transport().is_none()).await;
        until("the server has no connection", || server.connections() == 0).await;
        assert!(player.native.leave());
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_on_webtransport_notices_a_cut_network_and_resumes() {
    let server = TestServer::start(|_| {}).await;
    let udp = server.running().webtransport.expect("WebTransport is enabled");
    let proxy = UdpProxy::start((server.http, udp)).await;
    let settings = NativeClientSettings {
        transport: TransportPreference::Only(TransportKind::WebTransport),
        ..NativeClientSettings::default()
    };
    let address = format!("http://{}", proxy.address);
    let mut player = NativePlayer::new(&address, Some(server.token(Role::Player)), settings, TrustStore::system());
    let before = player.until_joined().await;
    let body = player.native.client().own_entity();
    for time in 1..=2 {
        // Nothing tells the client: packets just do not arrive any more.
        proxy.lose(100);
        player.until("the client to notice", |player| lost(player) == time).await;
        assert!(player.native.last_error().is_some(), "the client has the reason");
        proxy.lose(0);
        player.until("the client to resume", |player| player.joins().len() == time + 1).await;
        let again = player.until_joined().await;
        assert_eq!((again.player, &again.room), (before.player, &before.room));
        assert_eq!(player.native.client().own_entity(), body);
        assert_eq!(player.native.transport(), Some(TransportKind::WebTransport));
    }
    assert_eq!(player.joins(), [false, true, true]);
    server.stop().await;
}

fn lost(player: &NativePlayer) -> usize {
    player.events.iter().filter(|event| **event == ClientEvent::Lost).count()
}
