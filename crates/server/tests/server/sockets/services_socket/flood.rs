//! Many requests of one client at once, and functions that never end: bounded in number and time, and nobody else waits.

use aether_framing::websocket::codec::Opcode;
use aether_server::services::calls::Module;
use aether_testkit_server::{ApiClient, TestServer, masked, until};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const REQUESTS: usize = 10_000;

/// Calls of the function `hang`, which never ends by itself.
#[derive(Default)]
struct HangingCalls {
    running: AtomicUsize,
    running_max: AtomicUsize,
}

/// Counts a call until it is dropped.
struct HangingCall(Arc<HangingCalls>);

impl Drop for HangingCall {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl HangingCalls {
    fn register(server: &TestServer) -> Arc<HangingCalls> {
        let calls = Arc::new(HangingCalls::default());
        let mut module = Module::default();
        let registered = Arc::clone(&calls);
        let added = module.functions.register_rpc("hang", move |_, _, _| {
            let calls = Arc::clone(&registered);
            let running = calls.running.fetch_add(1, Ordering::SeqCst) + 1;
            calls.running_max.fetch_max(running, Ordering::SeqCst);
            let call = HangingCall(calls);
            async move {
                let _call = call;
                std::future::pending().await
            }
        });
        added.expect("the name is free");
        server.services().calls.replace("test", module).expect("the module is good");
        calls
    }

    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }
}

fn hang(cid: impl std::fmt::Display) -> Vec<u8> {
    let text = json!({ "cid": cid.to_string(), "rpc": { "id": "hang" } }).to_string();
    masked(Opcode::Text, text.as_bytes())
}

/// Sends ten thousand requests at once. All but a few are refused, each at most once, and the flood is closed.
async fn flood(messages_per_second: u32, refusal: &str) {
    let server = TestServer::start(|config| {
        config.socket.messages_per_second = messages_per_second;
        config.socket.messages_burst = messages_per_second;
        config.socket.requests_max = 8;
    })
    .await;
    let calls = HangingCalls::register(&server);
    let [user, other] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let [mut socket, mut witness] = [server.socket(&user.token).await, server.socket(&other.token).await];
    let requests: Vec<u8> = (0..REQUESTS).flat_map(hang).collect();
    let flooding = async {
        socket.send_bytes(&requests).await;
        socket.closed().await
    };
    let witnessing = async {
        for _ in 0..20 {
            assert_eq!(witness.request(json!({ "ping": {} })).await, json!({ "pong": {} }), "meanwhile");
        }
    };
    let ((code, reason, answers), ()) = tokio::join!(flooding, witnessing);
    // The system may drop the close frame if the client still sends.
    assert!(matches!(code, Some(1000) | None), "{code:?} {reason}");
    let mut cids = BTreeSet::new();
    for answer in &answers {
        assert_eq!(
            (&answer["error"]["code"], &answer["error"]["message"]),
            (&json!(null), &json!(refusal)),
            "{answer}"
        );
        assert!(cids.insert(answer["cid"].to_string()), "answered twice: {answer}");
    }
    // 256 strikes, and what was read with the last of them.
    assert!(answers.len() <= 300, "{} answers", answers.len());
    let running_max = calls.running_max.load(Ordering::SeqCst);
    assert!((1..=8).contains(&running_max), "{running_max} functions ran at once");
    until("the end of the functions", || calls.running() == 0).await;
    until("the end of the connection", || server.connections() == 1).await;
    assert_eq!(witness.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_beyond_the_rate_are_refused_and_closed() {
    flood(40, "Too many messages. Send fewer per second.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_requests_within_the_rate_are_bounded_in_number() {
    flood(100_000, "Too many requests at once. Wait for answers before you send more.").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_that_never_end_are_stopped_in_time_and_others_follow() {
    let server = TestServer::start(|config| {
        config.http.request_seconds = 1;
        config.socket.requests_max = 4;
    })
    .await;
    let calls = HangingCalls::register(&server);
    let [mut user, other] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let [mut socket, mut witness] = [server.socket(&user.token).await, server.socket(&other.token).await];
    let requests: Vec<u8> = (0..6).flat_map(hang).collect();
    socket.send_bytes(&requests).await;
    socket.send(&json!({ "cid": "ping", "ping": {} })).await;
    until("as many functions as run at a time", || calls.running() == 4).await;
    assert_eq!(witness.request(json!({ "ping": {} })).await, json!({ "pong": {} }), "meanwhile");
    let mut stopped = BTreeSet::new();
    for _ in 0..7 {
        let answer = socket.next().await;
        if answer["cid"] != "ping" {
            let text = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(answer["error"]["code"] == 7 && text.contains("took too long"), "{answer}");
            stopped.insert(answer["cid"].to_string());
        }
    }
    assert_eq!(stopped.len(), 6, "each is answered");
    assert_eq!((calls.running(), calls.running_max.load(Ordering::SeqCst)), (0, 4));
    let answer = user.post("/v2/rpc/hang", &json!("")).await.expect("the server answers");
    assert_eq!(answer.status, 408, "over HTTP too: {}", answer.body);
    until("the end of the function", || calls.running() == 0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_end_with_their_connection() {
    let server = TestServer::start(|_| {}).await;
    let calls = HangingCalls::register(&server);
    let user = ApiClient::new_user(server.http).await;
    let mut socket = server.socket(&user.token).await;
    let requests: Vec<u8> = (0..3).flat_map(hang).collect();
    socket.send_bytes(&requests).await;
    until("the functions run", || calls.running() == 3).await;
    drop(socket);
    until("the functions ended", || calls.running() == 0).await;
    server.stop().await;
}
