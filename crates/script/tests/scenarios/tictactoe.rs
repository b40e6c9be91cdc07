//! A turn-based match, with labels and matchmaking.

use crate::support::{Scenario, next_of, rpc};
use aether_testkit_server::{ApiClient, DEADLINE, ServicesSocket};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::time::Instant;

const OP_START: i64 = 1;
const OP_UPDATE: i64 = 2;
const OP_DONE: i64 = 3;
const OP_MOVE: i64 = 4;
const OP_REJECTED: i64 = 5;

struct Player {
    client: ApiClient,
    socket: ServicesSocket,
}

impl Player {
    async fn new(scenario: &Scenario) -> Player {
        let client = scenario.user().await;
        let socket = scenario.server.socket(&client.token).await;
        Player { client, socket }
    }

    async fn join(&mut self, id: &str) -> Value {
        self.socket.request(json!({ "match_join": { "match_id": id } })).await
    }

    async fn place(&mut self, id: &str, position: u32) {
        let data = STANDARD.encode(json!({ "position": position }).to_string());
        let message = json!({ "match_id": id, "op_code": OP_MOVE.to_string(), "data": data });
        self.socket.send(&json!({ "match_data_send": message })).await;
    }

    /// Returns the next message of the match: its op code and contents.
    async fn message(&mut self) -> (i64, Value) {
        let data = next_of(&mut self.socket, "match_data").await;
        let op_code = data["op_code"].as_str().and_then(|code| code.parse().ok()).or(data["op_code"].as_i64());
        let bytes = STANDARD.decode(data["data"].as_str().unwrap_or_default()).expect("data is base64");
        (op_code.expect("an op code"), serde_json::from_slice(&bytes).expect("data is JSON"))
    }
}

async fn start() -> Scenario {
    let modules = [("tictactoe", include_str!("tictactoe.lua")), ("lobby", include_str!("lobby.lua"))];
    Scenario::start(&modules, |config| config.matchmaker.interval_ms = 100).await
}

/// Plays a game that the first player wins.
async fn play(id: &str, first: &mut Player, second: &mut Player) {
    second.place(id, 1).await;
    let (op_code, rejected) = second.message().await;
    assert_eq!((op_code, &rejected["reason"]), (OP_REJECTED, &json!("not your turn")));
    for (position, is_first) in [(5, true), (1, false), (3, true), (2, false)] {
        let mover = if is_first { &mut *first } else { &mut *second };
        mover.place(id, position).await;
        for player in [&mut *first, &mut *second] {
            let (op_code, update) = player.message().await;
            assert_eq!(op_code, OP_UPDATE, "{update}");
            let mark = if is_first { 1 } else { 2 };
            assert_eq!(update["board"][position as usize - 1], mark, "{update}");
        }
    }
    first.place(id, 7).await;
    for player in [&mut *first, &mut *second] {
        let (op_code, done) = player.message().await;
        assert_eq!((op_code, &done["winner"]), (OP_DONE, &json!(1)), "{done}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn players_find_a_match_by_its_label_and_play_it() {
    let scenario = start().await;
    let (mut ann, mut bob) = (Player::new(&scenario).await, Player::new(&scenario).await);
    let (status, found) = rpc(&mut ann.client, "find_match", &json!({ "fast": true })).await;
    assert_eq!(status, 200, "{found}");
    let id = found["match_ids"][0].as_str().expect("a match").to_owned();
    let joined = ann.join(&id).await;
    assert_eq!((&joined["match"]["match_id"], &joined["match"]["authoritative"]), (&json!(id), &json!(true)));
    // The other speed has no open match, so it gets one of its own.
    let (_, slow) = rpc(&mut bob.client, "find_match", &json!({ "fast": false })).await;
    assert_ne!(slow["match_ids"][0], json!(id));
    let (_, again) = rpc(&mut bob.client, "find_match", &json!({ "fast": true })).await;
    assert_eq!(again["match_ids"], json!([id]));
    bob.join(&id).await;
    let first = ann.client.user.clone();
    for player in [&mut ann, &mut bob] {
        let (op_code, started) = player.message().await;
        assert_eq!((op_code, &started["turn"]), (OP_START, &json!(1)), "{started}");
        assert_eq!(started["marks"][&first], 1, "{started}");
    }
    let mut eve = Player::new(&scenario).await;
    let full = eve.join(&id).await;
    assert_eq!(full["error"]["message"], "match full", "{full}");
    play(&id, &mut ann, &mut bob).await;

    // The winner's record follows a few ticks later; the match itself goes on.
    let (_, state) = rpc(&mut ann.client, "match_state", &json!({ "match_id": id })).await;
    assert_eq!(state, json!({ "signal": "state", "playing": false }));
    let end = Instant::now() + DEADLINE;
    let wins = loop {
        let answer = ann.client.get("/v2/leaderboard/tictactoe_wins").await.expect("the server answers").json();
        if answer["records"].is_array() {
            break answer;
        }
        assert!(Instant::now() < end, "no record was written");
    };
    assert_eq!((&wins["records"][0]["owner_id"], &wins["records"][0]["score"]), (&json!(ann.client.user), &json!("1")));
    let (_, refused) = rpc(&mut ann.client, "find_match", &json!({ "fast": 1 })).await;
    assert_eq!(refused["code"], 3);
    scenario.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn matched_players_get_a_match_of_their_own_and_a_player_who_leaves_loses() {
    let scenario = start().await;
    let (mut ann, mut bob) = (Player::new(&scenario).await, Player::new(&scenario).await);
    let add = json!({ "matchmaker_add": {
        "min_count": 2, "max_count": 2, "query": "+properties.mode:tictactoe",
        "string_properties": { "mode": "tictactoe" }, "numeric_properties": { "fast": 1 },
    } });
    ann.socket.request(add.clone()).await;
    bob.socket.request(add).await;
    let to_ann = next_of(&mut ann.socket, "matchmaker_matched").await;
    let to_bob = next_of(&mut bob.socket, "matchmaker_matched").await;
    let id = to_ann["match_id"].as_str().unwrap_or_else(|| panic!("{to_ann}")).to_owned();
    assert_eq!(to_bob["match_id"], json!(id));
    ann.join(&id).await;
    bob.join(&id).await;
    assert_eq!(ann.message().await.0, OP_START);
    assert_eq!(bob.message().await.0, OP_START);
    bob.socket.request(json!({ "match_leave": { "match_id": id } })).await;
    let (op_code, done) = ann.message().await;
    assert_eq!((op_code, &done["user_id"]), (OP_DONE, &json!(ann.client.user)), "{done}");
    scenario.stop().await;
}
