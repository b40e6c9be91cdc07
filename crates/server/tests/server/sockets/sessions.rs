//! States of sessions, and players whose session ends.

use super::admin::operator;
use super::api_limits::servers;
use aether_bits::Replicate;
use aether_engine::{Context, Game, GameSchemaBuilder, RoomSettings};
use aether_server::Server;
use aether_server::config::{Config, Secret};
use aether_server::tokens::Role;
use aether_testkit_server::{
    ApiClient, Connector, DEADLINE, PROTOBUF, TRANSPORTS, TestPlayer, TestServer, TransportKind,
};
use aether_testkit_store::TestDatabase;
use aether_wire::{ClientMessage, CloseReason, ErrorCode, Hello, PlayerId, RoomSelector, ServerMessage, Token};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

fn hello(token: &str, room_type: &str) -> Hello {
    let room = RoomSelector::Type { name: room_type.to_owned(), label: None };
    Hello { token: Some(Token::new(token)), room: Some(room), ..Hello::default() }
}

/// Returns the newest session of a user, as the admin API shows it.
async fn newest_session(operator: &mut ApiClient, user: &str) -> Value {
    let answer = operator.get(&format!("/api/players/{user}/sessions?limit=1")).await.expect("the server answers");
    answer.json()["sessions"][0].clone()
}

/// Waits until the newest session of a user has a state, and returns the session.
pub async fn until_state(operator: &mut ApiClient, user: &str, state: &str) -> Value {
    let end = Instant::now() + DEADLINE;
    loop {
        let session = newest_session(operator, user).await;
        if session["state"] == state {
            return session;
        }
        assert!(Instant::now() < end, "{session} is not {state}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_of_a_session_follows_its_connections_and_heartbeats_are_stored() {
    // Most of the time is spent waiting, so all sessions are watched at once.
    let mut watched = JoinSet::new();
    for (server, database) in servers(|config| config.tokens.heartbeat_seconds = 1).await {
        watched.spawn(async move {
            let [one, other] = TRANSPORTS.map(|transport| watch_session(&server, transport, &database));
            tokio::join!(one, other);
            server.stop().await;
        });
    }
    watched.join_all().await;
}

/// Follows a session from its sign-in to its end.
async fn watch_session(server: &TestServer, transport: TransportKind, database: &TestDatabase) {
    let mut operator = operator(server.admin, server.data_dir());
    let user = ApiClient::new_user(server.http).await;
    until_state(&mut operator, &user.user, "authenticated").await;
    let mut player = server.join(transport, PROTOBUF, &hello(&user.token, "workshop")).await;
    let before = until_state(&mut operator, &user.user, "active").await;
    let end = Instant::now() + DEADLINE;
    while newest_session(&mut operator, &user.user).await["seen_time"] == before["seen_time"] {
        assert!(Instant::now() < end, "no heartbeat on {}", database.name);
        player.send(ClientMessage::Heartbeat).await;
        player.read_for(Duration::from_millis(50)).await;
    }
    let resume = player.resume_hello();
    drop(player);
    until_state(&mut operator, &user.user, "resuming").await;
    let mut player = server.join(transport, PROTOBUF, &resume).await;
    until_state(&mut operator, &user.user, "active").await;
    player.send(ClientMessage::Leave).await;
    assert_eq!(player.end().await.reason(), Some(CloseReason::Left));
    until_state(&mut operator, &user.user, "authenticated").await;
    let path = format!("/api/players/{}/sign-out", user.user);
    assert_eq!(operator.post(&path, &json!({})).await.expect("the server answers").status, 200);
    let closed = until_state(&mut operator, &user.user, "closed").await;
    assert_eq!((&closed["reason"], &closed["method"]), (&json!("signed out by an operator"), &json!("device")));
    assert_ne!(closed["end_time"], "");
}

/// Rooms of [`Gate`] are built when this is set.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Nothing {
    nothing: bool,
}

/// A game whose rooms are built when the test allows it.
#[derive(Default)]
struct Gate;

impl Game for Gate {
    type Input = Nothing;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration
    }

    fn init(&mut self, _room: &mut Context<'_>) {
        while !IS_OPEN.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Nothing) {}

    fn tick(&mut self, _room: &mut Context<'_>) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_connecting_while_its_client_waits_for_a_room() {
    let mut config = Config::default();
    config.data_dir = std::env::temp_dir().join(format!("aether-gate-{}", uuid::Uuid::new_v4().simple()));
    config.database.url = Some(Secret::new("memory"));
    config.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
    config.http.admin_address = SocketAddr::from(([127, 0, 0, 1], 0));
    config.connections.handshake_seconds = 300;
    let folder = config.data_dir.clone();
    let server = Server::new("gate", "1.0.0").game("gate", RoomSettings::default(), Gate::default);
    let running = server.start(config).await.expect("the server starts");
    let mut operator = operator(running.admin, &folder);
    let user = ApiClient::new_user(running.http).await;
    let connector = Connector::new(&format!("http://{}", running.http).parse().expect("the address is valid"));
    let (hello, id) = (hello(&user.token, "gate"), user.user.clone());
    let joining = tokio::spawn(async move { TestPlayer::join(&connector, TransportKind::WebSocket, &hello).await });
    until_state(&mut operator, &id, "connecting").await;
    IS_OPEN.store(true, Ordering::Relaxed);
    let player = joining.await.expect("no panic").unwrap_or_else(|notice| panic!("{notice:?}"));
    until_state(&mut operator, &id, "active").await;
    drop(player);
    // The rooms of this type allow no resume.
    until_state(&mut operator, &id, "authenticated").await;
    running.stop(Duration::ZERO).await;
    let _ = std::fs::remove_dir_all(folder);
}

/// Waits until the room of a player has this many entities: one for each player.
async fn until_entities(watcher: &mut TestPlayer, wanted: u32) {
    let end = Instant::now() + DEADLINE;
    loop {
        watcher.send(ClientMessage::ManifestRequest).await;
        let manifest = watcher.wait("a manifest", |message| match message {
            ServerMessage::Manifest(manifest) => Some(manifest),
            _ => None,
        });
        let entities = manifest.await.entities_active;
        if entities == Some(wanted) {
            return;
        }
        assert!(Instant::now() < end, "{entities:?} entities instead of {wanted}");
        watcher.read_for(Duration::from_millis(20)).await;
    }
}

/// Ends all sessions of a user in one of four ways.
async fn end_sessions(server: &TestServer, way: &str, user: &mut ApiClient) {
    let mut operator = operator(server.admin, server.data_dir());
    let answer = match way {
        "deleted" => user.send("DELETE", "/v2/account", "").await,
        "logged out" => user.post("/v2/session/logout", &json!({})).await,
        way => operator.post(&format!("/api/players/{}/{way}", user.user), &json!({})).await,
    };
    assert_eq!(answer.expect("the server answers").status, 200, "{way}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_whose_session_ends_leaves_the_world_at_once_connected_or_away() {
    for (server, database) in servers(|config| config.room_mut("workshop").resume_seconds = Some(3_600)).await {
        let mut removed = 0.0;
        for transport in TRANSPORTS {
            let hello_of_watcher = server.hello_as(Role::ReadOnly, "workshop");
            let mut watcher = server.join(transport, PROTOBUF, &hello_of_watcher).await;
            until_entities(&mut watcher, 1).await;
            for way in ["ban", "sign-out", "deleted", "logged out"] {
                let mut user = ApiClient::new_user(server.http).await;
                let connected = server.join(transport, PROTOBUF, &hello(&user.token, "workshop")).await;
                let away = server.join(transport, PROTOBUF, &hello(&user.token, "workshop")).await;
                until_entities(&mut watcher, 3).await;
                let resume = away.resume_hello();
                drop(away);
                end_sessions(&server, way, &mut user).await;
                // The players could resume for an hour.
                assert_eq!(connected.end().await.reason(), Some(CloseReason::SessionEnded), "{way}");
                until_entities(&mut watcher, 1).await;
                let refused = server.try_join(transport, PROTOBUF, &resume).await.err().map(|notice| notice.code);
                assert_eq!(refused, Some(ErrorCode::ResumeRefused), "{way} on {}", database.name);
                removed += 2.0;
                server.until_metric("aether_session_removals_total", &[], removed).await;
            }
            watcher.send(ClientMessage::Leave).await;
            watcher.end().await;
        }
        assert_eq!(server.metric("aether_session_removals_total", &[]), removed);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_after_the_idle_time_and_after_the_longest_time() {
    const SECONDS: u32 = 2;
    let time = Duration::from_secs(SECONDS.into());
    let idle = TestServer::start(|config| config.tokens.session_idle_seconds = SECONDS).await;
    let began = Instant::now();
    let silent = idle.join(TRANSPORTS[0], PROTOBUF, &idle.hello("workshop")).await;
    assert_eq!(silent.end().await.reason(), Some(CloseReason::SessionEnded));
    assert!(began.elapsed() >= time, "{:?}", began.elapsed());
    idle.until_metric("aether_session_removals_total", &[], 1.0).await;
    idle.stop().await;

    let aged = TestServer::start(|config| config.tokens.session_seconds_max = SECONDS).await;
    let began = Instant::now();
    let mut busy = aged.join(TRANSPORTS[0], PROTOBUF, &aged.hello("workshop")).await;
    let closing = loop {
        assert!(began.elapsed() < DEADLINE, "messages do not extend it beyond the maximum");
        if busy.client.send(&ClientMessage::Heartbeat).await.is_err() {
            break None;
        }
        let next = async {
            loop {
                match busy.client.next_message().await {
                    Ok(ServerMessage::Closing(closing)) => return Some(closing),
                    Ok(_) => {}
                    Err(_) => return None,
                }
            }
        };
        if let Ok(closing) = tokio::time::timeout(Duration::from_millis(50), next).await {
            break closing;
        }
    };
    assert_eq!(closing.map(|closing| closing.reason), Some(CloseReason::SessionEnded));
    assert!(began.elapsed() >= time, "{:?}", began.elapsed());
    aged.stop().await;
}
