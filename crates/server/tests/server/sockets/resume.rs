//! Coming back after a lost connection.

use aether_testkit_server::{JSON, PROTOBUF, TRANSPORTS, TestServer, TransportKind, until};
use aether_wire::{ClientMessage, CloseReason, ErrorCode, Hello, Ping, ServerMessage, Token};

#[tokio::test(flavor = "multi_thread")]
async fn a_player_comes_back_to_the_same_ship_over_any_transport() {
    let server = TestServer::start(|_| {}).await;
    for before in TRANSPORTS {
        for after in TRANSPORTS {
            let mut player = server.join(before, PROTOBUF, &server.hello("sandbox")).await;
            let ship = player.possession().await;
            let (id, room, comeback) = (player.welcome.player, player.welcome.room.clone(), player.comeback());
            drop(player);
            let mut again = server.join(after, JSON, &comeback).await;
            assert_eq!((again.welcome.player, &again.welcome.room), (id, &room), "{before:?} to {after:?}");
            assert_eq!(again.possession().await, ship, "{before:?} to {after:?}");
            assert!(again.comeback() != comeback, "the token is a fresh one");
        }
    }
    assert_eq!(server.metric("aether_resumes_total", &[]), 4.0);
    assert_eq!(server.metric("aether_room_events_total", &[("kind", "joins")]), 4.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_still_lives_is_replaced() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let again = server.join(TransportKind::WebSocket, PROTOBUF, &player.comeback()).await;
        assert_eq!(again.welcome.player, player.welcome.player);
        assert_eq!(player.end().await.reason(), Some(CloseReason::Replaced));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_used_twice_ends_the_whole_family() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let stolen = player.comeback();
        drop(player);
        let mut again = server.join(transport, PROTOBUF, &stolen).await;
        let newest = again.comeback();
        // Whoever speaks has the successor.
        again.send(ClientMessage::Ping(Ping::default())).await;
        again.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
        let notice = server.try_join(transport, PROTOBUF, &stolen).await.err().expect("it is refused");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
        assert_eq!(again.end().await.reason(), Some(CloseReason::SessionEnded), "whoever holds the successor is out");
        let notice = server.try_join(transport, PROTOBUF, &newest).await.err().expect("it is refused");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
    }
    assert_eq!(server.metric("aether_resumes_refused_total", &[]), 4.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_grace_period_the_place_is_gone() {
    let server = TestServer::start(|config| config.room_mut("sandbox").resume_seconds = Some(1)).await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let comeback = player.comeback();
        drop(player);
        let left = number as f64 + 1.0;
        server.until_metric("aether_room_events_total", &[("kind", "leaves")], left).await;
        let notice = server.try_join(transport, PROTOBUF, &comeback).await.err().expect("it is refused");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaving_is_final_and_a_guess_leads_nowhere() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let comeback = player.comeback();
        player.send(ClientMessage::Leave).await;
        assert_eq!(player.end().await.reason(), Some(CloseReason::Left));
        let notice = server.try_join(transport, PROTOBUF, &comeback).await.err().expect("it is refused");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
        let guess = Hello { resume_token: Some(Token::new("guess")), ..server.hello("sandbox") };
        let notice = server.try_join(transport, PROTOBUF, &guess).await.err().expect("it is refused");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
    }
    until("everyone is gone", || server.metric("aether_player_count", &[]) == 0.0).await;
    server.stop().await;
}
