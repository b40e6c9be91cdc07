//! Tokens, sessions and guests.

use aether_server::tokens::Role;
use aether_testkit_server::{Forger, PROTOBUF, TRANSPORTS, TestServer};
use aether_wire::{ClientMessage, CloseReason, ErrorCode, Hello, ServerMessage, Token};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn all_invalid_tokens_are_rejected_with_the_same_message() {
    let server = TestServer::start(|_| {}).await;
    let forger = Forger::of(&server);
    let bad = forger.bad_tokens();
    for transport in TRANSPORTS {
        for (reason, token) in &bad {
            let counted = || server.metric("aether_logins_refused_total", &[("reason", reason)]);
            let before = counted();
            let hello = Hello { token: Some(Token::new(token.clone())), ..server.hello("sandbox") };
            let notice = server.try_join(transport, PROTOBUF, &hello).await.err().expect("the request is rejected");
            assert_eq!(notice.code, ErrorCode::Unauthenticated, "{reason}");
            assert_eq!(notice.message, "the access token was not accepted: sign in and use a fresh one", "{reason}");
            assert_eq!(counted(), before + 1.0, "{reason}");
        }
        let hello = Hello { token: Some(Token::new(forger.sign(|_| {}))), ..server.hello("sandbox") };
        server.join(transport, PROTOBUF, &hello).await;
        let missing = Hello { token: None, ..server.hello("sandbox") };
        let notice = server.try_join(transport, PROTOBUF, &missing).await.err().expect("the request is rejected");
        assert_eq!(notice.code, ErrorCode::Unauthenticated, "{}", notice.message);
    }
    assert_eq!(server.metric("aether_logins_refused_total", &[("reason", "missing")]), 2.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_development_key_grants_a_role() {
    let server = TestServer::start(|_| {}).await;
    let token = Token::new(Forger::of(&server).sign(|claims| drop(claims.insert("role".into(), "admin".into()))));
    let hello = Hello { token: Some(token), ..server.hello("sandbox") };
    let mut player = server.join(TRANSPORTS[0], PROTOBUF, &hello).await;
    player.send(ClientMessage::PlaygroundClear(aether_wire::PlaygroundClear { seq: aether_wire::CommandSeq(1) })).await;
    assert_eq!(player.answer(1).await.map(|error| error.code), Some(ErrorCode::Forbidden));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_of_a_revoked_session_are_closed_soon_also_without_messages() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let hello = server.hello("workshop");
        let mut active = server.join(transport, PROTOBUF, &hello).await;
        let silent = server.join(transport, PROTOBUF, &server.hello("workshop")).await;
        let mut other = server.join(transport, PROTOBUF, &server.hello("workshop")).await;
        server.sessions().revoke(active.welcome.session);
        active.send(ClientMessage::ManifestRequest).await;
        assert_eq!(active.end().await.reason(), Some(CloseReason::SessionEnded));

        server.sessions().revoke(silent.welcome.session);
        let began = Instant::now();
        assert_eq!(silent.end().await.reason(), Some(CloseReason::SessionEnded));
        assert!(began.elapsed() < Duration::from_secs(5), "about a second: {:?}", began.elapsed());

        let notice = server.try_join(transport, PROTOBUF, &hello).await.err().expect("the session stays revoked");
        assert_eq!(notice.code, ErrorCode::Unauthenticated, "{}", notice.message);
        other.send(ClientMessage::ManifestRequest).await;
        other.wait("a manifest", |message| matches!(message, ServerMessage::Manifest(_)).then_some(())).await;
    }
    assert_eq!(server.metric("aether_connections_closed_total", &[("reason", "session_ended")]), 4.0);
    assert_eq!(server.metric("aether_logins_refused_total", &[("reason", "revoked")]), 2.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_server_rejects_the_development_key() {
    let public = TestServer::start(|config| {
        config.http.trusted_proxies = vec!["127.0.0.1".parse().expect("the address is valid")];
    })
    .await;
    for transport in TRANSPORTS {
        for role in Role::ALL {
            let hello = public.hello_as(role, "sandbox");
            let notice = public.try_join(transport, PROTOBUF, &hello).await.err().expect("the request is rejected");
            assert_eq!(notice.code, ErrorCode::Unauthenticated);
        }
        let hello = Hello { token: Some(public.sign(|_| {})), ..public.hello("sandbox") };
        public.join(transport, PROTOBUF, &hello).await;
    }
    assert_eq!(
        public.metric("aether_logins_refused_total", &[("reason", "development_key")]),
        (TRANSPORTS.len() * Role::ALL.len()) as f64
    );
    assert_eq!(public.request(public.http, "POST", "/api/guest", &[]).await.status, 403);
    assert_eq!(public.running().developer_secret(), None);
    public.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_local_guest_with_the_developer_secret_may_use_the_playground() {
    let server = TestServer::start(|_| {}).await;
    let secret = server.running().developer_secret().expect("the server is for development");
    let bearer = format!("Bearer {secret}");
    let shown = ("authorization", bearer.as_str());
    let guest = server.request(server.http, "POST", "/api/guest", &[shown]).await;
    assert_eq!((guest.status, guest.json()["role"].as_str()), (200, Some("developer")));
    // The requests of others look like this when a tunnel, or a proxy without headers, passes them on.
    let wrong = format!("Bearer {}", "A".repeat(secret.len()));
    let (short, basic) = (&bearer[..bearer.len() - 1], format!("Basic {secret}"));
    for value in ["", "Bearer ", "Bearer developer", &wrong, short, &basic] {
        let headers = [("host", "localhost"), ("authorization", value)];
        let tunnelled = server.request(server.http, "POST", "/api/guest", &headers).await;
        assert_eq!((tunnelled.status, tunnelled.json()["role"].as_str()), (200, Some("player")), "{value}");
    }
    let tunnelled = server.request(server.http, "POST", "/api/guest", &[("host", "localhost")]).await;
    assert_eq!(tunnelled.json()["role"].as_str(), Some("player"));
    // The secret alone is not enough either.
    let rebound = server.request(server.http, "POST", "/api/guest", &[shown, ("host", "rebound.example")]).await;
    assert_eq!(rebound.json()["role"].as_str(), Some("player"));
    let forwarded = server.request(server.http, "POST", "/api/guest", &[shown, ("x-forwarded-for", "192.0.2.1")]).await;
    assert_eq!(forwarded.json()["role"].as_str(), Some("player"));
    let foreign =
        server.request(server.http, "POST", "/api/guest", &[shown, ("origin", "http://elsewhere.example")]).await;
    assert_eq!(foreign.status, 403);
    let token = Token::new(guest.json()["token"].as_str().expect("the answer has a token"));
    server.join(TRANSPORTS[1], PROTOBUF, &Hello { token: Some(token), ..server.hello("sandbox") }).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_can_play_and_has_no_account() {
    let server = TestServer::start(|_| {}).await;
    for headers in [&[][..], &[("host", "rebound.example")]] {
        let guest = server.request(server.http, "POST", "/api/guest", headers).await.json();
        let token = guest["token"].as_str().expect("the answer has a token");
        let bearer = format!("Bearer {token}");
        let refused = server.request(server.http, "GET", "/v2/account", &[("authorization", &bearer)]).await;
        assert_eq!(refused.status, 401);
        let message = refused.json()["message"].as_str().map(str::to_owned);
        assert_eq!(message.as_deref(), Some("Guests and development tokens have no account here. Sign in first."));
        server
            .join(TRANSPORTS[0], PROTOBUF, &Hello { token: Some(Token::new(token)), ..server.hello("sandbox") })
            .await;
    }
    server.stop().await;
}
