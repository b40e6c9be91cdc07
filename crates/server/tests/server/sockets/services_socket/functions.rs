//! Functions over the socket, and hooks of socket messages.

use aether_messages::socket;
use aether_server::services::calls::Module;
use aether_server::services::{GrpcCode, ServiceError, operation};
use aether_testkit_server::{ApiClient, TestServer};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::Notify;

/// Registers functions of tests. `gate` waits until the result is notified.
fn register(server: &TestServer, change: impl FnOnce(&mut Module)) -> Arc<Notify> {
    let gate = Arc::new(Notify::new());
    let mut module = Module::default();
    let functions = &mut module.functions;
    functions
        .register_rpc("echo", |_, context, payload| async move {
            let user = context.caller.user().expect("the caller has an account").user;
            assert!(context.socket.is_some(), "the call came over a socket");
            Ok(format!("{payload} {user}"))
        })
        .expect("the name is free");
    functions
        .register_rpc("fail", |_, _, _| async { Err(ServiceError::with(GrpcCode::Aborted, "It failed.")) })
        .expect("the name is free");
    let opened = Arc::clone(&gate);
    functions
        .register_rpc("gate", move |_, _, payload| {
            let opened = Arc::clone(&opened);
            async move {
                opened.notified().await;
                opened.notify_one();
                Ok(payload)
            }
        })
        .expect("the name is free");
    change(&mut module);
    server.services().calls.replace("test", module).expect("the module is good");
    gate
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_is_called_with_the_hooks_of_http() {
    let server = TestServer::start(|_| {}).await;
    register(&server, |module| {
        module.hooks.before::<operation::RpcFunc, _>(|_, mut request| async move {
            request.payload.insert(0, '>');
            Ok(Some(request))
        });
    });
    let user = ApiClient::new_user(server.http).await;
    let mut socket = server.socket(&user.token).await;
    let answer = socket.request(json!({ "rpc": { "id": "Echo", "payload": "hi" } })).await;
    assert_eq!(answer, json!({ "rpc": { "id": "Echo", "payload": format!(">hi {}", user.user) } }));
    let answer = socket.request(json!({ "rpc": { "id": "fail" } })).await;
    assert_eq!(answer, json!({ "error": { "code": 7, "message": "It failed." } }));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_function_holds_up_nothing_and_requests_in_flight_are_bounded() {
    let server = TestServer::start(|config| config.socket.requests_max = 4).await;
    let gate = register(&server, |_| {});
    let user = ApiClient::new_user(server.http).await;
    let mut socket = server.socket(&user.token).await;
    socket.send(&json!({ "cid": "slow", "rpc": { "id": "gate", "payload": "done" } })).await;
    assert_eq!(socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }), "while the function runs");
    for cid in 1..4 {
        socket.send(&json!({ "cid": format!("slow{cid}"), "rpc": { "id": "gate", "payload": "done" } })).await;
    }
    // The connection is not read any more; the ping is answered after the functions.
    socket.send(&json!({ "cid": "last", "ping": {} })).await;
    gate.notify_one();
    let mut cids = Vec::new();
    for _ in 0..5 {
        cids.push(socket.next().await["cid"].as_str().expect("a cid").to_owned());
    }
    assert!(cids[..4].iter().filter(|cid| cid.starts_with("slow")).count() >= 1, "{cids:?}");
    cids.sort();
    assert_eq!(cids, ["last", "slow", "slow1", "slow2", "slow3"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_takes_too_long_is_stopped() {
    let server = TestServer::start(|config| config.http.request_seconds = 1).await;
    register(&server, |_| {});
    let user = ApiClient::new_user(server.http).await;
    let mut socket = server.socket(&user.token).await;
    let answer = socket.request(json!({ "rpc": { "id": "gate" } })).await;
    assert_eq!(answer["error"]["code"], 7, "{answer}");
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("too long")), "{answer}");
    assert_eq!(socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_change_reject_and_discard_socket_messages() {
    let server = TestServer::start(|_| {}).await;
    register(&server, |module| {
        module.hooks.before::<socket::StatusUpdate, _>(|_, mut request| async move {
            match request.status.as_deref() {
                Some("bad") => return Err(ServiceError::invalid("Mind your words.")),
                Some("gone") => return Ok(None),
                Some(status) => request.status = Some(status.to_uppercase()),
                None => {}
            }
            Ok(Some(request))
        });
        let named = module.hooks.before_named("StatusFollow", |_, request: Value| async move {
            assert!(request.get("user_ids").is_some(), "{request}");
            Err(ServiceError::invalid("Follow nobody."))
        });
        named.expect("every message of the socket has hooks");
        for name in socket::NAMES {
            module.hooks.after_named(name, |_, _, _| async {}).expect("every message of the socket has hooks");
        }
    });
    let user = ApiClient::new_user(server.http).await;
    let mut socket = server.socket(&user.token).await;
    assert_eq!(socket.request(json!({ "status_update": { "status": "loud" } })).await, json!({}));
    let event = socket.next().await;
    assert_eq!(event["status_presence_event"]["joins"][0]["status"], "LOUD", "{event}");
    let answer = socket.request(json!({ "status_update": { "status": "bad" } })).await;
    assert_eq!(answer, json!({ "error": { "code": 3, "message": "Mind your words." } }));
    let answer = socket.request(json!({ "status_follow": { "user_ids": [user.user] } })).await;
    assert_eq!(answer["error"]["message"], "Follow nobody.");
    socket.send(&json!({ "cid": "9", "status_update": { "status": "gone" } })).await;
    let (code, _, messages) = socket.closed().await;
    assert_eq!(code, Some(1000), "a discarded message closes the connection");
    let expected = json!({ "cid": "9", "error": { "code": 1, "message": "Requested resource was not found." } });
    assert_eq!(messages.last(), Some(&expected));
    server.stop().await;
}
