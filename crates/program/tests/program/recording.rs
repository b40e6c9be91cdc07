//! A server that is killed while it records leaves a file that replays up to the last second.

use crate::support::{ServerSetup, program};
use aether_outpost_rules::Controls;
use aether_testkit_server::seeing_player::{SeeingPlayer, guest, hello, of_type, outpost};
use aether_testkit_server::{ApiClient, DEADLINE, Process, command};
use aether_testkit_store::{TestDatabase, file, postgres};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use tokio::time::timeout;

const TICK_HZ: u64 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_killed_server_leaves_a_recording_and_ticks_continue() {
    check_kill(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_a_killed_server_leaves_a_recording_and_ticks_continue() {
    if let Some(database) = postgres() {
        check_kill(database).await;
    }
}

fn operator(server: &Process, data_dir: &Path) -> ApiClient {
    let key = std::fs::read_to_string(data_dir.join("admin.key")).expect("the server creates a key");
    let mut client = ApiClient::new(server.admin);
    client.authorize(format!("Bearer {}", key.trim()));
    client
}

async fn get(operator: &mut ApiClient, path: &str) -> Value {
    operator.get(path).await.expect("the server answers").json()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is a number"))
}

async fn check_kill(database: TestDatabase) {
    let setup = ServerSetup::new(&database, &[]);
    let server = setup.serve().await;
    let joined = hello(guest(server.http).await, of_type("outpost"));
    let mut ann = SeeingPlayer::join(server.http, &joined, outpost()).await.expect("the join is accepted");
    ann.player.possession().await;
    let mut admin = operator(&server, setup.data_dir());
    let path = format!("/api/rooms/{}", ann.player.welcome.room.0);
    let begun = admin.post(&format!("{path}/recording"), &json!({})).await.expect("the server answers");
    assert_eq!(begun.status, 200, "{}", begun.body);
    let name = begun.json()["name"].as_str().expect("a name").to_owned();
    let first = number(&begun.json()["first_tick"]);
    let end = Instant::now() + DEADLINE;
    loop {
        ann.step(&Controls { push: [1.0, 0.0], ..Controls::default() }).await;
        let list = get(&mut admin, "/api/recordings").await;
        if number(&list["recordings"][0]["last_tick"]) > first + 2 * TICK_HZ {
            break;
        }
        assert!(Instant::now() < end, "{list}");
    }
    let last = number(&get(&mut admin, &path).await["room"]["tick"]);
    let (resume, addresses) = (ann.player.resume_hello(), (server.http, server.admin));
    server.kill().await;

    let recording = setup.data_dir().join("recordings").join(&name);
    let mut replay = command(program(), &["replay", recording.to_str().expect("the path is UTF-8")]);
    let output = timeout(DEADLINE, replay.output()).await.expect("it ends").expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(text.contains("as recorded; the recording was cut off after this tick"), "{text}");
    let reached: u64 =
        text.split("tick ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).expect("a tick");
    assert!(reached + TICK_HZ >= last, "tick {reached} is within a second of {last}");
    assert!(reached > first + TICK_HZ / 2, "{text}");

    let server = setup.serve_again(addresses.0, addresses.1).await;
    let mut ann = SeeingPlayer::join(server.http, &resume, outpost()).await.expect("the resume token is valid");
    ann.player.possession().await;
    let mut admin = operator(&server, setup.data_dir());
    let rebuilt = get(&mut admin, &path).await["room"].clone();
    assert!(number(&rebuilt["tick"]) >= last, "tick {} is not before {last}", rebuilt["tick"]);
    assert!(number(&rebuilt["tick"]) < last + 60 * TICK_HZ, "{rebuilt}");
    server.kill().await;
}
