//! The default page, cross-origin requests, online status of users, and configured limits.

use aether_server::config::{Config, ConfigArguments, OperationRate};
use aether_testkit_server::{ApiClient, PROTOBUF, TRANSPORTS, TestServer, until};
use aether_wire::{Hello, RoomSelector, Token};
use serde_json::json;
use std::io;
use std::time::{Duration, Instant};

const GAME: &str = "https://game.example";

/// Allows pages of the game's host to connect.
fn allow_game(config: &mut Config) {
    let arguments = ConfigArguments { set: vec![format!("http.allowed_origins={GAME}")], ..ConfigArguments::default() };
    let absent = |_: &std::path::Path| Err(io::ErrorKind::NotFound.into());
    let loaded = arguments.load_with(Vec::new(), &absent).expect("the origin is valid");
    config.http.allowed_origins = loaded.http.allowed_origins;
    config.guests.enabled = Some(true);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pages_of_allowed_origins_can_read_answers() {
    let server = TestServer::start(allow_game).await;
    for (method, path) in [("GET", "/api/server"), ("GET", "/api/rooms"), ("POST", "/api/guest")] {
        let answer = server.request(server.http, method, path, &[("origin", GAME)]).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.head.contains(&format!("access-control-allow-origin: {GAME}\r\n")), "{}", answer.head);
        assert!(answer.head.contains("vary: origin"), "{}", answer.head);
        let asked = [("origin", GAME), ("access-control-request-method", method)];
        let answer = server.request(server.http, "OPTIONS", path, &asked).await;
        assert_eq!(answer.status, 204, "{path}");
        assert!(answer.head.contains(&format!("access-control-allow-origin: {GAME}\r\n")), "{}", answer.head);
        assert!(answer.head.contains("access-control-allow-methods: get, head, post"), "{}", answer.head);
        assert!(answer.head.contains("access-control-allow-headers: authorization, content-type"), "{}", answer.head);

        for foreign in ["https://elsewhere.example", "null"] {
            let answer = server.request(server.http, method, path, &[("origin", foreign)]).await;
            assert!(!answer.head.contains("access-control-allow"), "{}", answer.head);
            let answer = server.request(server.http, "OPTIONS", path, &[("origin", foreign)]).await;
            assert_eq!(answer.status, 403, "{path} {foreign}");
            assert!(!answer.head.contains("access-control-allow"), "{}", answer.head);
        }
        let answer = server.request(server.http, method, path, &[]).await;
        assert_eq!(answer.status, 200, "{path}: no page");
        assert!(!answer.head.contains("access-control-allow"), "{}", answer.head);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_online_as_long_as_a_connection_is_open() {
    let server = TestServer::start(|_| {}).await;
    let mut watcher = ApiClient::new_user(server.http).await;
    for transport in TRANSPORTS {
        let client = ApiClient::new_user(server.http).await;
        let path = format!("/v2/user?ids={}", client.user);
        let user = watcher.get(&path).await.expect("the server answers").json()["users"][0].clone();
        assert_eq!(user.get("online"), None, "{}: {user}", transport.name());
        let room = RoomSelector::Type { name: "sandbox".to_owned(), label: None };
        let token = Some(Token::new(client.token.clone()));
        let hello = Hello { token, room: Some(room), ..Hello::default() };
        let player = server.join(transport, PROTOBUF, &hello).await;
        let user = watcher.get(&path).await.expect("the server answers").json()["users"][0].clone();
        assert_eq!(user["online"], true, "{}", transport.name());
        drop(player);
        until("the connection to be gone", || server.connections() == 0).await;
        let end = Instant::now() + Duration::from_secs(10);
        while watcher.get(&path).await.expect("the server answers").json()["users"][0].get("online").is_some() {
            assert!(Instant::now() < end, "{}: still online", transport.name());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn configured_limits_are_enforced() {
    let server = TestServer::start(|config| {
        *config.rate_mut("list_profiles") = OperationRate { per_second: Some(1), burst: Some(50) };
        config.storage.objects_per_user_max = Some(2);
    })
    .await;
    let mut client = ApiClient::new_user(server.http).await;
    let end = Instant::now() + Duration::from_secs(30);
    let refused = loop {
        let answer = client.get("/v2/profile").await.expect("the server answers");
        if answer.status != 200 {
            break answer;
        }
        assert!(Instant::now() < end, "no request was rejected");
    };
    assert_eq!((refused.status, refused.json()["code"].as_u64()), (429, Some(8)), "{}", refused.body);
    assert!(refused.head.contains("retry-after: 1\r\n"), "{}", refused.head);
    assert_eq!(
        client.get("/v2/account").await.expect("the server answers").status,
        200,
        "other operations are not limited"
    );
    assert!(server.metric("aether_operations_refused_total", &[("operation", "ListProfiles")]) >= 1.0);
    assert!(server.metric("aether_operation_duration_seconds_count", &[("operation", "ListProfiles")]) >= 51.0);

    for (key, status) in [("a", 200), ("b", 200), ("c", 400)] {
        let object = json!({ "objects": [{ "collection": "saves", "key": key, "value": "{}" }] });
        let answer = client.put("/v2/storage", &object).await.expect("the server answers");
        assert_eq!(answer.status, status, "{key}: {}", answer.body);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_pages_serves_a_plain_one() {
    let server = TestServer::start(|_| {}).await;
    let answer = server.request(server.http, "GET", "/", &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.contains("This server has no pages of its own."), "{}", answer.body);
    assert!(answer.head.contains("content-security-policy: default-src 'none'"), "{}", answer.head);
    assert_eq!(server.request(server.http, "GET", "/docs", &[]).await.status, 404);
    server.stop().await;
}
