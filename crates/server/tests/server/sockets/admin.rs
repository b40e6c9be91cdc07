//! The admin API: roles, bans and sign-outs of players, and the audit.

use super::api_limits::servers;
use aether_server::commands::admin::AdminArguments;
use aether_testkit_server::{ApiClient, PROTOBUF, TRANSPORTS, TestPlayer, TestServer, TransportKind};
use aether_wire::{ClientMessage, CloseReason, CommandSeq, ErrorCode, Hello, PlaygroundSpawn, ServerMessage, Token};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use clap::Parser;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;

#[derive(Parser)]
enum Program {
    Admin(AdminArguments),
}

/// Returns a client of the admin API with the key that the server has created.
pub(super) fn operator(admin: SocketAddr, data_dir: &Path) -> ApiClient {
    let key = std::fs::read_to_string(data_dir.join("admin.key")).expect("the server creates a key");
    let mut client = ApiClient::new(admin);
    client.authorize(format!("Bearer {}", key.trim()));
    client
}

/// Runs `aether admin` against the server.
pub(super) async fn aether_admin(server: &TestServer, arguments: &[&str]) -> Result<String, String> {
    let (folder, address) = (server.data_dir().display().to_string(), server.admin.to_string());
    let place = ["--data-dir", &folder, "--admin-address", &address];
    let parsed = Program::try_parse_from(["aether", "admin"].iter().chain(arguments).chain(&place));
    let Program::Admin(arguments) = parsed.unwrap_or_else(|error| panic!("{error}"));
    arguments.run().await
}

/// Returns the claims of an access token.
fn claims(token: &str) -> Value {
    let claims = token.split('.').nth(1).expect("a token has three parts");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).expect("claims are base64")).expect("claims are JSON")
}

async fn join(server: &TestServer, transport: TransportKind, token: &str) -> TestPlayer {
    let hello = Hello { token: Some(Token::new(token)), ..server.hello("sandbox") };
    server.join(transport, PROTOBUF, &hello).await
}

/// Sends a playground command and returns the error of its answer.
async fn command(player: &mut TestPlayer, seq: u32) -> Option<ErrorCode> {
    let spawn = PlaygroundSpawn { seq: CommandSeq(seq), kind: "crate".into(), x: 1.0, y: 2.0, rotation: 0.5 };
    player.send(ClientMessage::PlaygroundSpawn(spawn)).await;
    player.answer(seq).await.map(|error| error.code)
}

/// Returns true if the manifest has the tick rate, which needs a permission.
async fn inspects(player: &mut TestPlayer) -> bool {
    player.send(ClientMessage::ManifestRequest).await;
    let manifest = player.wait("a manifest", |message| match message {
        ServerMessage::Manifest(manifest) => Some(manifest),
        _ => None,
    });
    manifest.await.tick_rate.is_some()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_reaches_open_connections_sign_in_refresh_and_resume() {
    for (server, database) in servers(|_| {}).await {
        let mut operator = operator(server.admin, server.data_dir());
        for transport in TRANSPORTS {
            let device = format!("device-{}", uuid::Uuid::new_v4());
            let mut user = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
            assert_eq!(claims(&user.token)["role"], Value::Null, "a player has no claim");
            let mut player = join(&server, transport, &user.token).await;
            assert_eq!(command(&mut player, 1).await, Some(ErrorCode::Forbidden));
            assert!(!inspects(&mut player).await);

            let path = format!("/api/players/{}/role", user.user);
            let given = operator.post(&path, &json!({ "role": "developer" })).await.expect("the server answers");
            assert_eq!((given.status, &given.json()["role"]), (200, &json!("developer")), "{}", database.name);
            assert_eq!(command(&mut player, 2).await, None, "the next command is allowed");
            assert!(inspects(&mut player).await);

            let body = json!({ "token": user.refresh_token });
            user.authorize("Basic ZGVmYXVsdGtleTo=");
            let refreshed = user.post("/v2/account/session/refresh", &body).await.expect("the server answers").json();
            assert_eq!(claims(refreshed["token"].as_str().unwrap())["role"], "developer");
            let again = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
            assert_eq!(claims(&again.token)["role"], "developer");
            let mut second = join(&server, transport, &again.token).await;
            assert_eq!(command(&mut second, 1).await, None, "a join has the role");

            // An old token says `developer`, and grants nothing.
            let resume = player.resume_hello();
            drop(player);
            operator.post(&path, &json!({ "role": "player" })).await.expect("the server answers");
            assert_eq!(command(&mut second, 2).await, Some(ErrorCode::Forbidden));
            assert!(!inspects(&mut second).await);
            let mut resumed = server.join(transport, PROTOBUF, &resume).await;
            assert_eq!(command(&mut resumed, 3).await, Some(ErrorCode::Forbidden), "it changed while they were away");
            let mut third = join(&server, transport, &again.token).await;
            assert_eq!(command(&mut third, 1).await, Some(ErrorCode::Forbidden));
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_api_requires_the_key_or_an_account_with_a_permission() {
    let server = TestServer::start(|_| {}).await;
    let mut operator = operator(server.admin, server.data_dir());
    let (target, mut account) = (ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await);
    let (read, write) = (format!("/api/players/{}", target.user), format!("/api/players/{}/sign-out", target.user));
    let token = account.token.clone();
    account = ApiClient::new(server.admin);
    for key in ["", "Bearer ", "Bearer wrong", "Basic ZGVmYXVsdGtleTo="] {
        account.authorize(key);
        assert_eq!(account.get(&read).await.unwrap().status, 401, "{key}");
        let refused = account.post(&write, &json!({})).await.unwrap();
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("no_key")), "{key}");
    }
    account.authorize(format!("Bearer {token}"));
    let role = format!("/api/players/{}/role", claims(&token)["uid"].as_str().unwrap());
    let expected = [
        ("player", 403, 403),
        ("read-only", 200, 403),
        ("moderator", 200, 403),
        ("developer", 200, 403),
        ("admin", 200, 200),
    ];
    for (name, reading, writing) in expected {
        assert_eq!(operator.post(&role, &json!({ "role": name })).await.unwrap().status, 200);
        assert_eq!(account.get(&read).await.unwrap().status, reading, "{name}");
        assert_eq!(account.get("/api/audit").await.unwrap().status, reading, "{name}");
        assert_eq!(account.post(&write, &json!({})).await.unwrap().status, writing, "{name}");
    }
    let unknown = operator.post(&role, &json!({ "role": "owner" })).await.unwrap();
    assert_eq!(unknown.json()["error"], "a role is admin, developer, moderator, read-only or player");
    // A guest has no account, and the development key grants nothing here.
    account.authorize(format!("Bearer {}", server.token(aether_server::tokens::Role::Admin).reveal()));
    assert_eq!(account.get(&read).await.unwrap().status, 401);
    let refused = |action| server.metric("aether_permission_refusals_total", &[("action", action)]);
    assert_eq!((refused("inspect"), refused("manage")), (2.0, 4.0));
    assert_eq!(server.metric("aether_operation_duration_seconds_count", &[("operation", "SetPlayerRole")]), 6.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_merged_and_stored_and_so_is_what_operators_do() {
    for (server, database) in servers(|_| {}).await {
        let mut operator = operator(server.admin, server.data_dir());
        let user = ApiClient::new_user(server.http).await;
        let mut player = join(&server, TRANSPORTS[0], &user.token).await;
        for seq in 1..=5 {
            assert_eq!(command(&mut player, seq).await, Some(ErrorCode::Forbidden));
        }
        let entries = async |operator: &mut ApiClient| {
            let list = operator.get("/api/audit?limit=100").await.expect("the server answers").json();
            let entries = list["entries"].as_array().cloned().expect("a list");
            entries.into_iter().filter(|entry| entry["actor"] == user.user.as_str()).collect::<Vec<_>>()
        };
        let mut stored = Vec::new();
        let end = std::time::Instant::now() + aether_testkit_server::DEADLINE;
        let count = |entries: &[Value]| entries.iter().filter_map(|entry| entry["count"].as_i64()).sum::<i64>();
        while count(&stored) < 5 {
            assert!(std::time::Instant::now() < end, "{}: {stored:?}", database.name);
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            stored = entries(&mut operator).await;
        }
        assert!(stored.len() <= 2, "one row, or two at the turn of an hour: {stored:?}");
        assert_eq!((&stored[0]["action"], &stored[0]["outcome"]), (&json!("playground.spawn"), &json!("refused")));
        assert_eq!(server.metric("aether_permission_refusals_total", &[("action", "playground.spawn")]), 5.0);

        let path = format!("/api/players/{}/role", user.user);
        assert_eq!(operator.post(&path, &json!({ "role": "admin" })).await.unwrap().status, 200);
        let list = operator.get("/api/audit?limit=1").await.unwrap().json();
        let newest = &list["entries"][0];
        let expected = json!({ "actor": "", "player": user.user, "action": "SetPlayerRole", "outcome": "allowed",
            "detail": "admin", "count": 1, "first_time": newest["first_time"], "last_time": newest["last_time"] });
        assert_eq!(*newest, expected);
        let older = operator.get(&format!("/api/audit?limit=1&cursor={}", list["cursor"].as_str().unwrap())).await;
        assert_eq!(older.unwrap().json()["entries"][0]["action"], "playground.spawn");
        for query in ["limit=0", "limit=101", "cursor=x"] {
            assert_eq!(operator.get(&format!("/api/audit?{query}")).await.unwrap().status, 400, "{query}");
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_manages_players_by_the_command_line() {
    for (server, database) in servers(|_| {}).await {
        let device = format!("device-{}", uuid::Uuid::new_v4());
        let user = ApiClient::sign_in(server.http, &device).await.expect("the server answers");
        let name = claims(&user.token)["usn"].as_str().expect("a name").to_owned();
        let shown = aether_admin(&server, &["show", &name]).await.expect("the player exists");
        let has = |text: &str, line: &str| assert!(text.contains(line), "{line} in {text} on {}", database.name);
        has(&shown, &format!("id\t{}\n", user.user));
        has(&shown, "role\tplayer\n");
        has(&shown, "online\tfalse\n");

        has(&aether_admin(&server, &["role", &name, "developer"]).await.unwrap(), "role\tdeveloper\n");
        let player = join(&server, TRANSPORTS[0], &user.token).await;
        has(&aether_admin(&server, &["show", &user.user]).await.unwrap(), "online\ttrue\n");
        has(&aether_admin(&server, &["sign-out", &name]).await.unwrap(), "banned\tfalse\n");
        assert_eq!(player.end().await.reason(), Some(CloseReason::SessionEnded));

        let mut again = ApiClient::sign_in(server.http, &device).await.expect("a signed-out player may sign in");
        let player = join(&server, TRANSPORTS[0], &again.token).await;
        has(&aether_admin(&server, &["ban", &name]).await.unwrap(), "banned\ttrue\n");
        assert_eq!(player.end().await.reason(), Some(CloseReason::SessionEnded));
        again.authorize("Basic ZGVmYXVsdGtleTo=");
        let body = json!({ "id": device });
        let refused = again.post("/v2/account/authenticate/device", &body).await.unwrap();
        assert_eq!((refused.status, &refused.json()["message"]), (403, &json!("User account banned.")));
        has(&aether_admin(&server, &["unban", &name]).await.unwrap(), "banned\tfalse\n");
        assert_eq!(again.post("/v2/account/authenticate/device", &body).await.unwrap().status, 200);

        let listed = aether_admin(&server, &["audit", "--limit", "10"]).await.unwrap();
        for action in ["SetPlayerRole", "SignOutPlayer", "BanPlayer", "UnbanPlayer"] {
            has(&listed, &format!("{action}\t"));
        }
        let missing = aether_admin(&server, &["ban", "nobody here"]).await.unwrap_err();
        assert_eq!(missing, "Player nobody here was not found; use the id or the exact username.");
        server.stop().await;
    }
}

/// Writes a key that is not that of the server.
fn write_key(path: &Path) {
    aether_store::PrivateFile::write(path, "0".repeat(64).as_bytes()).expect("the file can be written");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_what_to_do_without_a_key_or_a_server() {
    let server = TestServer::start(|_| {}).await;
    let key = server.data_dir().join("admin.key");
    write_key(&key);
    let error = aether_admin(&server, &["show", "ann"]).await.unwrap_err();
    assert!(error.contains("has another admin key") && error.contains("--data-dir"), "{error}");
    std::fs::remove_file(&key).expect("the file can be removed");
    let error = aether_admin(&server, &["show", "ann"]).await.unwrap_err();
    assert!(error.contains("There is no admin key") && error.contains("http.admin_key"), "{error}");
    write_key(&key);
    let (folder, admin) = (server.data_dir().display().to_string(), server.admin.to_string());
    let arguments = ["aether", "admin", "show", "ann", "--data-dir", &folder, "--admin-address", &admin];
    let Program::Admin(arguments) = Program::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}"));
    let mut server = server;
    server.stop_within(std::time::Duration::ZERO).await;
    let error = arguments.run().await.unwrap_err();
    assert!(error.contains(&format!("Cannot reach the server at {admin}")) && error.contains("Start the"), "{error}");
    assert!(Program::try_parse_from(["aether", "admin", "role", "ann", "owner"]).is_err());
}
