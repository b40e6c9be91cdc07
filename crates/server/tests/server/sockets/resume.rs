//! Resuming after a lost connection.

use aether_testkit_server::{JSON, NATIVE_TRANSPORTS, PROTOBUF, TRANSPORTS, TestServer, TransportKind, until};
use aether_wire::{ClientMessage, CloseReason, ErrorCode, Hello, Ping, ServerMessage, Token};

#[tokio::test(flavor = "multi_thread")]
async fn a_player_resumes_with_the_same_ship_over_any_transport() {
    let server = TestServer::start(|_| {}).await;
    for before in NATIVE_TRANSPORTS {
        for after in NATIVE_TRANSPORTS {
            let mut player = server.join(before, PROTOBUF, &server.hello("sandbox")).await;
            let ship = player.possession().await;
            let (id, room, resume) = (player.welcome.player, player.welcome.room.clone(), player.resume_hello());
            drop(player);
            let encoding = if after == TransportKind::Udp { PROTOBUF } else { JSON };
            let mut again = server.join(after, encoding, &resume).await;
            assert_eq!((again.welcome.player, &again.welcome.room), (id, &room), "{before:?} to {after:?}");
            assert_eq!(again.possession().await, ship, "{before:?} to {after:?}");
            assert!(again.resume_hello() != resume, "the token is new");
        }
    }
    assert_eq!(server.metric("aether_resumes_total", &[]), 9.0);
    assert_eq!(server.metric("aether_room_events_total", &[("kind", "joins")]), 9.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_replaces_an_open_connection() {
    let server = TestServer::start(|_| {}).await;
    for transport in NATIVE_TRANSPORTS {
        let player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let again = server.join(TransportKind::WebSocket, PROTOBUF, &player.resume_hello()).await;
        assert_eq!(again.welcome.player, player.welcome.player);
        assert_eq!(player.end().await.reason(), Some(CloseReason::Replaced));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reuse_of_a_resume_token_revokes_all_tokens_of_the_player() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let stolen = player.resume_hello();
        drop(player);
        let mut again = server.join(transport, PROTOBUF, &stolen).await;
        let newest = again.resume_hello();
        // A message from the client shows that it has the next token.
        again.send(ClientMessage::Ping(Ping::default())).await;
        again.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
        let notice = server.try_join(transport, PROTOBUF, &stolen).await.err().expect("the request is rejected");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
        assert_eq!(
            again.end().await.reason(),
            Some(CloseReason::SessionEnded),
            "the owner of the next token is disconnected"
        );
        let notice = server.try_join(transport, PROTOBUF, &newest).await.err().expect("the request is rejected");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
    }
    assert_eq!(server.metric("aether_resumes_refused_total", &[]), 4.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_resume_time_a_player_cannot_resume() {
    let server = TestServer::start(|config| config.room_mut("sandbox").resume_seconds = Some(1)).await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let resume = player.resume_hello();
        drop(player);
        let left = number as f64 + 1.0;
        server.until_metric("aether_room_events_total", &[("kind", "leaves")], left).await;
        let notice = server.try_join(transport, PROTOBUF, &resume).await.err().expect("the request is rejected");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_that_left_and_a_guessed_token_cannot_resume() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let resume = player.resume_hello();
        player.send(ClientMessage::Leave).await;
        assert_eq!(player.end().await.reason(), Some(CloseReason::Left));
        let notice = server.try_join(transport, PROTOBUF, &resume).await.err().expect("the request is rejected");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
        let guess = Hello { resume_token: Some(Token::new("guess")), ..server.hello("sandbox") };
        let notice = server.try_join(transport, PROTOBUF, &guess).await.err().expect("the request is rejected");
        assert_eq!(notice.code, ErrorCode::ResumeRefused);
    }
    until("everyone is gone", || server.metric("aether_player_count", &[]) == 0.0).await;
    server.stop().await;
}
