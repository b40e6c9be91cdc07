//! Malformed, unknown, oversized and excessive messages: answered as the protocol says, and nobody else is disturbed.

use aether_testkit_server::{ApiClient, ServicesSocket, TestServer};
use serde_json::{Value, json};

/// Starts a server with a second client that must not notice anything.
async fn server_and_witness() -> (TestServer, ApiClient, ServicesSocket) {
    let server = TestServer::start(|_| {}).await;
    let [user, other] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let witness = server.socket(&other.token).await;
    (server, user, witness)
}

async fn assert_undisturbed(server: TestServer, mut witness: ServicesSocket) {
    assert_eq!(witness.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_frame_closes_the_connection_with_a_reason() {
    let (server, user, witness) = server_and_witness().await;
    let long_cid = json!({ "ping": {}, "cid": "x".repeat(129) }).to_string();
    let many = json!({ "status_unfollow": { "user_ids": vec![""; 1_001] } }).to_string();
    let deep = format!("{}1", "[".repeat(2_000));
    for text in ["", "{", "null", r#"{"ping":{},"cid":1}"#, r#"{"ping":{},"pong":{}}"#, r#"{"ping":{"more":1}}"#]
        .into_iter()
        .chain([&*long_cid, &*many, &*deep])
    {
        let mut socket = server.socket(&user.token).await;
        socket.send_text(text).await;
        let (code, reason, messages) = socket.closed().await;
        assert_eq!((code, &messages[..]), (Some(1000), &[][..]), "{text:.50}: {reason}");
        assert!(reason.starts_with("malformed message"), "{text:.50}: {reason}");
    }
    let query = format!("?token={}&format=protobuf", user.token);
    let mut socket = ServicesSocket::open(server.http, &query, "").await.expect("it is admitted");
    socket.send_binary(&[0xff, 0xff, 0xff]).await;
    let (code, reason, _) = socket.closed().await;
    assert!(code == Some(1000) && reason.starts_with("malformed message"), "{code:?} {reason}");
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_the_wrong_type_or_size_closes_the_connection() {
    let (server, user, witness) = server_and_witness().await;
    let mut socket = server.socket(&user.token).await;
    socket.send_binary(b"{}").await;
    assert!(matches!(socket.closed().await, (Some(1002 | 1003), _, _)));

    let mut socket = server.socket(&user.token).await;
    let large = json!({ "rpc": { "id": "missing", "payload": "x".repeat(32_768) } });
    let answer = socket.request(large).await;
    assert_eq!(answer["error"]["code"], 6, "a message beyond 4096 bytes is handled: {answer}");
    socket.send(&json!({ "rpc": { "id": "missing", "payload": "x".repeat(65_536) } })).await;
    assert_eq!(socket.closed().await.0, Some(1009), "a message beyond the limit is too large");
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_and_unrecognized_messages_are_answered_and_close_the_connection() {
    let (server, user, witness) = server_and_witness().await;
    let cases = [
        (json!({ "cid": "5" }), json!({ "cid": "5", "error": { "code": 2, "message": "Missing message." } })),
        (
            json!({ "cid": "6", "match_presence_event": { "match_id": "m." } }),
            json!({ "cid": "6", "error": { "code": 1, "message": "Unrecognized message." } }),
        ),
    ];
    for (message, expected) in cases {
        let mut socket = server.socket(&user.token).await;
        socket.send(&json!({ "cid": "4", "ping": {} })).await;
        socket.send(&message).await;
        let (code, _, messages) = socket.closed().await;
        assert_eq!(code, Some(1000));
        assert_eq!(messages.last(), Some(&expected));
    }
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_values_are_answered_and_the_connection_stays_open() {
    let (server, user, witness) = server_and_witness().await;
    let mut socket = server.socket(&user.token).await;
    let long = "x".repeat(2_049);
    let cases = [
        (json!({ "status_follow": { "user_ids": ["no id"] } }), json!(3)),
        (json!({ "status_update": { "status": long } }), json!(3)),
        (json!({ "rpc": { "payload": "x" } }), json!(3)),
        (json!({ "rpc": { "id": "unknown" } }), json!(6)),
        (json!({ "party_create": { "open": true, "max_size": 2 } }), Value::Null),
    ];
    for (message, code) in cases {
        let answer = socket.request(message.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{message}: {answer}");
        assert_ne!(answer["error"]["message"], "", "{message}");
    }
    socket.send(&json!({ "pong": {} })).await;
    assert_eq!(socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_beyond_the_rate_are_answered_with_an_error_and_a_flood_is_closed() {
    let (server, user, witness) = server_and_witness().await;
    let mut socket = server.socket(&user.token).await;
    let burst: Vec<u8> = (0..100)
        .flat_map(|cid| {
            let text = json!({ "ping": {}, "cid": format!("b{cid}") }).to_string();
            aether_testkit_server::masked(aether_framing::websocket::codec::Opcode::Text, text.as_bytes())
        })
        .collect();
    socket.send_bytes(&burst).await;
    let mut answers = Vec::new();
    for _ in 0..100 {
        answers.push(socket.next().await);
    }
    let pongs = answers.iter().filter(|answer| answer.get("pong").is_some()).count();
    let excess =
        answers.iter().filter(|answer| answer["error"]["message"] == "Too many messages. Send fewer per second.");
    assert!((40..100).contains(&pongs), "the burst is 40, and some refill: {pongs}");
    assert_eq!(pongs + excess.count(), 100, "every cid is answered");
    let mut cids: Vec<_> = answers.iter().map(|answer| answer["cid"].as_str().expect("a cid").to_owned()).collect();
    cids.sort();
    cids.dedup();
    assert_eq!(cids.len(), 100, "each once");

    for _ in 0..20 {
        socket.send_bytes(&burst).await;
    }
    let (code, _, _) = socket.closed().await;
    assert_eq!(code, Some(1000), "a flood is closed");
    assert_undisturbed(server, witness).await;
}
