//! Rooms under the admin API: listed, created, opened, signalled, recorded and ended; and the drain of a server.

use super::admin::{aether_admin, operator};
use super::api_limits::servers;
use aether_testkit_server::{ApiClient, DEADLINE, PROTOBUF, TRANSPORTS, TestPlayer, TestServer};
use aether_wire::{ErrorCode, ErrorNotice, Hello, RoomId, RoomSelector, ServerMessage};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

/// Sends a request and returns the answer, which must have this status.
async fn ask(operator: &mut ApiClient, method: &str, path: &str, body: Value, status: u16) -> Value {
    let body = if method == "POST" { body.to_string() } else { String::new() };
    let answer = operator.send(method, path, body).await.expect("the server answers");
    assert_eq!(answer.status, status, "{method} {path}: {}", answer.body);
    answer.json()
}

async fn get(operator: &mut ApiClient, path: &str) -> Value {
    ask(operator, "GET", path, Value::Null, 200).await
}

pub(super) async fn post(operator: &mut ApiClient, path: &str, body: Value) -> Value {
    ask(operator, "POST", path, body, 200).await
}

/// Asks until an answer has what is wanted.
async fn until(operator: &mut ApiClient, path: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let end = Instant::now() + DEADLINE;
    loop {
        let answer = get(operator, path).await;
        if wanted(&answer) {
            return answer;
        }
        assert!(Instant::now() < end, "timeout: {answer}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn join(server: &TestServer, room: &str) -> TestPlayer {
    let hello = Hello { room: Some(RoomSelector::Id(RoomId(room.to_owned()))), ..server.hello("") };
    server.join(TRANSPORTS[0], PROTOBUF, &hello).await
}

fn id(room: &Value) -> String {
    room["id"].as_str().expect("a room has an id").to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_durable_room_is_created_shown_unloaded_and_woken_with_its_ticks() {
    for (server, database) in servers(|_| {}).await {
        let mut operator = operator(server.admin, server.data_dir());
        let created = post(&mut operator, "/api/rooms", json!({ "type": "outpost", "label": "north" })).await;
        let (room, path) = (id(&created), format!("/api/rooms/{}", id(&created)));
        assert_eq!((&created["state"], &created["durable"]), (&json!("running"), &json!(true)), "{}", database.name);
        let mut player = join(&server, &room).await;
        player.possession().await;
        let shown = until(&mut operator, &path, |detail| detail["room"]["write_time"] != "").await["room"].clone();
        assert_eq!((&shown["players"], &shown["tick_hz"], &shown["epoch"]), (&json!(1), &json!(30), &json!(1)));
        let listed = get(&mut operator, "/api/rooms?state=running").await;
        assert_eq!(listed["rooms"].as_array().map(Vec::len), Some(1));
        assert_eq!(listed["rooms"][0]["id"], room.as_str());
        let seen = get(&mut operator, &format!("{path}/entities")).await;
        assert_eq!(seen["source"], "running");
        let body = seen["entities"].as_array().unwrap().iter().find(|entity| entity["owner"] == 1);
        let body = body.unwrap_or_else(|| panic!("{seen}"));
        let position = body["components"]["Player"]["position"].clone();
        assert_eq!(position.as_array().map(Vec::len), Some(2), "{body}");
        assert_eq!(body["components"]["Body"]["health"], 100);
        let first = get(&mut operator, &format!("{path}/entities?limit=1")).await;
        let rest = get(&mut operator, &format!("{path}/entities?cursor={}", first["cursor"].as_str().unwrap())).await;
        assert_eq!(first["entities"].as_array().unwrap().len() + rest["entities"].as_array().unwrap().len(), 2);
        assert_eq!(until(&mut operator, &path, |detail| !detail["checkpoints"][0].is_null()).await["room"]["id"], room);

        // A running room is unloaded; its player may not come back to a room that an operator has ended.
        let before = number(&get(&mut operator, &path).await["room"]["tick"]);
        post(&mut operator, &format!("{path}/end"), json!({})).await;
        let stored = until(&mut operator, &path, |detail| detail["room"]["state"] == "stored").await;
        let tick = number(&stored["room"]["tick"]);
        assert!(tick >= before && number(&stored["room"]["bytes"]) > 0, "{stored}");
        let list = get(&mut operator, "/api/rooms?state=stored").await;
        assert_eq!(list["rooms"][0]["state"], "stored", "{list}");
        ask(&mut operator, "POST", &format!("{path}/signal"), json!({ "data": "" }), 404).await;
        let checkpoint = get(&mut operator, &format!("{path}/entities")).await;
        assert_eq!(checkpoint["source"], "checkpoint");
        ask(&mut operator, "GET", &format!("{path}/entities?checkpoint=99"), Value::Null, 404).await;

        let woken = post(&mut operator, &format!("{path}/wake"), json!({})).await;
        assert_eq!((&woken["state"], &woken["epoch"]), (&json!("running"), &json!(2)));
        let after = number(&get(&mut operator, &path).await["room"]["tick"]);
        assert!((tick..tick + 300).contains(&after), "{after} continues from {tick}");
        let again = post(&mut operator, &format!("{path}/wake"), json!({})).await;
        assert_eq!(again["epoch"], 2, "a running room is not opened again");
        let audit = get(&mut operator, "/api/audit?limit=100").await.to_string();
        for action in ["CreateRoom", "EndRoom", "WakeRoom"] {
            assert!(audit.contains(action), "{action}: {audit}");
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_on_rooms_need_a_permission_and_name_what_is_wrong() {
    let server = TestServer::start(|config| config.rooms.recordings_max = 1).await;
    let mut operator = operator(server.admin, server.data_dir());
    let user = ApiClient::new_user(server.http).await;
    let mut account = ApiClient::new(server.admin);
    account.authorize(format!("Bearer {}", user.token));
    let reads = ["/api/rooms", "/api/recordings", "/api/drain"];
    let writes = [("POST", "/api/rooms"), ("POST", "/api/drain"), ("DELETE", "/api/drain")];
    for (role, reading, writing) in [("player", 403, 403), ("read-only", 200, 403)] {
        post(&mut operator, &format!("/api/players/{}/role", user.user), json!({ "role": role })).await;
        for path in reads {
            ask(&mut account, "GET", path, Value::Null, reading).await;
        }
        for (method, path) in writes {
            ask(&mut account, method, path, json!({ "type": "sandbox" }), writing).await;
        }
    }
    let error = ask(&mut operator, "POST", "/api/rooms", json!({ "type": "chess" }), 404).await;
    assert!(error["error"].as_str().unwrap().contains("room type `chess` was not found; use one of"), "{error}");
    for query in ["limit=0", "limit=101", "cursor=x", "state=lost"] {
        ask(&mut operator, "GET", &format!("/api/rooms?{query}"), Value::Null, 400).await;
    }
    for (method, path) in [("GET", ""), ("POST", "/wake"), ("POST", "/end"), ("POST", "/recording")] {
        ask(&mut operator, method, &format!("/api/rooms/missing{path}"), json!({}), 404).await;
    }
    let relay = id(&post(&mut operator, "/api/rooms", json!({ "type": "relay", "private": true })).await);
    let error = ask(&mut operator, "POST", &format!("/api/rooms/{relay}/recording"), json!({}), 400).await;
    assert!(error["error"].as_str().unwrap().contains("relay"), "{error}");
    // A game without captured state is recorded from its first tick only.
    let recorded = post(&mut operator, "/api/rooms", json!({ "type": "workshop", "record": true })).await;
    assert_eq!(recorded["recorded"], true);
    let error = ask(&mut operator, "POST", "/api/rooms", json!({ "type": "workshop", "record": true }), 429).await;
    assert!(error["error"].as_str().unwrap().contains("rooms.recordings_max"), "{error}");
    let path = format!("/api/rooms/{}/recording", id(&recorded));
    let error = ask(&mut operator, "POST", &path, json!({}), 400).await;
    assert!(error["error"].as_str().unwrap().contains("already being recorded"), "{error}");
    assert_eq!(ask(&mut operator, "DELETE", &path, Value::Null, 200).await["state"], "stopped");
    let error = ask(&mut operator, "POST", &path, json!({}), 400).await;
    assert!(error["error"].as_str().unwrap().contains("`Game::capture`"), "{error}");
    ask(&mut operator, "DELETE", &path, Value::Null, 400).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drained_server_takes_no_joins_until_the_drain_is_taken_back() {
    let server = TestServer::start(|_| {}).await;
    let mut operator = operator(server.admin, server.data_dir());
    let mut player = server.join(TRANSPORTS[0], PROTOBUF, &server.hello("sandbox")).await;
    let empty = id(&post(&mut operator, "/api/rooms", json!({ "type": "workshop" })).await);
    let drain = post(&mut operator, "/api/drain", json!({})).await;
    assert_eq!((&drain["draining"], &drain["players"]), (&json!(true), &json!(1)));
    assert_eq!(post(&mut operator, "/api/drain", json!({})).await["draining"], true, "a second drain changes nothing");
    let notice: ErrorNotice = player
        .wait("a notice", |message| match message {
            ServerMessage::Error(notice) => Some(notice),
            _ => None,
        })
        .await;
    assert_eq!((notice.code, notice.fatal), (ErrorCode::Unavailable, false));
    assert!(notice.message.contains("draining"), "{}", notice.message);
    let ready = server.get("/readyz").await;
    assert_eq!(ready.status, 503);
    assert!(ready.body.contains("the server is draining"), "{}", ready.body);
    assert_eq!(server.get("/livez").await.status, 200);
    assert_eq!(server.metric("aether_draining", &[]), 1.0);
    for transport in TRANSPORTS {
        let refused = server.try_join(transport, PROTOBUF, &server.hello("sandbox")).await.err().expect("no join");
        assert_eq!(refused.code, ErrorCode::Unavailable, "{refused:?}");
    }
    ask(&mut operator, "POST", "/api/rooms", json!({ "type": "sandbox" }), 503).await;
    // Players of a room stay and may resume; empty rooms end at once.
    let resume = player.resume_hello();
    drop(player);
    let player = server.join(TRANSPORTS[0], PROTOBUF, &resume).await;
    until(&mut operator, "/api/rooms", |list| !list.to_string().contains(&empty)).await;
    assert_eq!(get(&mut operator, "/api/drain").await["rooms"], 1);

    let taken_back = ask(&mut operator, "DELETE", "/api/drain", Value::Null, 200).await;
    assert_eq!(taken_back["draining"], false);
    assert_eq!(server.get("/readyz").await.status, 200);
    let other = server.join(TRANSPORTS[0], PROTOBUF, &server.hello("sandbox")).await;
    assert_eq!(other.welcome.room, player.welcome.room);
    assert_eq!(server.metric("aether_draining", &[]), 0.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_room_is_recorded_signalled_and_ended_by_the_command_line() {
    let server = TestServer::start(|_| {}).await;
    let mut operator = operator(server.admin, server.data_dir());
    let created = aether_admin(&server, &["room", "create", "sandbox", "--label", "east"]).await.unwrap();
    let room = created.lines().find_map(|line| line.strip_prefix("id\t")).expect("a room has an id").to_owned();
    let _player = join(&server, &room).await;
    let reply = aether_admin(&server, &["room", "signal", &room, "hello"]).await.unwrap();
    assert!(reply.starts_with("1 players, "), "{reply}");
    let begun = aether_admin(&server, &["room", "record", &room]).await.unwrap();
    assert!(begun.contains("state\trunning\n"), "{begun}");
    assert_eq!(server.metric("aether_recordings", &[]), 1.0);
    until(&mut operator, "/api/recordings", |list| {
        let recording = &list["recordings"][0];
        number(&recording["last_tick"]) > number(&recording["first_tick"]) + 40
    })
    .await;
    let stopped = aether_admin(&server, &["room", "stop-recording", &room]).await.unwrap();
    assert!(stopped.contains("state\tstopped\n"), "{stopped}");
    let name = stopped.lines().find_map(|line| line.strip_prefix("name\t")).expect("a file has a name");
    let file = server.data_dir().join("recordings").join(name);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let recording = aether_engine::recording::Recording::from_bytes(&std::fs::read(&file).unwrap()).unwrap();
    assert!(recording.ticks() > 40 && recording.start.tick().0 > 0, "it begins in the middle");
    let settings = aether_sandbox_server::settings();
    let mut replay =
        aether_engine::recording::Replay::new(aether_sandbox_server::Sandbox::default(), settings, &recording).unwrap();
    let reached = replay.run_to(aether_wire::Tick(u32::MAX)).expect("every hash is as recorded");
    assert_eq!(reached.map(|(tick, _)| tick), Some(recording.last_tick()));
    assert_eq!(server.metric("aether_recordings_ended_total", &[("end", "stopped")]), 1.0);
    assert!(aether_admin(&server, &["recordings"]).await.unwrap().contains(name));
    aether_admin(&server, &["room", "end", &room]).await.unwrap();
    until(&mut operator, "/api/rooms", |list| list["rooms"].as_array().is_some_and(Vec::is_empty)).await;
    let error = aether_admin(&server, &["room", "show", &room]).await.unwrap_err();
    assert!(error.contains("was not found"), "{error}");
    let drained = aether_admin(&server, &["drain", "start"]).await.unwrap();
    assert!(drained.contains("draining\ttrue\n"), "{drained}");
    assert!(aether_admin(&server, &["drain", "stop"]).await.unwrap().contains("draining\tfalse\n"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recording_whose_folder_cannot_be_written_does_not_begin_and_the_room_goes_on() {
    let server = TestServer::start(|_| {}).await;
    let mut operator = operator(server.admin, server.data_dir());
    std::fs::write(server.data_dir().join("recordings"), "a file").expect("the data folder can be written");
    let room = id(&post(&mut operator, "/api/rooms", json!({ "type": "sandbox" })).await);
    let error = ask(&mut operator, "POST", &format!("/api/rooms/{room}/recording"), json!({}), 503).await;
    assert!(error["error"].as_str().unwrap().contains("cannot be written to"), "{error}");
    let detail = get(&mut operator, &format!("/api/rooms/{room}")).await;
    assert_eq!((&detail["room"]["state"], &detail["room"]["recorded"]), (&json!("running"), &json!(false)));
    server.stop().await;
}
