//! Hooks before and after operations and messages of the socket.

use crate::support::{ScriptServer, failed_start, rpc};
use aether_testkit_server::aether_server::services::calls::operation_names;
use aether_testkit_server::aether_server::services::{CallContext, Operation as _, operation, socket};
use serde_json::json;
use std::sync::Arc;

const HOOKS: &str = r#"
local nk = require("nakama")
local seen = {}

nk.register_req_before(function(context, payload)
    local object = payload.objects[1]
    if object.key == "refused" then
        error({ "this key is taken", 6 })
    elseif object.key == "broken" then
        local nothing = nil
        return nothing.field
    elseif object.key == "disabled" then
        return nil
    elseif object.key == "none" then
        payload.objects = {}
    else
        object.value = nk.json_encode({ user = context.user_id, mode = context.execution_mode })
    end
    return payload
end, "writestorageobjects")

nk.register_req_after(function(context, answer, request)
    seen.key = answer.acks[1].key
    seen.value = request.objects[1].value
    seen.mode = context.execution_mode
    error("an error after the operation")
end, "WriteStorageObjects")

nk.register_rpc(function()
    return nk.json_encode(seen)
end, "seen")
"#;

async fn write(user: &mut aether_testkit_server::ApiClient, key: &str) -> (u16, serde_json::Value) {
    let object = json!({ "collection": "bag", "key": key, "value": "{\"gold\":7}", "version": "" });
    let answer = user.put("/v2/storage", &json!({ "objects": [object] })).await.expect("the server answers");
    (answer.status, answer.json())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_before_hook_changes_refuses_and_disables_requests() {
    let scripts = ScriptServer::start(&[("hooks", HOOKS)]).await;
    let mut user = scripts.user().await;
    let (status, answer) = write(&mut user, "usual").await;
    assert_eq!(status, 200, "{answer}");
    let path = format!("/v2/storage/bag/{}", user.user);
    let stored = user.get(&path).await.expect("the server answers").json();
    let value: serde_json::Value =
        serde_json::from_str(stored["objects"][0]["value"].as_str().expect("a value")).expect("JSON");
    assert_eq!(value, json!({ "user": user.user, "mode": "before" }));

    let (status, answer) = write(&mut user, "refused").await;
    assert_eq!((status, &answer["code"], &answer["message"]), (409, &json!(6), &json!("this key is taken")));
    let (status, answer) = write(&mut user, "broken").await;
    assert_eq!((status, &answer["code"]), (500, &json!(13)));
    assert!(answer["message"].as_str().is_some_and(|text| text.starts_with("hooks:11: ")), "{answer}");
    let (status, answer) = write(&mut user, "disabled").await;
    assert_eq!((status, &answer["code"]), (404, &json!(5)), "{answer}");
    // An empty table is an empty list.
    assert_eq!(write(&mut user, "none").await, (200, json!({})));
    assert_eq!(scripts.server.metric("aether_script_errors_total", &[("kind", "refused")]), 1.0);
    // The hook before, and twice the hook after.
    assert_eq!(scripts.server.metric("aether_script_errors_total", &[("kind", "runtime")]), 3.0);
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_after_hook_gets_answer_and_request_and_its_error_does_not_reach_the_client() {
    let scripts = ScriptServer::start(&[("hooks", HOOKS)]).await;
    let mut user = scripts.user().await;
    let (status, answer) = write(&mut user, "usual").await;
    assert_eq!((status, &answer["acks"][0]["key"]), (200, &json!("usual")));
    // Calls that follow each other run in the same VM.
    let (_, seen) = rpc(&mut user, "seen", &json!({})).await;
    assert_eq!((&seen["key"], &seen["mode"]), (&json!("usual"), &json!("after")));
    assert!(seen["value"].as_str().is_some_and(|value| value.contains(&user.user)), "{seen}");
    scripts.stop().await;
}

const SOCKET: &str = r#"
local nk = require("nakama")
local seen = {}

nk.register_rt_before(function(context, envelope)
    if envelope.status_update.status == "secret" then
        error({ "keep it to yourself", 3 })
    end
    seen.session = context.session_id
    seen.language = context.lang
    envelope.status_update.status = envelope.status_update.status .. "!"
    return envelope
end, "StatusUpdate")

nk.register_rt_after(function(context, answer, request)
    seen.target = answer.channel.room_name
    seen.asked = request.channel_join.target
end, "ChannelJoin")

aether.register_hook("after:StatusUpdate", function(context, answer, request)
    seen.status = request.status
    seen.answer = next(answer) == nil
end)

nk.register_rt_before(function()
    return nil
end, "PartyCreate")

nk.register_rpc(function()
    return nk.json_encode(seen)
end, "seen")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_socket_messages_get_envelopes() {
    let scripts = ScriptServer::start(&[("socket", SOCKET)]).await;
    let mut user = scripts.user().await;
    let mut socket = scripts.server.socket(&user.token).await;
    socket.request(json!({ "status_update": { "status": "here" } })).await;
    let joined = socket.request(json!({ "channel_join": { "type": 1, "target": "lobby" } })).await;
    assert_eq!(joined["channel"]["room_name"], "lobby", "{joined}");
    let refused = socket.request(json!({ "status_update": { "status": "secret" } })).await;
    assert_eq!(refused["error"]["message"], "keep it to yourself", "{refused}");
    let (_, seen) = rpc(&mut user, "seen", &json!({})).await;
    assert_eq!(seen["status"], "here!");
    assert_eq!(seen["answer"], true);
    assert_eq!((&seen["target"], &seen["asked"], &seen["language"]), (&json!("lobby"), &json!("lobby"), &json!("en")));
    assert_eq!(seen["session"].as_str().map(str::len), Some(36));
    // A discarded message is unknown to the server, which ends the connection, as the protocol has it.
    socket.send(&json!({ "cid": "9", "party_create": {} })).await;
    let (_, _, before) = socket.closed().await;
    assert_eq!(before.last().map(|message| &message["error"]["code"]), Some(&json!(1)), "{before:?}");
    scripts.stop().await;
}

/// Returns a module that registers a hook for every operation. Each hook names its operation in an error.
fn module_of_all() -> String {
    let mut text = String::from("local nk = require(\"nakama\")\n");
    for name in operation_names() {
        let register = if socket::NAMES.contains(&name) {
            format!("nk.register_rt_before(raise, \"{name}\")")
        } else if [operation::RpcFunc::NAME, operation::Healthcheck::NAME].contains(&name) {
            format!("aether.register_hook(\"before:{name}\", raise)")
        } else {
            format!("nk.register_req_before(raise, \"{}\")", name.to_ascii_lowercase())
        };
        text += &format!("do\n local function raise() error({{ \"hook of {name}\", 9 }}) end\n {register}\nend\n");
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_and_every_socket_message_has_its_hook() {
    let scripts = ScriptServer::start(&[("all", &module_of_all())]).await;
    let services = Arc::clone(scripts.server.services());
    let context = Arc::new(CallContext::server());
    let mut called = 0;
    let names: Vec<&str> = services.calls.operations().map(|info| info.name).collect();
    for name in names {
        let outcome = services.call_json(name, &context, json!({})).await;
        let message = outcome.err().map(|error| error.message.into_owned());
        assert_eq!(message, Some(format!("hook of {name}")));
        called += 1;
    }
    assert!(called >= 120, "{called} operations");
    drop(services);
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_registrations_stop_the_start_with_their_line() {
    for (text, expected) in [
        ("nk.register_req_before(print, 'Nothing')", "operation `Nothing` does not exist"),
        ("nk.register_rt_before(print, 'GetAccount')", "operation `GetAccount` does not exist"),
        ("nk.register_req_before('GetAccount', print)", "expected a function and its name"),
        ("aether.register_hook('before', print)", "hook `before` does not exist"),
        ("aether.register_schedule('0 0 31 2 *', print, 'never')", "never occurs"),
        ("aether.register_http('GET', 'no slash', print)", "cannot be a route"),
        ("nk.register_matchmaker_matched(1)", "expected a function"),
    ] {
        let problem = failed_start(&[("wrong", &format!("local nk = require('nakama')\n{text}"))]).await;
        assert!(problem.contains(expected) && problem.contains("wrong:2"), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_registered_only_while_modules_load() {
    let text = r#"
        local nk = require("nakama")
        nk.register_rpc(function()
            nk.register_rpc(print, "later")
        end, "register")
    "#;
    let scripts = ScriptServer::start(&[("late", text)]).await;
    let mut user = scripts.user().await;
    let (status, answer) = rpc(&mut user, "register", &json!({})).await;
    assert_eq!(status, 500);
    assert!(answer["message"].as_str().is_some_and(|text| text.contains("only while modules load")), "{answer}");
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_registers_a_limited_number_of_functions() {
    let text = "for number = 1, 1025 do aether.register_rpc('f' .. number, print) end";
    let problem = failed_start(&[("many", text)]).await;
    assert!(problem.contains("at most 1024 functions"), "{problem}");
    let text = "for number = 1, 65 do aether.register_schedule('@daily', print, 'f' .. number) end";
    let problem = failed_start(&[("many", text)]).await;
    assert!(problem.contains("at most 64 schedules"), "{problem}");
}
