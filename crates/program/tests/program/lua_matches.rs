//! A durable Lua match of a server that is killed: its recording replays, and its state is rebuilt.

use crate::support::{ServerSetup, program};
use aether_testkit_server::{ApiClient, DEADLINE, Process, ServicesSocket, command};
use aether_testkit_store::file;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Instant;
use tokio::time::timeout;

const COUNTER: &str = r#"
local nk = require("nakama")

aether.register_match("counter", {
    durable = true,
    match_init = function(ctx, params)
        return { state = { counts = {}, rolls = {}, step = params.step }, tick_rate = 20, label = "counting" }
    end,
    match_loop = function(ctx, state, tick, messages)
        for _, message in messages do
            local found = nk.storage_read({ { collection = "c", key = message.data } })
            table.insert(state.counts, #state.counts + state.step + #found)
            table.insert(state.rolls, math.random(1, 6))
            aether.broadcast(1, tostring(#state.counts))
        end
        return state
    end,
})

nk.register_rpc(function(_, payload)
    return nk.match_create("counter", { step = 2 })
end, "create")
"#;

/// Sends a message and returns the count that the match answers.
async fn count(socket: &mut ServicesSocket, id: &str) -> u64 {
    let sent = json!({ "match_id": id, "op_code": "7", "data": STANDARD.encode("k") });
    socket.send(&json!({ "match_data_send": sent })).await;
    loop {
        let message = socket.next().await;
        if let Some(data) = message["match_data"]["data"].as_str() {
            let bytes = STANDARD.decode(data).expect("data is base64");
            return String::from_utf8_lossy(&bytes).parse().expect("a number");
        }
    }
}

async fn join(server: &Process, id: &str) -> (ApiClient, ServicesSocket) {
    let client = ApiClient::new_user(server.http).await;
    let mut socket = ServicesSocket::connect(server.http, &client.token).await;
    let joined = socket.request(json!({ "match_join": { "match_id": id } })).await;
    assert_eq!(joined["match"]["label"], "counting", "{joined}");
    (client, socket)
}

fn operator(server: &Process, data_dir: &Path) -> ApiClient {
    let key = std::fs::read_to_string(data_dir.join("admin.key")).expect("the server creates a key");
    let mut client = ApiClient::new(server.admin);
    client.authorize(format!("Bearer {}", key.trim()));
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_leaves_a_recording_that_replays_and_a_match_that_is_rebuilt() {
    let database = file();
    let folder = std::env::temp_dir().join(format!("aether-counter-{}", uuid::Uuid::new_v4().simple()));
    std::fs::create_dir_all(&folder).expect("the folder is created");
    std::fs::write(folder.join("counter.lua"), COUNTER).expect("the module is written");
    let setup = ServerSetup::new(&database, &[&format!("script.folder={}", folder.display())]);
    let server = setup.serve().await;
    let mut creator = ApiClient::new_user(server.http).await;
    let created = creator.post("/v2/rpc/create", &json!("{}")).await.expect("the server answers").json();
    let id = created["payload"].as_str().expect("an id").to_owned();
    let (_ann, mut socket) = join(&server, &id).await;
    assert_eq!(count(&mut socket, &id).await, 1);
    let mut admin = operator(&server, setup.data_dir());
    let begun = admin.post(&format!("/api/rooms/{id}/recording"), &json!({})).await.expect("the server answers");
    assert_eq!(begun.status, 200, "{}", begun.body);
    let begun = begun.json();
    let first = begun["first_tick"].as_u64().expect("a tick");
    assert_eq!(count(&mut socket, &id).await, 2);
    let end = Instant::now() + DEADLINE;
    loop {
        let list: Value = admin.get("/api/recordings").await.expect("the server answers").json();
        // Three seconds: the checkpoint of the second message is stored by then.
        if list["recordings"][0]["last_tick"].as_u64().is_some_and(|last| last > first + 60) {
            break;
        }
        assert!(Instant::now() < end, "{list}");
    }
    let addresses = (server.http, server.admin);
    server.kill().await;

    let name = begun["name"].as_str().expect("a name");
    let recording = setup.data_dir().join("recordings").join(name);
    // Without the modules: the recording has the sources.
    std::fs::remove_file(folder.join("counter.lua")).expect("the module is removed");
    let mut replay = command(program(), &["replay", recording.to_str().expect("the path is UTF-8")]);
    let output = timeout(DEADLINE, replay.output()).await.expect("it ends").expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("as recorded"), "{output:?}");

    std::fs::write(folder.join("counter.lua"), COUNTER).expect("the module is written");
    let server = setup.serve_again(addresses.0, addresses.1).await;
    let (_ben, mut socket) = join(&server, &id).await;
    assert_eq!(count(&mut socket, &id).await, 3, "both messages before the kill count");
    drop(server);
    let _ = std::fs::remove_dir_all(&folder);
}
