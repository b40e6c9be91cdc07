//! Join metadata: from the hello to the game, over every transport and encoding.

use aether_outpost_rules::{Body, Play, Presence};
use aether_testkit_server::seeing_player::{SeeingPlayer, hello, of_type, outpost};
use aether_testkit_server::{
    ApiClient, Connection, DEADLINE, DeliveryPath, Encoding, JSON, PROTOBUF, TRANSPORTS, TestServer,
};
use aether_wire::{ErrorCode, ErrorNotice, Hello, JoinMetadata, ServerMessage, Token};
use serde_json::{Value, json};
use tokio::time::timeout;

/// Code of the message `Play` in Outpost.
const PLAY: u16 = 2;

/// Creates a profile.
async fn create(client: &mut ApiClient, id: &str, name: &str, data: Value) {
    let body = json!({ "id": id, "name": name, "data": data });
    let answer = client.post("/v2/profile", &body).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
}

fn with(hello: Hello, metadata: impl Into<JoinMetadata>) -> Hello {
    Hello { metadata: metadata.into(), ..hello }
}

/// Waits until a player is shown with a name, and returns its appearance.
async fn shown(player: &mut SeeingPlayer, name: &str) -> u8 {
    let named = |mirror: &aether_replication::Mirror| {
        let mut presences = mirror.entities().filter_map(|entity| mirror.get::<Presence>(entity));
        presences.find(|presence| presence.name == name).map(|presence| presence.appearance)
    };
    player.until(name, named).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_joins_as_the_profile_of_its_metadata_and_changes_it() {
    let server = TestServer::start(|_| {}).await;
    let mut client = ApiClient::new_user(server.http).await;
    create(&mut client, "mage", "Ända the Grey", json!({ "appearance": 6 })).await;
    create(&mut client, "thief", "Quick Hands", json!({ "appearance": 2 })).await;
    let token = Token::new(client.token.clone());
    let hello = with(hello(token, of_type("outpost")), [("profile", "mage"), ("unknown", "ignored")]);
    let mut ann = SeeingPlayer::join(server.http, &hello, outpost()).await.expect("the join is accepted");
    assert_eq!(shown(&mut ann, "Ända the Grey").await, 6);
    ann.command(PLAY, &Play { profile: "thief".to_owned() }).await.expect("the choice is accepted");
    assert_eq!(shown(&mut ann, "Quick Hands").await, 2);
    // A profile that the account does not have leads to the active one, which has the account's name.
    ann.command(PLAY, &Play { profile: "stolen".to_owned() }).await.expect("the choice is accepted");
    let body = ann.player.welcome.player.0;
    let account = client.get("/v2/account").await.expect("the server answers").json();
    let username = account["user"]["username"].as_str().expect("the account has a name").to_owned();
    shown(&mut ann, &username).await;
    let own = |mirror: &aether_replication::Mirror| {
        mirror.entities().filter_map(|entity| mirror.get::<Body>(entity)).find(|it| it.player == body).cloned()
    };
    assert_eq!(ann.until("its body", own).await.health, 100);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_gets_a_default_character() {
    let server = TestServer::start(|_| {}).await;
    let hello =
        Hello { token: Some(server.sign(|claims| claims.name = "Wanderer".to_owned())), ..server.hello("outpost") };
    let mut guest = SeeingPlayer::join(server.http, &with(hello, [("profile", "mage")]), outpost())
        .await
        .expect("the join is accepted");
    shown(&mut guest, "Wanderer").await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_refuses_a_join_by_its_metadata_and_the_client_sees_the_reason() {
    let server = TestServer::start(|_| {}).await;
    let hello = with(server.hello("outpost"), [("profile", "p".repeat(65))]);
    for transport in TRANSPORTS {
        for encoding in [PROTOBUF, JSON] {
            let refused = server.try_join(transport, encoding, &hello).await;
            let notice = refused.err().expect("the game refuses the join");
            assert_eq!(notice.code, ErrorCode::BadValue);
            assert!(notice.message.contains("`profile` in the join metadata is longer than 64 bytes"), "{notice:?}");
        }
    }
    server.stop().await;
}

/// Sends a frame as the first one and returns the server's notice.
async fn notice(server: &TestServer, encoding: Encoding, frame: &[u8]) -> ErrorNotice {
    let mut client: Connection = server.connector(encoding).open(TRANSPORTS[0]).await.expect("it opens");
    client.send_frame(DeliveryPath::Reliable, frame).await.expect("the frame is sent");
    let answer = timeout(DEADLINE, client.next_message()).await.expect("the server answers in time");
    match answer {
        Ok(ServerMessage::Error(notice)) => notice,
        other => panic!("a notice was expected: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_beyond_its_limits_is_answered_with_the_reason() {
    let server = TestServer::start(|_| {}).await;
    let many: serde_json::Map<String, Value> = (0..17).map(|number| (number.to_string(), json!(""))).collect();
    let long = "x".repeat(512);
    let cases = [
        (Value::Object(many).to_string(), "The list `metadata` has more than 16 elements."),
        (r#"{"team":"red","team":"blue"}"#.to_owned(), "A key of `metadata` occurs twice."),
        (r#"{"":"red"}"#.to_owned(), "The field `metadata key` is missing."),
        (format!(r#"{{"{}":"red"}}"#, "k".repeat(65)), "The field `metadata key` has more than 64 bytes."),
        (format!(r#"{{"team":"{long}x"}}"#), "The field `metadata value` has more than 512 bytes."),
        (format!(r#"{{"a":"{long}","b":"{long}"}}"#), "The field `metadata` has more than 1024 bytes."),
    ];
    for (metadata, sentence) in cases {
        let frame = format!(r#"{{"v":2,"kind":"hello","payload":{{"metadata":{metadata}}}}}"#);
        let notice = notice(&server, JSON, frame.as_bytes()).await;
        assert_eq!((notice.code, notice.message.as_str(), notice.fatal), (ErrorCode::BadMessage, sentence, false));
    }
    // Protobuf: protocol 2 and the entry a = b, twice.
    let entry = [0x4a, 6, 0x0a, 1, b'a', 0x12, 1, b'b'];
    let hello = [&[0x08, 2][..], &entry, &entry].concat();
    let frame = [&[0x0a, hello.len() as u8][..], &hello].concat();
    let notice = notice(&server, PROTOBUF, &frame).await;
    assert_eq!((notice.code, notice.message.as_str()), (ErrorCode::BadMessage, "A key of `metadata` occurs twice."));
    server.stop().await;
}
