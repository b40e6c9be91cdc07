//! Room types that modules add, replace and remove at run time.

use aether_engine::RoomSettings;
use aether_net::relay::RelaySettings;
use aether_server::services::calls::Module;
use aether_server::services::{CallContext, GrpcCode, ServiceError};
use aether_server::{RoomDefinition, RoomType};
use aether_testkit_server::workshop::Workshop;
use aether_testkit_server::{ApiClient, PROTOBUF, TestPlayer, TestServer, TransportKind, until};
use aether_wire::{ErrorCode, Hello, RoomId, RoomSelector};
use serde_json::{Value, json};
use std::sync::Arc;

/// Returns a module with the room type `lounge`, whose rooms tick at this rate, and a function that returns the rate.
fn module(server: &TestServer, tick_hz: u32) -> Module {
    let settings = RoomSettings { tick_hz, snapshot_hz: tick_hz, interest: None, ..RoomSettings::default() };
    let mut module = Module::default();
    let definition = RoomDefinition::game(settings, Workshop::default);
    add(server, &mut module, "lounge", definition);
    let rate = move |_, _| async move { Ok(Some(tick_hz.to_string().into_bytes())) };
    module.functions.register_call("lounge_rate", rate).expect("the name is free");
    module
}

fn add(server: &TestServer, module: &mut Module, name: &str, definition: RoomDefinition) {
    let room_type = RoomType::new(name, definition, server.running().registry());
    module.match_types.register(Arc::new(room_type)).expect("the name is free");
}

/// Calls a function by name with JSON.
async fn call(server: &TestServer, name: &str, request: Value) -> Result<Value, ServiceError> {
    let context = Arc::new(CallContext::server());
    let answer = server.services().call_bytes(name, &context, request.to_string().into_bytes()).await?;
    Ok(answer.map_or(Value::Null, |answer| serde_json::from_slice(&answer).expect("the text is JSON")))
}

fn by_id(info: &Value) -> RoomSelector {
    RoomSelector::Id(RoomId(info["id"].as_str().expect("it has an id").to_owned()))
}

async fn join(server: &TestServer, room: RoomSelector) -> Result<TestPlayer, ErrorCode> {
    let hello = Hello { room: Some(room), ..server.hello("") };
    server.try_join(TransportKind::WebSocket, PROTOBUF, &hello).await.map_err(|notice| notice.code)
}

fn lounge() -> RoomSelector {
    RoomSelector::Type { name: "lounge".to_owned(), label: None }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_adds_replaces_and_removes_a_room_type_and_running_rooms_continue() {
    let server = TestServer::start(|_| {}).await;
    let calls = &server.services().calls;
    let create = async || call(&server, "match_create", json!({ "type": "lounge", "label": "red" })).await;
    assert_eq!(join(&server, lounge()).await.err(), Some(ErrorCode::RoomNotFound));
    assert_eq!(create().await.expect_err("it is not registered").code, GrpcCode::NotFound);

    calls.replace("lounge", module(&server, 20)).expect("the module is valid");
    let old = create().await.expect("the type is registered");
    assert_eq!((&old["type"], &old["label"], &old["tickHz"]), (&json!("lounge"), &json!("red"), &json!(20)));
    let first = join(&server, by_id(&old)).await.expect("the room runs");
    assert_eq!(first.welcome.tick_hz, 20);

    calls.replace("lounge", module(&server, 40)).expect("the module is valid");
    assert_eq!(call(&server, "lounge_rate", json!({})).await, Ok(json!(40)), "functions change with the types");
    let new = create().await.expect("the type is registered");
    assert_eq!(join(&server, by_id(&new)).await.expect("the room runs").welcome.tick_hz, 40);
    assert_eq!(join(&server, lounge()).await.expect("a room without a label is created").welcome.tick_hz, 40);
    assert_eq!(join(&server, by_id(&old)).await.expect("the room keeps running").welcome.tick_hz, 20);
    server.until_metric("aether_rooms", &[("room_type", "lounge")], 3.0).await;

    calls.remove("lounge").expect("it may be removed");
    assert_eq!(join(&server, lounge()).await.err(), Some(ErrorCode::RoomNotFound), "although such rooms run");
    assert_eq!(create().await.expect_err("it was removed").code, GrpcCode::NotFound);
    assert_eq!(join(&server, by_id(&old)).await.expect("the room keeps running").welcome.tick_hz, 20);
    let listed = call(&server, "match_list", json!({ "type": "lounge" })).await.expect("it is a filter");
    let listed = listed["matches"].as_array().expect("it is a list");
    assert_eq!(listed.len(), 3);
    for room in listed {
        assert_eq!(call(&server, "match_end", json!({ "id": room["id"] })).await, Ok(Value::Null));
    }
    until("no metric of the removed type", || server.metric("aether_rooms", &[("room_type", "lounge")]) == 0.0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_type_belongs_to_one_module() {
    let server = TestServer::start(|_| {}).await;
    let calls = &server.services().calls;
    calls.replace("lounge", module(&server, 20)).expect("the module is valid");
    for (name, owner) in [("lounge", "`lounge`"), ("relay", "`program`")] {
        let mut second = Module::default();
        add(&server, &mut second, name, RoomDefinition::Relay(RelaySettings::default()));
        add(&server, &mut second, "den", RoomDefinition::Relay(RelaySettings::default()));
        let refused = calls.replace("second", second).expect_err("the name is taken");
        assert_eq!(refused.code, GrpcCode::AlreadyExists);
        assert!(refused.message.contains(owner), "{}", refused.message);
        let den = call(&server, "match_create", json!({ "type": "den" })).await;
        assert_eq!(den.expect_err("the whole module was rejected").code, GrpcCode::NotFound);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn matches_are_found_and_signalled_by_name_but_not_by_clients() {
    let server = TestServer::start(|_| {}).await;
    let made = call(&server, "match_create", json!({ "type": "workshop" })).await.expect("it is created");
    let found = call(&server, "match_find", json!({ "id": made["id"] })).await.expect("it is looked up");
    assert_eq!(found["match"]["code"], made["code"]);
    let none = call(&server, "match_find", json!({ "id": "none" })).await;
    assert_eq!(none, Ok(json!({ "match": null })));
    let reply = call(&server, "match_signal", json!({ "id": made["id"], "data": "AQID" })).await;
    assert_eq!(reply, Ok(json!({ "data": "AwIB" })));
    for (name, request) in [
        ("match_create", json!({ "label": "red" })),
        ("match_list", json!({ "colour": "red" })),
        ("match_signal", json!({ "id": made["id"], "data": "?" })),
    ] {
        assert_eq!(call(&server, name, request).await.expect_err("it is no request").code, GrpcCode::InvalidArgument);
    }
    let mut client = ApiClient::new_user(server.http).await;
    let answer = client.post("/v2/rpc/match_create", &json!("{\"type\":\"workshop\"}")).await.expect("it answers");
    assert_eq!(answer.status, 404);
    server.stop().await;
}
