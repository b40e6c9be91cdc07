//! Malformed, unknown, oversized and excessive messages: answered as the protocol says, and nobody else is disturbed.

use aether_messages::api::Rpc;
use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{Envelope, Ping, StatusUnfollow};
use aether_testkit_server::{ApiClient, ServicesSocket, SocketInput, TestServer};
use serde_json::{Value, json};

/// Starts a server with a second client that must not notice anything.
pub(super) async fn server_and_witness() -> (TestServer, ApiClient, ServicesSocket) {
    let server = TestServer::start(|_| {}).await;
    let [user, other] = [ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await];
    let witness = server.socket(&other.token).await;
    (server, user, witness)
}

pub(super) async fn assert_undisturbed(server: TestServer, mut witness: ServicesSocket) {
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
    for text in [r#"{"ping":{}}{"ping":{}}"#, r#"[{"ping":{}}]"#, "{\"ping\":{}}\n{\"ping\":{}}", r#"{"pings":{}}"#] {
        let mut socket = server.socket(&user.token).await;
        socket.send_text(text).await;
        let (code, reason, messages) = socket.closed().await;
        assert_eq!((code, messages.len()), (Some(1000), 0), "a frame is one message: {text}: {reason}");
    }
    assert_undisturbed(server, witness).await;
}

async fn protobuf_socket(server: &TestServer, user: &ApiClient) -> ServicesSocket {
    let query = format!("?token={}&format=protobuf", user.token);
    ServicesSocket::open(server.http, &query, "").await.expect("it is admitted")
}

fn envelope(cid: &str, message: Message) -> Vec<u8> {
    Envelope { cid: cid.to_owned(), message: Some(message) }.encode_to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_protobuf_frame_closes_the_connection_with_a_reason() {
    let (server, user, witness) = server_and_witness().await;
    let long_cid = envelope(&"x".repeat(129), Message::Ping(Ping {}));
    let many = envelope("1", Message::StatusUnfollow(StatusUnfollow { user_ids: vec![String::new(); 1_001] }));
    let rpc = envelope("1", Message::Rpc(Rpc { id: "missing".to_owned(), ..Rpc::default() }));
    let cases: [(&str, &[u8]); 9] = [
        ("an endless number", &[0xff; 11]),
        ("a cut tag", &[0xff, 0xff, 0xff]),
        ("a length beyond the frame", &[0x0a, 0x05, b'1']),
        ("a cid that is a number", &[0x08, 0x01]),
        ("a cid that is not UTF-8", &[0x0a, 0x02, 0xff, 0xfe]),
        ("field number zero", &[0x00, 0x01]),
        ("a cut message", &rpc[..rpc.len() - 1]),
        ("a long cid", &long_cid),
        ("too many elements", &many),
    ];
    for (name, bytes) in cases {
        let mut socket = protobuf_socket(&server, &user).await;
        socket.send_binary(bytes).await;
        let mut inputs = Vec::new();
        while let Some(input) = socket.input().await {
            inputs.push(input);
        }
        let is_closed =
            matches!(&inputs[..], [SocketInput::Close(Some(1000), reason)] if reason.starts_with("malformed message"));
        assert!(is_closed, "{name}: {inputs:?}");
    }
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protobuf_without_a_known_message_is_answered_and_the_last_of_several_counts() {
    let (server, user, witness) = server_and_witness().await;
    // Field 99 is of a later version, or of nobody.
    for bytes in [&b""[..], &[0x0a, 0x01, b'7'], &[0x0a, 0x01, b'7', 0x9a, 0x06, 0x00]] {
        let mut socket = protobuf_socket(&server, &user).await;
        socket.send_binary(bytes).await;
        let Some(SocketInput::Binary(answer)) = socket.input().await else { panic!("there is an answer") };
        let answer = Envelope::decode(&*answer).expect("answers are envelopes");
        assert_eq!(answer.cid, if bytes.is_empty() { "" } else { "7" });
        let Some(Message::Error(error)) = answer.message else { panic!("{answer:?}") };
        assert_eq!((error.code, &*error.message), (2, "Missing message."));
        assert!(matches!(socket.input().await, Some(SocketInput::Close(Some(1000), _))));
    }
    // Two envelopes in one frame are one envelope, as in all of protobuf.
    let mut socket = protobuf_socket(&server, &user).await;
    let rpc = Message::Rpc(Rpc { id: "missing".to_owned(), ..Rpc::default() });
    socket.send_binary(&[envelope("1", rpc), envelope("2", Message::Ping(Ping {}))].concat()).await;
    socket.send_binary(&envelope("3", Message::Ping(Ping {}))).await;
    for cid in ["2", "3"] {
        let Some(SocketInput::Binary(answer)) = socket.input().await else { panic!("there is an answer") };
        let answer = Envelope::decode(&*answer).expect("answers are envelopes");
        assert!(answer.cid == cid && matches!(answer.message, Some(Message::Pong(_))), "{answer:?}");
    }
    assert_undisturbed(server, witness).await;
}

/// Messages that only the server sends. `pong` is also ignored.
const OF_THE_SERVER: [&str; 21] = [
    "channel",
    "channel_message",
    "channel_message_ack",
    "channel_presence_event",
    "error",
    "match",
    "match_data",
    "match_presence_event",
    "matchmaker_matched",
    "matchmaker_ticket",
    "notifications",
    "status",
    "status_presence_event",
    "stream_data",
    "stream_presence_event",
    "party",
    "party_leader",
    "party_join_request",
    "party_matchmaker_ticket",
    "party_data",
    "party_presence_event",
];

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_the_server_are_unrecognized_from_a_client() {
    let (server, user, witness) = server_and_witness().await;
    for name in OF_THE_SERVER {
        let mut socket = server.socket(&user.token).await;
        socket.send(&json!({ "cid": "1", name: {} })).await;
        let (code, _, messages) = socket.closed().await;
        assert_eq!(code, Some(1000), "{name}");
        let expected = json!({ "cid": "1", "error": { "code": 1, "message": "Unrecognized message." } });
        assert_eq!(messages, [expected], "{name}");
    }
    assert_undisturbed(server, witness).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_beyond_the_limit_closes_the_connection() {
    let (server, user, witness) = server_and_witness().await;
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
        socket.send(&json!({ "cid": "7", "ping": {} })).await;
        let (code, _, messages) = socket.closed().await;
        assert_eq!(code, Some(1000));
        let answers: Vec<&Value> = messages.iter().filter(|message| message.get("cid").is_some()).collect();
        assert_eq!(answers, [&json!({ "cid": "4", "pong": {} }), &expected], "answers keep the order of the messages");
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
