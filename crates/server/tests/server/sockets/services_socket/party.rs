//! Parties behind the socket: limits, presences in the router, and floods.

use aether_framing::websocket::codec::Opcode;
use aether_server::services::party::NewParty;
use aether_server::services::party::limits::{DATA_BYTES_MAX, LABEL_BYTES_MAX, PARTIES_PER_SESSION_MAX};
use aether_server::services::router::{PresenceMeta, STREAMS_PER_SESSION_MAX, Shown, StreamId, mode};
use aether_testkit_server::{ApiClient, ServicesSocket, TestServer, masked, until};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use uuid::Uuid;

/// Joins of a flood.
const JOINS: u32 = 20;

/// Opens a socket of a new user, and returns its session.
async fn member(server: &TestServer) -> (ServicesSocket, Uuid) {
    let user = ApiClient::new_user(server.http).await;
    let mut socket = server.socket(&user.token).await;
    socket.request(json!({ "ping": {} })).await;
    let stream = StreamId::notifications(Uuid::try_parse(&user.user).expect("ids are ids"));
    let session = server.services().router.list(&stream, Shown::All)[0].socket.session;
    (socket, session)
}

async fn create(socket: &mut ServicesSocket) -> String {
    let answer = socket.request(json!({ "party_create": { "open": true, "max_size": 4 } })).await;
    answer["party"]["party_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn message_of(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_present_in_the_stream_of_the_party() {
    let server = TestServer::start(|_| {}).await;
    let [(mut ann, _), (mut bob, session)] = [member(&server).await, member(&server).await];
    let party_id = create(&mut ann).await;
    assert_eq!(bob.request(json!({ "party_join": { "party_id": party_id } })).await, json!({}));
    let (id, node) = party_id.split_once('.').expect("an id ends with the node");
    let subject = Uuid::try_parse(id).expect("an id begins with a UUID");
    let stream = StreamId { mode: mode::PARTY, subject, label: node.to_owned(), ..StreamId::default() };
    let router = &server.services().router;
    assert_eq!(router.count(&stream), 2);
    assert!(router.find(session, &stream).is_some());
    assert_eq!(server.metric("aether_parties", &[]), 1.0);
    drop(bob);
    until("the end of bob", || router.count(&stream) == 1).await;
    assert_eq!(ann.request(json!({ "party_close": { "party_id": party_id } })).await, json!({}));
    assert_eq!(router.count(&stream), 0);
    assert_eq!(server.metric("aether_parties", &[]), 0.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parties_of_a_session_are_limited() {
    let server = TestServer::start(|_| {}).await;
    let (mut ann, session) = member(&server).await;
    let new = NewParty { open: true, max_size: 2, ..NewParty::default() };
    for _ in 0..PARTIES_PER_SESSION_MAX {
        server.services().parties.create(session, new.clone()).expect("the session has room");
    }
    let create = json!({ "party_create": { "open": true, "max_size": 2 } });
    assert_eq!(message_of(&ann.request(create).await), "Too many parties. Leave one of your 8 first.");
    let (_bob, other) = member(&server).await;
    let foreign = server.services().parties.create(other, new.clone()).expect("another session has room");
    let join = json!({ "party_join": { "party_id": foreign.info.party_id } });
    assert!(message_of(&ann.request(join).await).starts_with("Too many parties."));
    drop(ann);
    until("the end of the parties", || server.services().parties.len() == 1).await;
    let gone = server.services().parties.create(session, new).expect_err("the session has ended");
    assert!(gone.message.contains("not connected"), "{gone}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_in_too_many_streams_creates_and_joins_no_party() {
    let server = TestServer::start(|_| {}).await;
    let [(mut ann, session), (mut bob, _)] = [member(&server).await, member(&server).await];
    let router = &server.services().router;
    let zone = |number: usize| StreamId { mode: mode::GAME_MIN, label: number.to_string(), ..StreamId::default() };
    let added = (0..STREAMS_PER_SESSION_MAX).take_while(|number| {
        let meta = PresenceMeta { hidden: true, ..PresenceMeta::default() };
        router.track(session, &zone(*number), meta).is_ok()
    });
    assert_eq!(added.count(), STREAMS_PER_SESSION_MAX - 1, "one is that of the user");
    let answer = ann.request(json!({ "party_create": { "open": true, "max_size": 2 } })).await;
    assert!(message_of(&answer).contains("at most 128 streams"), "{answer}");
    assert!(server.services().parties.is_empty());
    let party_id = create(&mut bob).await;
    let answer = ann.request(json!({ "party_join": { "party_id": party_id } })).await;
    assert!(message_of(&answer).contains("at most 128 streams"), "{answer}");
    router.untrack(session, &zone(0));
    assert_eq!(ann.request(json!({ "party_join": { "party_id": party_id } })).await, json!({}), "it is no member yet");
    let state = ann.next().await;
    assert_eq!(state["party"]["presences"].as_array().map(Vec::len), Some(2), "{state}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn data_and_labels_are_limited_and_data_has_no_answer() {
    let server = TestServer::start(|_| {}).await;
    let [(mut ann, _), (mut bob, _), (mut cid, _)] =
        [member(&server).await, member(&server).await, member(&server).await];
    let party_id = create(&mut ann).await;
    bob.request(json!({ "party_join": { "party_id": party_id } })).await;
    let data = |bytes: usize| {
        let data = STANDARD.encode(vec![7; bytes]);
        json!({ "party_data_send": { "party_id": party_id, "op_code": "5", "data": data } })
    };
    ann.send(&data(DATA_BYTES_MAX)).await;
    let received = loop {
        let message = bob.next().await;
        if message["party_data"].is_object() {
            break message["party_data"].clone();
        }
    };
    assert_eq!((&received["party_id"], &received["op_code"]), (&json!(party_id), &json!("5")));
    assert_eq!(received["data"].as_str().map(str::len), Some(STANDARD.encode([0; DATA_BYTES_MAX]).len()));
    let event = ann.next().await;
    assert!(event["party_presence_event"].is_object(), "no answer to data: {event}");
    assert_eq!(
        message_of(&ann.request(data(DATA_BYTES_MAX + 1)).await),
        "The party data has 4097 bytes. Use at most 4096."
    );
    assert_eq!(message_of(&cid.request(data(1)).await), "Party member not found.");
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(LABEL_BYTES_MAX));
    for (label, text) in [(long.as_str(), "The party label has"), ("[]", "Invalid party label")] {
        let update = json!({ "party_update": { "party_id": party_id, "label": label } });
        assert!(message_of(&ann.request(update).await).starts_with(text), "{label}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_without_end_are_refused_by_rate_and_others_are_served() {
    let server = TestServer::start(|_| {}).await;
    let [(mut ann, _), (mut bob, _)] = [member(&server).await, member(&server).await];
    let party_id = create(&mut ann).await;
    // Fewer than the burst of usual messages, in one write.
    let frames = (0..JOINS).flat_map(|number| {
        let join = json!({ "cid": format!("join{number}"), "party_join": { "party_id": party_id } });
        masked(Opcode::Text, join.to_string().as_bytes())
    });
    bob.send_bytes(&frames.collect::<Vec<u8>>()).await;
    let (mut answers, mut refused) = (0, 0);
    while answers < JOINS {
        let message = bob.next().await;
        if message["cid"].is_string() {
            answers += 1;
            refused += u32::from(message["error"]["message"] == "Too many messages. Send fewer per second.");
        }
    }
    assert!(refused > 0, "the rate of joins is that of costly messages");
    assert_eq!(ann.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    server.stop().await;
}
