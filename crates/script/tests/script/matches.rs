//! Matches of scripts over the services socket: both forms of handlers.

use crate::support::{ScriptServer, rpc};
use aether_testkit_server::{ApiClient, ServicesSocket};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A handler with all seven functions.
const LOBBY: &str = r#"
local nk = require("nakama")
local M = {}

function M.match_init(context, params)
    local state = { log = {}, seats = {}, greeting = params.greeting or "hello" }
    table.insert(state.log, "init " .. context.execution_mode)
    return state, params.rate or 10, nk.json_encode({ mode = "lobby", open = true })
end

function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata)
    if metadata.password ~= nil and metadata.password ~= "right" then
        return state, false, "wrong password for " .. presence.username
    end
    return state, context.user_id == presence.user_id
end

function M.match_join(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        state.seats[presence.session_id] = presence
        dispatcher.broadcast_message(1, state.greeting .. " " .. presence.user_id, { presence })
    end
    return state
end

function M.match_leave(context, dispatcher, tick, state, presences)
    for _, presence in ipairs(presences) do
        state.seats[presence.session_id] = nil
        dispatcher.broadcast_message(2, "left " .. presence.user_id)
    end
    return state
end

function M.match_loop(context, dispatcher, tick, state, messages)
    for _, message in ipairs(messages) do
        if message.op_code == 10 then
            dispatcher.broadcast_message_deferred(12, "last")
            dispatcher.broadcast_message(11, message.data, nil, message.sender)
        elseif message.op_code == 20 then
            dispatcher.match_kick({ message.sender })
        elseif message.op_code == 30 then
            dispatcher.match_label_update(message.data)
        elseif message.op_code == 40 then
            return nil
        elseif message.op_code == 50 then
            local nothing = nil
            nothing.field = 1
        elseif message.op_code == 60 then
            local objects = nk.storage_read({ { collection = "c", key = "k" } })
            dispatcher.broadcast_message(61, tostring(#objects))
        elseif message.op_code == 70 then
            while true do end
        end
    end
    return state
end

function M.match_terminate(context, dispatcher, tick, state, grace_seconds)
    dispatcher.broadcast_message(99, "terminate " .. tostring(grace_seconds))
    return state
end

function M.match_signal(context, dispatcher, tick, state, data)
    local ok, problem = pcall(nk.storage_read, {})
    return state, nk.json_encode({ data = data, seats = state.seats, ok = ok, problem = problem, label = context.match_label, rate = context.match_tick_rate, id = context.match_id, tick = tick })
end

return M
"#;

const RPCS: &str = r#"
local nk = require("nakama")
nk.register_rpc(function(_, payload)
    local value = nk.json_decode(payload)
    return nk.json_encode({ id = nk.match_create(value.module, value.params) })
end, "create")
nk.register_rpc(function(_, payload)
    local value = nk.json_decode(payload)
    return nk.json_encode({ found = nk.match_get(value.id) })
end, "find")
nk.register_rpc(function(_, payload)
    local value = nk.json_decode(payload)
    return nk.match_signal(value.id, value.data)
end, "signal")
nk.register_rpc(function(_, payload)
    local value = nk.json_decode(payload)
    return nk.json_encode({ matches = nk.match_list(10, true, nil, nil, nil, value.query) })
end, "list")
"#;

/// A user with a socket.
struct Member {
    client: ApiClient,
    socket: ServicesSocket,
}

impl Member {
    async fn new(scripts: &ScriptServer) -> Member {
        let client = scripts.user().await;
        let socket = ServicesSocket::connect(scripts.server.http, &client.token).await;
        Member { client, socket }
    }

    async fn join(&mut self, id: &str) -> Value {
        self.socket.request(json!({ "match_join": { "match_id": id } })).await
    }

    async fn send(&mut self, id: &str, op_code: u16, data: &str) {
        let data = STANDARD.encode(data);
        let message = json!({ "match_id": id, "op_code": op_code.to_string(), "data": data });
        self.socket.send(&json!({ "match_data_send": message })).await;
    }

    /// Returns the next match data: op code, sender's user, and text.
    async fn data(&mut self) -> (u16, Option<String>, String) {
        loop {
            let message = self.socket.next().await;
            let data = &message["match_data"];
            if data.is_object() {
                let bytes = STANDARD.decode(data["data"].as_str().unwrap_or_default()).expect("data is base64");
                let sender = data["presence"]["user_id"].as_str().map(ToOwned::to_owned);
                let op_code = data["op_code"].as_str().and_then(|code| code.parse().ok()).unwrap_or_default();
                return (op_code, sender, String::from_utf8(bytes).expect("the match sends texts"));
            }
        }
    }

    /// Waits until the member itself has left.
    async fn removed(&mut self) {
        loop {
            let message = self.socket.next().await;
            let leaves = message["match_presence_event"]["leaves"].as_array().cloned().unwrap_or_default();
            if leaves.iter().any(|leave| leave["user_id"].as_str() == Some(&self.client.user)) {
                return;
            }
        }
    }
}

async fn create(member: &mut Member, module: &str, params: Value) -> String {
    let (status, answer) = rpc(&mut member.client, "create", &json!({ "module": module, "params": params })).await;
    assert_eq!(status, 200, "{answer}");
    answer["id"].as_str().expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_with_seven_functions_is_a_match() {
    let scripts = ScriptServer::start(&[("lobby", LOBBY), ("rpcs", RPCS)]).await;
    let mut ann = Member::new(&scripts).await;
    let id = create(&mut ann, "lobby", json!({ "greeting": "hi" })).await;
    let joined = ann.join(&id).await;
    assert_eq!(joined["match"]["label"], r#"{"mode":"lobby","open":true}"#, "{joined}");
    let (user, other) = (ann.client.user.clone(), &mut Member::new(&scripts).await);
    assert_eq!(ann.data().await, (1, None, format!("hi {user}")));
    other.join(&id).await;
    assert_eq!(other.data().await, (1, None, format!("hi {}", other.client.user)));
    ann.send(&id, 10, "all").await;
    for member in [&mut ann, &mut *other] {
        assert_eq!(member.data().await, (11, Some(user.clone()), "all".to_owned()), "it is sent first");
        assert_eq!(member.data().await, (12, None, "last".to_owned()));
    }
    ann.send(&id, 60, "").await;
    assert_eq!(ann.data().await, (61, None, "0".to_owned()), "the loop waited for the services");
    other.data().await;
    let (_, answer) = rpc(&mut ann.client, "signal", &json!({ "id": id, "data": "ping" })).await;
    assert_eq!((&answer["data"], &answer["rate"], &answer["id"]), (&json!("ping"), &json!(10), &json!(id)));
    assert_eq!(answer["seats"].as_object().map(|seats| seats.len()), Some(2));
    assert_eq!(answer["ok"], false);
    assert!(answer["problem"].as_str().is_some_and(|text| text.contains("aether.task")), "{answer}");
    other.send(&id, 20, "").await;
    other.removed().await;
    assert_eq!(ann.data().await, (2, None, format!("left {}", other.client.user)));
    ann.send(&id, 40, "").await;
    ann.removed().await;
    let (_, answer) = rpc(&mut ann.client, "find", &json!({ "id": id })).await;
    assert_eq!(answer, json!({}), "a match without a state has ended");
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_listed_by_query_and_change_at_once() {
    let scripts = ScriptServer::start(&[("lobby", LOBBY), ("rpcs", RPCS)]).await;
    let mut ann = Member::new(&scripts).await;
    let id = create(&mut ann, "lobby", json!({ "rate": 30 })).await;
    let list = async |member: &mut Member, query: &str| {
        rpc(&mut member.client, "list", &json!({ "query": query })).await.1["matches"].clone()
    };
    let found = list(&mut ann, "+label.mode:lobby +label.open:T").await;
    let expected = json!({
        "match_id": id, "authoritative": true, "label": r#"{"mode":"lobby","open":true}"#, "size": 0,
        "tick_rate": 30, "handler_name": "lobby",
    });
    assert_eq!(found, json!([expected]));
    ann.join(&id).await;
    ann.data().await;
    ann.send(&id, 30, r#"{"mode":"full"}"#).await;
    ann.send(&id, 10, "done").await;
    ann.data().await;
    assert_eq!(list(&mut ann, "+label.mode:lobby").await, json!({}), "no match has this label now");
    assert_eq!(list(&mut ann, "+label.mode:full").await[0]["match_id"], json!(id));
    let (status, answer) = rpc(&mut ann.client, "create", &json!({ "module": "nothing" })).await;
    assert_eq!(status, 500, "{answer}");
    assert!(
        answer["message"].as_str().is_some_and(|text| text.contains("room type `nothing` was not found")),
        "{answer}"
    );
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_and_an_endless_loop_end_their_match_alone() {
    let scripts = ScriptServer::start(&[("lobby", LOBBY), ("rpcs", RPCS)]).await;
    let mut healthy = Member::new(&scripts).await;
    let kept = create(&mut healthy, "lobby", json!({ "rate": 20 })).await;
    healthy.join(&kept).await;
    healthy.data().await;
    for (op_code, rate) in [(50, 20), (70, 20)] {
        let mut ann = Member::new(&scripts).await;
        let id = create(&mut ann, "lobby", json!({ "rate": rate })).await;
        ann.join(&id).await;
        ann.data().await;
        let before = tick_of(&scripts, &kept).await;
        let began = std::time::Instant::now();
        ann.send(&id, op_code, "").await;
        ann.removed().await;
        println!("op code {op_code}: players were removed after {:?}", began.elapsed());
        healthy.send(&kept, 10, "still here").await;
        assert_eq!(healthy.data().await.2, "still here");
        healthy.data().await;
        let ticks = tick_of(&scripts, &kept).await - before;
        let expected = began.elapsed().as_secs_f64() * 20.0;
        assert!((ticks as f64) > expected - 4.0, "{ticks} ticks of {expected} due; the other match stays on schedule");
        let (_, answer) = rpc(&mut ann.client, "find", &json!({ "id": id })).await;
        assert_eq!(answer, json!({}));
    }
    scripts.server.until_metric("aether_room_failures_total", &[("room_type", "lobby")], 2.0).await;
    scripts.stop().await;
}

/// Returns the tick of a match.
async fn tick_of(scripts: &ScriptServer, id: &str) -> u64 {
    let matches = scripts.server.services().matches().expect("rooms are hosted");
    let reply = matches.signal(id, b"tick".to_vec()).await.expect("the match answers");
    let reply: Value = serde_json::from_slice(&reply).expect("it is JSON");
    reply["tick"].as_u64().expect("a tick")
}

const WORDS: &str = r#"
aether.register_match("words", {
    players_max = 2,
    durable = true,
    match_init = function(ctx, params)
        local stored = aether.storage_get(nil, "words", "first")
        return { state = { words = {}, first = stored and stored.word or "none" }, tick_rate = 20, label = params.label }
    end,
    match_loop = function(ctx, state, tick, messages)
        local broadcasts = {}
        for _, message in messages do
            table.insert(state.words, message.data)
            table.insert(broadcasts, { op_code = 1, data = "old " .. table.concat(state.words, ",") })
        end
        return state, broadcasts
    end,
    match_terminate = function(ctx, state)
        aether.broadcast(9, "bye")
    end,
})
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_a_match_and_gets_new_code_from_the_folder() {
    let scripts = ScriptServer::start(&[("words", WORDS), ("rpcs", RPCS)]).await;
    let mut ann = Member::new(&scripts).await;
    let id = create(&mut ann, "words", json!({ "label": "a label" })).await;
    let joined = ann.join(&id).await;
    assert_eq!(joined["match"]["label"], "a label", "{joined}");
    ann.send(&id, 7, "one").await;
    assert_eq!(ann.data().await, (1, None, "old one".to_owned()));
    scripts.write("words", "this is no Lua");
    let broken = scripts.reload().await.expect_err("the module is broken");
    assert!(broken.starts_with("words:1: "), "{broken}");
    ann.send(&id, 7, "two").await;
    assert_eq!(ann.data().await.2, "old one,two", "a broken file never reaches a match");
    scripts.write("words", &WORDS.replace("\"old \"", "\"new \""));
    scripts.reload().await.expect("the module is valid");
    ann.send(&id, 7, "three").await;
    assert_eq!(ann.data().await.2, "new one,two,three", "the state moved to the new code");
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn match_init_may_call_services_and_a_durable_match_is_rebuilt() {
    let scripts = ScriptServer::start_stored(&[("words", WORDS), ("rpcs", RPCS)]).await;
    let mut ann = Member::new(&scripts).await;
    let id = create(&mut ann, "words", json!({ "label": "kept" })).await;
    ann.join(&id).await;
    ann.send(&id, 7, "one").await;
    assert_eq!(ann.data().await.2, "old one");
    let scripts = scripts.restart().await;
    let mut ben = Member::new(&scripts).await;
    let joined = ben.join(&id).await;
    assert_eq!(joined["match"]["label"], "kept", "{joined}");
    ben.send(&id, 7, "two").await;
    assert_eq!(ben.data().await.2, "old one,two", "the state was stored");
    scripts.stop().await;
}
