//! Rooms whose game is made at run time: parameters, errors of the maker, recordings, durable rooms, reload and failure.

use crate::sockets::admin::operator;
use crate::sockets::operated_rooms::post;
use crate::sockets::runtime_game::config;
use aether_engine::bits::StateHasher;
use aether_engine::bits::runtime::RuntimeSchema;
use aether_engine::recording::Recording;
use aether_engine::{Context, Rejection, ReloadError, RoomSettings, RuntimeGame};
use aether_server::services::matches::{MATCH_PARAMS_BYTES_MAX, MatchInfo, NewMatch};
use aether_server::services::{GrpcCode, ServiceError};
use aether_server::{GameSetup, ReloadReport, RoomDefinition, RunningServer, Server};
use aether_testkit_server::{ApiClient, ServicesSocket, until};
use aether_wire::{ErrorCode, PlayerId};
use aether_world::World;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Adds up its steps, times a factor that is its code.
struct Adder {
    schema: RuntimeSchema,
    match_id: String,
    params: Value,
    factor: u64,
    total: u64,
}

/// Makes the game from its parameters, or from a recorded setup.
fn make(setup: &GameSetup<'_>) -> Result<Box<dyn RuntimeGame>, String> {
    let (match_id, params, factor) = match setup.recorded {
        Some(bytes) => serde_json::from_slice(bytes).map_err(|error| error.to_string())?,
        None => (setup.room.to_owned(), setup.params.clone(), 1),
    };
    if params["step"].as_u64().is_none() {
        return Err(format!("adder.lua:3: `step` must be a number, not {}", params["step"]));
    }
    Ok(Box::new(Adder { schema: RuntimeSchema::default(), match_id, params, factor, total: 0 }))
}

impl RuntimeGame for Adder {
    fn schema(&self) -> &RuntimeSchema {
        &self.schema
    }

    fn setup(&self) -> Vec<u8> {
        serde_json::to_vec(&(&self.match_id, &self.params, self.factor)).expect("it is JSON")
    }

    fn init(&mut self, room: &mut Context<'_>) {
        let tick_hz = self.params["tick_hz"].as_u64().unwrap_or(40) as u32;
        if let Err(error) = room.set_tick_hz(tick_hz) {
            room.fail(format!("adder.lua:9: {error}"));
        }
        room.set_label(self.params["label"].as_str().unwrap_or_default());
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let told = format!("{} {}", room.username(player).unwrap_or("-"), room.session(player).unwrap_or("-"));
        room.send_data(&[player], 1, told.into_bytes(), None);
    }

    fn data(&mut self, room: &mut Context<'_>, player: PlayerId, op: u16, payload: &[u8]) -> Result<(), Rejection> {
        if op == 13 {
            room.fail("adder.lua:20: attempt to add nil");
        }
        room.broadcast_data(op, payload.to_vec(), Some(player));
        Ok(())
    }

    fn reload(&mut self, _room: &mut Context<'_>, code: &[u8]) {
        self.factor = u64::from(code[0]);
    }

    fn tick(&mut self, _room: &mut Context<'_>) {
        self.total += self.params["step"].as_u64().unwrap_or(0) * self.factor;
    }

    fn signal(&mut self, room: &mut Context<'_>, _data: &[u8]) -> Vec<u8> {
        let clock = room.now_ms();
        json!({ "id": self.match_id, "factor": self.factor, "total": self.total, "clock": clock }).to_string().into()
    }

    fn checkpoint(&self, _world: &World) -> Option<Vec<u8>> {
        Some(self.total.to_le_bytes().to_vec())
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        self.init(room);
        self.restore_capture(room, checkpoint)
    }

    fn capture(&self, world: &World) -> Option<Vec<u8>> {
        self.checkpoint(world)
    }

    fn restore_capture(&mut self, _room: &mut Context<'_>, capture: &[u8]) -> Result<(), Rejection> {
        let damaged = || Rejection::new(ErrorCode::BadValue, "the total has eight bytes");
        self.total = u64::from_le_bytes(capture.try_into().map_err(|_| damaged())?);
        Ok(())
    }

    fn hash(&self, hasher: &mut StateHasher) {
        hasher.word(self.total);
    }
}

fn settings() -> RoomSettings {
    RoomSettings { interest: None, ..RoomSettings::default() }
}

fn server() -> Server {
    let durable = RoomSettings { durable: true, ..settings() };
    Server::new("adders", "1.0.0").runtime_game("adder", settings(), make).runtime_game("keeper", durable, make)
}

async fn start() -> (RunningServer, PathBuf) {
    let (config, folder) = config();
    (server().start(config).await.expect("it starts"), folder)
}

async fn create(running: &RunningServer, match_type: &str, params: Value) -> Result<MatchInfo, ServiceError> {
    let matches = running.services().matches().expect("rooms are hosted");
    matches.create_with(&NewMatch { match_type: match_type.to_owned(), params, ..NewMatch::default() }).await
}

/// Returns the state of a room.
async fn state(running: &RunningServer, id: &str) -> Value {
    let matches = running.services().matches().expect("rooms are hosted");
    let reply = matches.signal(id, Vec::new()).await.expect("the game answers");
    serde_json::from_slice(&reply).expect("it is JSON")
}

async fn stop(running: RunningServer, folder: &PathBuf) {
    running.stop(Duration::ZERO).await;
    let _ = std::fs::remove_dir_all(folder);
}

#[tokio::test(flavor = "multi_thread")]
async fn parameters_reach_the_maker_and_its_error_reaches_the_creator() {
    let (running, folder) = start().await;
    let made = create(&running, "adder", json!({ "step": 3, "tick_hz": 25, "label": "three" })).await.expect("created");
    assert_eq!((made.tick_hz, made.label.as_str()), (25, "three"), "the game decides");
    assert_eq!(state(&running, &made.id).await["id"], json!(made.id));
    let refused = create(&running, "adder", json!({ "step": "x" })).await.expect_err("the maker refuses");
    assert_eq!(refused.code, GrpcCode::InvalidArgument);
    assert_eq!(refused.message, "adder.lua:3: `step` must be a number, not \"x\"");
    let refused = create(&running, "adder", json!({ "step": 1, "tick_hz": 129 })).await.expect_err("init fails");
    assert_eq!(refused.message, "adder.lua:9: tick_hz must be from 1 to 128");
    let filled = |bytes| json!({ "step": 1, "text": "x".repeat(bytes - r#"{"step":1,"text":""}"#.len()) });
    create(&running, "adder", filled(MATCH_PARAMS_BYTES_MAX)).await.expect("that many bytes are allowed");
    let refused = create(&running, "adder", filled(MATCH_PARAMS_BYTES_MAX + 1)).await.expect_err("one more is not");
    assert_eq!(refused.code, GrpcCode::InvalidArgument);
    assert!(refused.message.contains("65536"), "{}", refused.message);
    stop(running, &folder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reload_reaches_the_rooms_of_its_types_and_a_recording_has_the_code_of_its_start() {
    let (running, folder) = start().await;
    let room = create(&running, "adder", json!({ "step": 1 })).await.expect("it is created").id;
    let other = create(&running, "keeper", json!({ "step": 1 })).await.expect("it is created").id;
    let report = running.rooms().reload(&["adder"], &Arc::from([5]));
    assert_eq!(report, Ok(ReloadReport { rooms: 1, rooms_full: 0 }));
    assert_eq!(state(&running, &room).await["factor"], 5);
    assert_eq!(state(&running, &other).await["factor"], 1, "it is of another type");
    let large = vec![0; aether_engine::RELOAD_BYTES_MAX + 1].into();
    assert_eq!(running.rooms().reload(&["adder"], &large), Err(ReloadError::TooLarge));

    let mut operator = operator(running.admin, &folder);
    let begun = post(&mut operator, &format!("/api/rooms/{room}/recording"), json!({})).await;
    let before = state(&running, &room).await["total"].as_u64();
    running.rooms().reload(&["adder"], &Arc::from([7])).expect("it is small");
    assert_eq!(state(&running, &room).await["factor"], 7);
    assert!(state(&running, &room).await["total"].as_u64() > before);
    let matches = running.services().matches().expect("rooms are hosted");
    matches.end(&room).await.expect("it ends");
    drop(matches);
    let path = folder.join("recordings").join(begun["name"].as_str().expect("a file has a name"));
    let read = || Recording::from_bytes(&std::fs::read(&path).expect("the file exists")).ok();
    until("the end of the recording", || read().is_some_and(|recording| recording.end().is_some())).await;
    let recording = read().expect("it is complete");
    let setup: Value = serde_json::from_slice(&recording.setup).expect("it is JSON");
    assert_eq!(setup, json!([room, { "step": 1 }, 5]), "the code as it was when the recording began");
    let RoomDefinition::Game { settings, factory } = RoomDefinition::runtime(settings(), make) else { unreachable!() };
    let last = factory.replay(&settings, &recording, None).expect("every hash is as recorded");
    assert_eq!(last.map(|(tick, _)| tick), Some(recording.last_tick()));
    stop(running, &folder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_durable_room_is_made_again_from_its_parameters_and_its_clock_continues() {
    let (mut first_config, folder) = config();
    first_config.database.url = None;
    let running = server().start(first_config.clone()).await.expect("it starts");
    let params = json!({ "step": 2, "tick_hz": 20, "label": "kept" });
    let room = create(&running, "keeper", params).await.expect("it is created").id;
    let before = state(&running, &room).await;
    running.stop(Duration::ZERO).await;
    let running = server().start(first_config).await.expect("it starts again");
    // A member of the socket opens the stored room by its id.
    let client = ApiClient::new_user(running.http).await;
    let mut socket = ServicesSocket::connect(running.http, &client.token).await;
    let joined = socket.request(json!({ "match_join": { "match_id": room } })).await;
    assert_eq!(joined["match"]["label"], "kept", "{joined}");
    let after = state(&running, &room).await;
    assert!(after["total"].as_u64() > before["total"].as_u64(), "{before} {after}");
    assert!(after["clock"].as_u64() > before["clock"].as_u64(), "{before} {after}");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_millis();
    assert!(now.abs_diff(u128::from(after["clock"].as_u64().expect("a time"))) < 10_000, "{now} {after}");
    stop(running, &folder).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_have_a_session_and_a_room_that_fails_is_counted_and_closed() {
    let (running, folder) = start().await;
    let room = create(&running, "adder", json!({ "step": 1 })).await.expect("it is created").id;
    let client = ApiClient::new_user(running.http).await;
    let mut socket = ServicesSocket::connect(running.http, &client.token).await;
    let joined = socket.request(json!({ "match_join": { "match_id": room } })).await;
    let own = &joined["match"]["self"];
    let told = data(&mut socket, 1).await;
    let expected =
        format!("{} {}", own["username"].as_str().expect("a name"), own["session_id"].as_str().expect("an id"));
    assert_eq!(told, expected);
    let sent = json!({ "match_id": room, "op_code": "13", "data": STANDARD.encode("bye") });
    socket.send(&json!({ "match_data_send": sent })).await;
    loop {
        let message = socket.next().await;
        let leaves = &message["match_presence_event"]["leaves"];
        if leaves.as_array().is_some_and(|leaves| leaves.contains(own)) {
            break;
        }
    }
    let failures =
        || running.registry().render().lines().any(|line| line == r#"aether_room_failures_total{room_type="adder"} 1"#);
    until("the count of the failure", failures).await;
    until("the end of the room", || running.rooms().is_empty()).await;
    stop(running, &folder).await;
}

/// Returns the next match data with an op code.
async fn data(socket: &mut ServicesSocket, op_code: u16) -> String {
    loop {
        let message = socket.next().await;
        let data = &message["match_data"];
        if data["op_code"].as_str() == Some(op_code.to_string().as_str()) {
            let bytes = STANDARD.decode(data["data"].as_str().unwrap_or_default()).expect("data is base64");
            return String::from_utf8(bytes).expect("the game sends texts");
        }
    }
}
