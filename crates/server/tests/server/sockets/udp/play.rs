//! Playing over reliable UDP: the same rooms, handshake, resume and reasons as on other transports.

use super::support::{HANDSHAKES, UdpClient, UdpPlayer, connect_token};
use aether_rudp::CloseCause;
use aether_testkit_server::{PROTOBUF, TestServer, TransportKind};
use aether_wire::{
    ClientMessage, CloseReason, CommandSeq, ErrorCode, GameBody, GameMessage, Hello, ServerMessage, Token,
};
use std::time::Duration;

fn code(reason: CloseReason) -> CloseCause {
    CloseCause::Peer(reason.number() as u16)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_joins_a_game_gets_state_and_leaves() {
    let server = TestServer::start(|_| {}).await;
    let mut player = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    assert_eq!(player.welcome.tick_hz, 40);
    let client = &mut player.client;
    client.wait("a possession", |message| matches!(message, ServerMessage::Possession(_)).then_some(())).await;
    client.wait("state", |message| matches!(message, ServerMessage::Snapshot(_)).then_some(())).await;
    client.ping().await;
    assert_eq!(server.metric("aether_active_connections", &[("transport", "udp")]), 1.0);
    client.send(&ClientMessage::Leave);
    let (closing, cause) = client.end().await;
    assert_eq!(closing.map(|closing| closing.reason), Some(CloseReason::Left));
    assert_eq!(cause, code(CloseReason::Left));
    assert_eq!(server.metric(HANDSHAKES, &[("result", "accepted")]), 1.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_resumes_over_udp_and_over_other_transports() {
    let server = TestServer::start(|_| {}).await;
    let first = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    let resume =
        |welcome: &aether_wire::Welcome| Hello { resume_token: welcome.resume_token.clone(), ..Hello::default() };
    let (player, hello) = (first.welcome.player, resume(&first.welcome));
    // The client vanishes, and the same player connects from another socket.
    drop(first);
    let second = UdpPlayer::join(&server, &hello).await;
    assert_eq!(second.welcome.player, player);
    let hello = resume(&second.welcome);
    drop(second);
    let third = server.join(TransportKind::WebSocket, PROTOBUF, &hello).await;
    assert_eq!(third.welcome.player, player);
    assert_eq!(server.metric("aether_resumes_total", &[]), 2.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hello_must_be_of_the_account_of_the_connect_token() {
    let server = TestServer::start(|_| {}).await;
    let (own, other) = (server.hello("sandbox"), server.hello("sandbox"));
    let (address, token) = connect_token(&server, own.token.as_ref().expect("a hello has a token")).await;
    let mut client = UdpClient::start((address, &token)).await;
    let notice = client.hello(&other).await.expect_err("the hello is of another account");
    assert_eq!(notice.code, ErrorCode::Unauthenticated);
    // Resuming as another player is refused too, and the token stays usable.
    let player = UdpPlayer::join(&server, &other).await;
    let resume = Hello { resume_token: player.welcome.resume_token.clone(), ..Hello::default() };
    let notice = client.hello(&resume).await.expect_err("the player is of another account");
    assert_eq!(notice.code, ErrorCode::Unauthenticated);
    assert_eq!(server.metric("aether_logins_refused_total", &[("reason", "other_account")]), 2.0);
    drop(player);
    UdpPlayer::join(&server, &resume).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_session_and_a_flood_close_with_their_reasons() {
    let server = TestServer::start(|_| {}).await;
    let mut player = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    server.sessions().revoke(player.welcome.session);
    assert_eq!(player.client.end().await.1, code(CloseReason::SessionEnded));
    let mut player = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    for _ in 0..600 {
        player.client.send(&ClientMessage::Ping(aether_wire::Ping::default()));
    }
    let (closing, cause) = player.client.end().await;
    assert_eq!(closing.map(|closing| closing.reason), Some(CloseReason::Flooded));
    assert_eq!(cause, code(CloseReason::Flooded));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_of_a_relay_get_the_messages_of_the_others_over_any_transport() {
    let server = TestServer::start(|_| {}).await;
    let mut first = UdpPlayer::join(&server, &server.hello("relay")).await;
    let mut second = UdpPlayer::join(&server, &server.hello("relay")).await;
    let mut third = server.join(TransportKind::WebSocket, PROTOBUF, &server.hello("relay")).await;
    let payload = |number: u8| vec![number; 100];
    for number in 0..50 {
        let body = GameBody::Packed { code: 7, payload: payload(number) };
        first.client.send(&ClientMessage::Game(GameMessage { seq: CommandSeq(0), body }));
    }
    first.client.ping().await;
    let of = |message: ServerMessage| match message {
        ServerMessage::Event(event) => match event.body {
            GameBody::Packed { code: 7, payload } => Some(payload),
            _ => None,
        },
        _ => None,
    };
    for number in 0..50 {
        assert_eq!(second.client.wait("a message", of).await, payload(number));
        assert_eq!(third.wait("a message", of).await, payload(number));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_says_so_and_takes_nobody() {
    let mut server = TestServer::start(|_| {}).await;
    let mut player = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    let address = server.running().udp.expect("UDP is enabled");
    let running = server.take_running();
    let stopping = tokio::spawn(async move { running.stop(Duration::from_millis(500)).await });
    let (closing, cause) = player.client.end().await;
    assert_eq!(closing.map(|closing| closing.reason), Some(CloseReason::Shutdown));
    assert_eq!(cause, code(CloseReason::Shutdown));
    stopping.await.expect("the server stops");
    std::net::UdpSocket::bind(address).expect("the address is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_needs_a_login_and_an_enabled_listener() {
    let server = TestServer::start(|_| {}).await;
    let post = async |server: &TestServer, token: &str| {
        let bearer = format!("Bearer {token}");
        server.request(server.http, "POST", "/api/udp", &[("authorization", &bearer)]).await
    };
    assert_eq!(server.request(server.http, "POST", "/api/udp", &[]).await.status, 401);
    assert_eq!(post(&server, "a.b.c").await.json()["code"], "unauthenticated");
    assert_eq!(post(&server, &"x".repeat(43)).await.status, 401);
    let port = server.running().udp.expect("UDP is enabled").port();
    assert_eq!(server.get("/api/server").await.json()["udp"]["port"], port);
    server.stop().await;
    let server = TestServer::start(|config| config.udp.enabled = false).await;
    assert!(server.get("/api/server").await.json().get("udp").is_none());
    let token: Token = server.hello("sandbox").token.expect("a hello has a token");
    let answer = post(&server, token.reveal()).await;
    assert_eq!((answer.status, answer.json()["code"].as_str()), (404, Some("no_udp")));
    server.stop().await;
}
