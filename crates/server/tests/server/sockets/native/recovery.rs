//! Whatever happens to the connection, the client comes back by itself.

use super::proxy::Proxy;
use super::support::Seat;
use aether_client::{ClientEvent, ClientPhase, EndReason};
use aether_client_native::{ConnectionError, NativeClientSettings, TokenSource, TransportPreference, TrustStore};
use aether_server::tokens::Role;
use aether_testkit_server::{TRANSPORTS, TestServer, TransportKind, until};
use aether_wire::ErrorCode;

fn through(proxy: &Proxy, server: &TestServer, wish: TransportPreference) -> Seat {
    let settings = NativeClientSettings { transport: wish, ..NativeClientSettings::default() };
    Seat::new(&format!("http://{}", proxy.address), Some(server.token(Role::Player)), settings, TrustStore::system())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_better_transport_is_taken_where_the_server_has_it() {
    let server = TestServer::start(|_| {}).await;
    let mut seat = Seat::at(&server, TransportPreference::Best);
    seat.until_joined().await;
    assert_eq!(seat.shell.transport(), Some(TransportKind::WebTransport));
    server.stop().await;

    let server = TestServer::start(|config| config.webtransport.enabled = false).await;
    let mut seat = Seat::at(&server, TransportPreference::Best);
    seat.until_joined().await;
    assert_eq!(seat.shell.transport(), Some(TransportKind::WebSocket));
    let mut seat = Seat::at(&server, TransportPreference::Only(TransportKind::WebTransport));
    seat.until("an attempt", |seat| seat.shell.last_error().is_some()).await;
    assert!(matches!(seat.shell.last_error(), Some(ConnectionError::NotOffered(TransportKind::WebTransport))));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_datagrams_do_not_get_through_a_stream_does() {
    let server = TestServer::start(|_| {}).await;
    let proxy = Proxy::start(Some(server.http)).await;
    let mut seat = through(&proxy, &server, TransportPreference::Best);
    seat.until_joined().await;
    assert_eq!(seat.shell.transport(), Some(TransportKind::WebSocket));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_comes_back_as_the_same_player() {
    let server = TestServer::start(|_| {}).await;
    let proxy = Proxy::start(Some(server.http)).await;
    let mut seat = through(&proxy, &server, TransportPreference::Only(TransportKind::WebSocket));
    let before = seat.until_joined().await;
    let body = seat.shell.client().own_entity();
    for time in 1..=3 {
        proxy.cut();
        seat.until("the client to be back", |seat| seat.joins().len() == time + 1).await;
        let again = seat.until_joined().await;
        assert_eq!((again.player, &again.room), (before.player, &before.room));
        assert_eq!(seat.shell.client().own_entity(), body);
        assert!(seat.shell.last_error().is_none());
    }
    assert_eq!(seat.joins(), [false, true, true, true]);
    assert_eq!(seat.events.iter().filter(|event| **event == ClientEvent::Lost).count(), 3);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_may_reconnect_and_change_the_transport_and_stays_the_same_player() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut seat = Seat::at(&server, TransportPreference::Only(transport));
        let before = seat.until_joined().await;
        seat.shell.reconnect();
        seat.until("the client to be back", |seat| seat.joins().len() == 2).await;
        for (number, other) in TRANSPORTS.into_iter().enumerate() {
            seat.shell.switch_transport(TransportPreference::Only(other));
            seat.until("the client to be back", |seat| seat.joins().len() == number + 3).await;
            assert_eq!(seat.shell.transport(), Some(other));
        }
        assert_eq!(seat.until_joined().await.player, before.player);
        assert_eq!(seat.joins(), [false, true, true, true]);
    }
    until("each player has one connection", || server.connections() == 0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_yet_is_waited_for() {
    let proxy = Proxy::start(None).await;
    let settings = NativeClientSettings {
        transport: TransportPreference::Only(TransportKind::WebSocket),
        tokens: TokenSource::guest(),
        ..NativeClientSettings::default()
    };
    let mut seat = Seat::new(&format!("http://{}", proxy.address), None, settings, TrustStore::system());
    seat.until("two attempts", |seat| seat.shell.client().attempts() >= 2).await;
    assert!(seat.shell.last_error().is_some(), "it can be told why");
    let server = TestServer::start(|_| {}).await;
    proxy.lead_to(server.http);
    seat.until_joined().await;
    assert!(seat.shell.last_error().is_none());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_refused_at_the_door_does_not_come_back() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut seat = Seat::at(&server, TransportPreference::Only(transport));
        seat.shell.client_mut().set_token(Some(aether_wire::Token::new("made up")));
        seat.until("a refusal", |seat| matches!(seat.shell.client().phase(), ClientPhase::Closed(_))).await;
        let ClientPhase::Closed(EndReason::JoinRejected(notice)) = seat.shell.client().phase() else {
            panic!("{:?}", seat.events)
        };
        assert_eq!(notice.code, ErrorCode::Unauthenticated);
        seat.until("no connection", |seat| seat.shell.transport().is_none()).await;
        until("the server has none either", || server.connections() == 0).await;
        assert!(seat.shell.leave());
    }
    server.stop().await;
}
