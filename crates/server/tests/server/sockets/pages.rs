//! The default page, cross-origin requests, online status of users, and configured limits.

use aether_server::config::{Config, ConfigArguments, OperationRate};
use aether_testkit_server::{ApiClient, JSON, PROTOBUF, RawSocket, TRANSPORTS, TestServer, until};
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

        for foreign in ["https://elsewhere.example", "http://localhost:5173", "null"] {
            // Only the refusal can be read.
            let answer = server.request(server.http, method, path, &[("origin", foreign)]).await;
            assert_eq!((answer.status, &answer.json()["code"]), (403, &json!("foreign_origin")), "{path} {foreign}");
            assert!(answer.head.contains(&format!("access-control-allow-origin: {foreign}\r\n")), "{}", answer.head);
            let sentence = answer.json()["error"].to_string();
            assert!(sentence.contains(foreign) && sentence.contains("`http.allowed_origins`"), "{sentence}");
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

/// Headers of a WebSocket upgrade.
const UPGRADE: [(&str, &str); 5] = [
    ("upgrade", "websocket"),
    ("connection", "upgrade"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "BwcHBwcHBwcHBwcHBwcHBw=="),
    ("sec-websocket-protocol", "aether.v2.json"),
];

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_servers_on_this_machine_may_connect_on_loopback() {
    let server = TestServer::start(|_| {}).await;
    for page in ["http://localhost:5173", "http://127.0.0.1:3000", "https://[::1]:8443"] {
        let answer = server.request(server.http, "GET", "/api/server", &[("origin", page)]).await;
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        assert!(answer.head.contains(&format!("access-control-allow-origin: {page}\r\n")), "{}", answer.head);
        RawSocket::open(&server, JSON, &format!("Origin: {page}\r\n")).await;
    }
    for (page, host) in [("https://elsewhere.example", "localhost"), ("http://localhost:5173", "rebound.example")] {
        let headers = [&UPGRADE[..], &[("origin", page), ("host", host)]].concat();
        let answer = server.request(server.http, "GET", "/rt", &headers).await;
        assert_eq!((answer.status, &answer.json()["code"]), (403, &json!("foreign_origin")), "{page} at {host}");
    }
    assert_eq!(server.metric("aether_origins_refused_total", &[]), 2.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_server_admits_no_other_pages_of_its_machine() {
    let server = TestServer::start(allow_game).await;
    let headers = [&UPGRADE[..], &[("origin", "http://localhost:5173")]].concat();
    let answer = server.request(server.http, "GET", "/rt", &headers).await;
    assert_eq!(answer.status, 403, "{}", answer.body);
    let sentence = answer.json()["error"].to_string();
    assert!(sentence.contains("http://localhost:5173") && sentence.contains("`http.allowed_origins`"), "{sentence}");
    RawSocket::open(&server, JSON, &format!("Origin: {GAME}\r\n")).await;
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

/// Accepted content of a browser that opens a page.
const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8");

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_pages_shows_its_room_types_at_the_root() {
    let server = TestServer::start(|_| {}).await;
    let answer = server.request(server.http, "GET", "/", &[BROWSER]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let info = server.get("/api/server").await.json();
    let room_types = info["roomTypes"].as_array().expect("there are room types");
    assert!(!room_types.is_empty(), "{info}");
    for room_type in room_types {
        let row = format!("<th scope=\"row\">{}</th>", room_type["name"].as_str().expect("a room type has a name"));
        assert!(answer.body.contains(&row), "{row}: {}", answer.body);
    }
    assert_eq!(answer.body.matches("<th scope=\"row\">").count(), room_types.len(), "no other room types");
    assert!(!answer.body.contains("href=\"/arena\""), "{}", answer.body);
    let policy = "content-security-policy: default-src 'none'; style-src 'sha256-";
    assert!(answer.head.contains(policy), "{}", answer.head);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_addresses_get_a_page_in_a_browser_and_json_elsewhere() {
    let server = TestServer::start(|_| {}).await;
    let page = server.request(server.http, "GET", "/docs", &[BROWSER]).await;
    assert_eq!(page.status, 404, "{}", page.body);
    assert!(page.head.contains("content-type: text/html; charset=utf-8\r\n"), "{}", page.head);
    assert!(page.body.contains("There is no page here") && page.body.contains("href=\"/\""), "{}", page.body);
    for path in ["/api/missing", "/v2/missing", "/v2"] {
        let answer = server.request(server.http, "GET", path, &[BROWSER]).await;
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.head.contains("content-type: application/json\r\n"), "{path}: {}", answer.head);
    }
    let program = server.request(server.http, "GET", "/docs", &[("accept", "*/*")]).await;
    assert_eq!((program.status, &program.json()["code"]), (404, &json!("not_found")));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configured_folder_is_served_at_the_root() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("configured-pages");
    std::fs::create_dir_all(folder.join("help")).expect("the folder can be created");
    std::fs::write(folder.join("index.html"), "<!doctype html>my game").expect("files can be written");
    std::fs::write(folder.join("help/index.html"), "<!doctype html>my help").expect("files can be written");
    let server = TestServer::start(|config| config.http.pages = Some(folder.clone())).await;
    for (path, body) in [("/", "<!doctype html>my game"), ("/help", "<!doctype html>my help")] {
        let answer = server.request(server.http, "GET", path, &[BROWSER]).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, body), "{path}");
    }
    assert_eq!(server.get("/api/server").await.status, 200, "the API has precedence");
    server.stop().await;
}
