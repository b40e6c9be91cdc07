//! Matches over the services socket: games behind op codes, members of both protocols, refusals, limits, and the end.

use crate::sockets::runtime_game::{config, connector};
use aether_bits::Replicate;
use aether_engine::{Context, Game, GameSchemaBuilder, JoinRequest, PlayerMessage, Rejection, RoomSettings};
use aether_server::config::Config;
use aether_server::services::matches::{MatchFilter, NewMatch};
use aether_server::{RunningServer, Server};
use aether_testkit_server::{ApiClient, PROTOBUF, ServicesSocket, TRANSPORTS, TestPlayer, TestServer, TransportKind};
use aether_wire::{
    ClientMessage, CommandSeq, ErrorCode, Event, GameBody, GameMessage, Hello, PlayerId, RoomId, RoomSelector,
    ServerMessage, Token,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Op codes of the game.
const ECHO: u16 = 1;
const WHISPER: u16 = 2;
const KICK_ME: u16 = 3;
const LABEL: u16 = 4;
const END: u16 = 5;

#[derive(Clone, Replicate)]
struct Nothing {
    value: u8,
}

/// Answers op codes, and tells all players who joined and left.
struct Talk;

impl Game for Talk {
    type Input = Nothing;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Nothing>()
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        match request.metadata.get("password") {
            Some("wrong") => Err(Rejection::new(ErrorCode::JoinRefused, "the password is wrong")),
            _ => Ok(()),
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let _ = room.world.spawn(Nothing { value: 7 });
        let who = format!("joined {}", player.0);
        room.broadcast_data(100, who.into_bytes(), None);
    }

    fn resumed(&mut self, room: &mut Context<'_>, player: PlayerId) {
        room.broadcast_data(101, format!("resumed {}", player.0).into_bytes(), None);
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: aether_wire::CloseReason) {
        room.broadcast_data(102, format!("left {}", player.0).into_bytes(), None);
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Nothing) {}

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        let data = message.payload().to_vec();
        match message.code() {
            ECHO => room.broadcast_data(ECHO, data, Some(player)),
            WHISPER => room.send_data(&[player], WHISPER, data, None),
            KICK_ME => room.kick(player),
            LABEL => room.set_label(String::from_utf8_lossy(&data).into_owned()),
            END => room.end(),
            code => room.send_data(&[player], code, data, None),
        }
        Ok(())
    }

    fn tick(&mut self, _room: &mut Context<'_>) {}

    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        room.broadcast_data(103, data.to_vec(), None);
        data.to_ascii_uppercase()
    }
}

/// A server with the game, on a database in memory.
struct Talking {
    running: RunningServer,
    folder: PathBuf,
}

impl Talking {
    async fn start(change: impl FnOnce(&mut Config)) -> Talking {
        let (mut config, folder) = config();
        change(&mut config);
        let settings = RoomSettings { interest: None, resume_ticks: 40 * 60, ..RoomSettings::default() };
        let server = Server::new("talk", "1.0.0").game("talk", settings, || Talk);
        Talking { running: server.start(config).await.expect("it starts"), folder }
    }

    /// Creates a match and returns its id.
    async fn create(&self, label: &str) -> String {
        let matches = self.running.services().matches().expect("rooms are hosted");
        matches.create("talk", label).await.expect("it is created").id
    }

    async fn player(&self) -> Member {
        let client = ApiClient::new_user(self.running.http).await;
        let socket = ServicesSocket::connect(self.running.http, &client.token).await;
        Member { client, socket }
    }

    async fn stop(self) {
        self.running.stop(Duration::ZERO).await;
        let _ = std::fs::remove_dir_all(self.folder);
    }
}

/// A user with a socket.
struct Member {
    client: ApiClient,
    socket: ServicesSocket,
}

impl Member {
    async fn join(&mut self, id: &str) -> Value {
        self.socket.request(json!({ "match_join": { "match_id": id } })).await
    }

    async fn send(&mut self, id: &str, op_code: u16, data: &str) {
        let data = STANDARD.encode(data);
        let message = json!({ "match_id": id, "op_code": op_code.to_string(), "data": data });
        self.socket.send(&json!({ "match_data_send": message })).await;
    }

    /// Returns the next match data with an op code: the sender's user, and the text.
    async fn data(&mut self, op_code: u16) -> (Option<String>, String) {
        loop {
            let message = self.socket.next().await;
            let data = &message["match_data"];
            if data["op_code"].as_str() == Some(op_code.to_string().as_str()) {
                let bytes = STANDARD.decode(data["data"].as_str().unwrap_or_default()).expect("data is base64");
                let sender = data["presence"]["user_id"].as_str().map(ToOwned::to_owned);
                return (sender, String::from_utf8(bytes).expect("the game sends texts"));
            }
        }
    }

    /// Returns the users of the next presence event with joins or leaves of others.
    async fn presence(&mut self, kind: &str) -> Vec<String> {
        loop {
            let message = self.socket.next().await;
            let presences = message["match_presence_event"][kind].as_array().cloned().unwrap_or_default();
            if !presences.is_empty() {
                let user = |presence: &Value| presence["user_id"].as_str().expect("a user").to_owned();
                return presences.iter().map(user).collect();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn op_codes_reach_the_game_and_come_back_to_all_or_to_some() {
    let server = Talking::start(|_| {}).await;
    let id = server.create("first").await;
    let (mut ann, mut bob) = (server.player().await, server.player().await);
    let joined = ann.join(&id).await;
    assert_eq!(joined["match"]["authoritative"], true, "{joined}");
    assert_eq!((&joined["match"]["label"], &joined["match"]["match_id"]), (&json!("first"), &json!(id)));
    assert_eq!(ann.data(100).await, (None, "joined 1".to_owned()));
    let joined = bob.join(&id).await;
    assert_eq!(joined["match"]["presences"][0]["user_id"], json!(ann.client.user), "{joined}");
    ann.send(&id, ECHO, "hello").await;
    for member in [&mut ann, &mut bob] {
        assert_eq!(member.data(ECHO).await.1, "hello", "a broadcast of the game reaches the sender too");
    }
    bob.send(&id, WHISPER, "secret").await;
    assert_eq!(bob.data(WHISPER).await, (None, "secret".to_owned()));
    bob.send(&id, ECHO, "from bob").await;
    assert_eq!(ann.data(ECHO).await, (Some(bob.client.user.clone()), "from bob".to_owned()), "the secret is not ann's");
    for (op_code, data, error) in [("65536", "", "65535"), ("-1", "", "65535"), ("1", &"x".repeat(44_000), "32768")] {
        let message = json!({ "match_id": id, "op_code": op_code, "data": data });
        let answer = ann.socket.request(json!({ "match_data_send": message })).await;
        let text = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(answer["error"]["code"] == 3 && text.contains(error), "{answer}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_refuses_a_join_with_its_reason_and_reads_the_metadata() {
    let server = Talking::start(|_| {}).await;
    let id = server.create("").await;
    let mut ann = server.player().await;
    let join = |metadata: Value| json!({ "match_join": { "match_id": id, "metadata": metadata } });
    let refused = ann.socket.request(join(json!({ "password": "wrong" }))).await;
    assert_eq!(refused["error"]["code"], 5, "{refused}");
    assert_eq!(refused["error"]["message"], "the password is wrong");
    let many: serde_json::Map<String, Value> = (0..17).map(|key| (key.to_string(), json!("x"))).collect();
    let refused = ann.socket.request(join(many.into())).await;
    assert_eq!(refused["error"]["code"], 3, "{refused}");
    let joined = ann.socket.request(join(json!({ "password": "right" }))).await;
    assert_eq!(joined["match"]["size"], 1, "{joined}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kicked_member_and_the_end_of_a_match_are_announced() {
    let server = Talking::start(|_| {}).await;
    let id = server.create("").await;
    let (mut ann, mut bob, mut eve) = (server.player().await, server.player().await, server.player().await);
    for member in [&mut ann, &mut bob, &mut eve] {
        member.join(&id).await;
    }
    bob.send(&id, KICK_ME, "").await;
    assert_eq!(bob.presence("leaves").await, std::slice::from_ref(&bob.client.user), "the member itself is told");
    assert_eq!(ann.presence("leaves").await, std::slice::from_ref(&bob.client.user));
    let matches = server.running.services().matches().expect("rooms are hosted");
    let user = eve.client.user.parse().expect("an id");
    assert_eq!(matches.kick(&id, user), Ok(1));
    assert_eq!(eve.presence("leaves").await, std::slice::from_ref(&bob.client.user));
    assert_eq!(eve.presence("leaves").await, std::slice::from_ref(&eve.client.user));
    assert_eq!(bob.join(&id).await["match"]["size"], 2, "a kicked player may join again");
    assert_eq!(matches.signal(&id, b"go".to_vec()).await, Ok(b"GO".to_vec()));
    assert_eq!(ann.data(103).await.1, "go");
    ann.send(&id, END, "").await;
    while !ann.presence("leaves").await.contains(&ann.client.user) {}
    let gone = ann.join(&id).await;
    assert_eq!(gone["error"]["code"], 4, "{gone}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_who_reconnects_is_the_same_player_until_the_time_is_over() {
    let server = Talking::start(|_| {}).await;
    let id = server.create("").await;
    let (mut ann, bob) = (server.player().await, server.player().await);
    let Member { client, mut socket } = bob;
    ann.join(&id).await;
    socket.request(json!({ "match_join": { "match_id": id } })).await;
    assert_eq!(ann.presence("joins").await, std::slice::from_ref(&ann.client.user));
    assert_eq!(ann.presence("joins").await, std::slice::from_ref(&client.user));
    drop(socket);
    assert_eq!(ann.presence("leaves").await, std::slice::from_ref(&client.user), "others see that it is away");
    let mut bob = Member { socket: ServicesSocket::connect(server.running.http, &client.token).await, client };
    let joined = bob.join(&id).await;
    assert_eq!(joined["match"]["size"], 2, "{joined}");
    assert_eq!(ann.data(101).await.1, "resumed 2", "the game has not seen it leave");
    let left = bob.socket.request(json!({ "match_leave": { "match_id": id } })).await;
    assert_eq!(left, json!({}));
    assert_eq!(ann.data(102).await.1, "left 2", "who leaves does not stay");
    bob.join(&id).await;
    assert_eq!(ann.data(100).await.1, "joined 3");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_are_listed_at_once_and_found_by_queries_and_tick_rates_are_per_match() {
    let server = Talking::start(|_| {}).await;
    let services = server.running.services();
    let matches = services.matches().expect("rooms are hosted");
    let new = |label: &str, tick_hz| NewMatch {
        match_type: "talk".to_owned(),
        label: label.to_owned(),
        tick_hz,
        ..NewMatch::default()
    };
    let duel = matches.create_with(&new(r#"{"mode":"duel","rank":5}"#, Some(10))).await.expect("it is created");
    let race = matches.create_with(&new(r#"{"mode":"race","rank":9}"#, None)).await.expect("it is created");
    matches.create_with(&new("no object", None)).await.expect("it is created");
    assert_eq!((duel.tick_hz, race.tick_hz), (10, 40));
    for (tick_hz, match_type) in [(0, "talk"), (129, "talk")] {
        let bad = NewMatch { match_type: match_type.to_owned(), tick_hz: Some(tick_hz), ..NewMatch::default() };
        assert!(matches.create_with(&bad).await.is_err(), "{tick_hz}");
    }
    let mut ann = server.player().await;
    let mut found = async |query: &str| {
        let path = format!("/v2/match?limit=10&authoritative=true&query={query}");
        let answer = ann.client.get(&path).await.expect("the server answers").json();
        let ids = answer["matches"].as_array().cloned().unwrap_or_default();
        ids.iter().map(|listed| listed["match_id"].as_str().expect("an id").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("%2Blabel.mode:duel").await, std::slice::from_ref(&duel.id));
    assert_eq!(found("%2Blabel.rank:%3E%3D5").await, [race.id.clone(), duel.id.clone()], "the newest first");
    assert_eq!(found("%2Blabel.rank:%3E%3D5%20label.mode:duel^2").await, [duel.id.clone(), race.id.clone()]);
    assert_eq!(found("%2Blabel.mode:chess").await, [] as [String; 0]);
    let mut bob = server.player().await;
    bob.join(&race.id).await;
    bob.send(&race.id, LABEL, r#"{"mode":"chess"}"#).await;
    bob.send(&race.id, WHISPER, "done").await;
    bob.data(WHISPER).await;
    assert_eq!(found("%2Blabel.mode:chess").await, std::slice::from_ref(&race.id), "a new label is found at once");
    let filter = MatchFilter { authoritative: Some(false), ..MatchFilter::default() };
    assert!(matches.list(&filter).await.expect("it is listed").is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_of_both_protocols_are_in_one_match() {
    let server = Talking::start(|_| {}).await;
    let id = server.create("").await;
    let mut ann = server.player().await;
    ann.join(&id).await;
    ann.presence("joins").await;
    let bob = ApiClient::new_user(server.running.http).await;
    let mut player = connected(server.running.http, &bob.token, &id).await;
    assert_eq!(ann.presence("joins").await, std::slice::from_ref(&bob.user), "a player over /rt is shown");
    let body = GameBody::Packed { code: ECHO, payload: b"from rt".to_vec() };
    player.send(ClientMessage::Game(GameMessage { seq: CommandSeq(0), body })).await;
    assert_eq!(ann.data(ECHO).await, (Some(bob.user.clone()), "from rt".to_owned()));
    assert_eq!(event(&mut player, ECHO).await, b"from rt");
    ann.send(&id, ECHO, "from ws").await;
    assert_eq!(event(&mut player, ECHO).await, b"from ws");
    let mut eve = server.player().await;
    let joined = eve.join(&id).await;
    let users: Vec<&str> = joined["match"]["presences"]
        .as_array()
        .expect("presences")
        .iter()
        .filter_map(|it| it["user_id"].as_str())
        .collect();
    assert!(users.contains(&bob.user.as_str()) && users.contains(&ann.client.user.as_str()), "{joined}");
    player.send(ClientMessage::Leave).await;
    assert_eq!(ann.presence("leaves").await, [bob.user]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relayed_match_is_joined_over_both_protocols() {
    let server = TestServer::start(|_| {}).await;
    let client = ApiClient::new_user(server.http).await;
    let mut ann = Member { socket: ServicesSocket::connect(server.http, &client.token).await, client };
    let created = ann.socket.request(json!({ "match_create": {} })).await;
    let id = created["match"]["match_id"].as_str().expect("an id").to_owned();
    ann.presence("joins").await;
    let bob = ApiClient::new_user(server.http).await;
    let mut player = connected(server.http, &bob.token, &id).await;
    assert_eq!(ann.presence("joins").await, std::slice::from_ref(&bob.user));
    let body = GameBody::Packed { code: 9, payload: b"from rt".to_vec() };
    player.send(ClientMessage::Game(GameMessage { seq: CommandSeq(0), body })).await;
    assert_eq!(ann.data(9).await, (Some(bob.user.clone()), "from rt".to_owned()));
    ann.send(&id, 8, "from ws").await;
    assert_eq!(event(&mut player, 8).await, b"from ws");
    drop(player);
    assert_eq!(ann.presence("leaves").await, [bob.user]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn matches_of_a_session_are_limited_and_joins_without_end_disturb_nobody() {
    let server = Talking::start(|_| {}).await;
    let (mut flooding, mut other) = (server.player().await, server.player().await);
    let mut refused = None;
    for number in 0..20 {
        let answer = flooding.socket.request(json!({ "match_create": { "name": format!("match-{number}") } })).await;
        if answer["error"].is_object() {
            refused = Some((number, answer["error"]["message"].as_str().expect("a text").to_owned()));
            break;
        }
    }
    let (number, text) = refused.expect("the matches of a session are limited");
    assert!(
        number == 16 && text.contains("at most 16 matches") || text.starts_with("Too many messages"),
        "{number} {text}"
    );
    let id = server.create("").await;
    for _ in 0..500 {
        flooding.socket.send(&json!({ "match_join": { "match_id": id } })).await;
    }
    other.join(&id).await;
    other.send(&id, WHISPER, "still here").await;
    assert_eq!(other.data(WHISPER).await.1, "still here");
    server.stop().await;
}

async fn connected(http: SocketAddr, token: &str, id: &str) -> TestPlayer {
    let room = Some(RoomSelector::Id(RoomId(id.to_owned())));
    let hello = Hello { token: Some(Token::new(token.to_owned())), room, ..Hello::default() };
    let joined = TestPlayer::join(&connector(http).encoding(PROTOBUF), TransportKind::WebSocket, &hello).await;
    joined.unwrap_or_else(|notice| panic!("{notice:?}"))
}

/// Returns the payload of the next event with a code.
async fn event(player: &mut TestPlayer, wanted: u16) -> Vec<u8> {
    player
        .wait("an event", |message| match message {
            ServerMessage::Event(Event { body: GameBody::Packed { code, payload }, .. }) if code == wanted => {
                Some(payload)
            }
            _ => None,
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_watch_the_list_of_matches_get_its_changes() {
    let server = Talking::start(|_| {}).await;
    let first = server.create("first").await;
    let mut ann = server.player().await;
    let watched =
        ann.socket.request(json!({ "rpc": { "id": "match_list_watch", "payload": r#"{"type":"talk"}"# } })).await;
    let list: Value = serde_json::from_str(watched["rpc"]["payload"].as_str().expect("a text")).expect("JSON");
    assert_eq!((&list["matches"][0]["id"], &list["matches"][0]["label"]), (&json!(first), &json!("first")));
    let mut bob = server.player().await;
    bob.join(&first).await;
    let changed = changes(&mut ann, |changes| !changes["matches"].as_array().expect("a list").is_empty()).await;
    assert_eq!((&changed["matches"][0]["id"], &changed["matches"][0]["players"]), (&json!(first), &json!(1)));
    bob.send(&first, LABEL, "renamed").await;
    changes(&mut ann, |changes| changes["matches"][0]["label"] == "renamed").await;
    bob.send(&first, END, "").await;
    changes(&mut ann, |changes| changes["ended"][0] == json!(first)).await;
    let over_http = ann.client.post("/v2/rpc/match_list_watch", &json!("")).await.expect("the server answers");
    assert_ne!(over_http.status, 200, "{}", over_http.body);
    server.stop().await;
}

/// Waits for changes of the list of matches.
async fn changes(member: &mut Member, is_wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = member.socket.next().await;
        if let Some(data) = message["stream_data"]["data"].as_str() {
            let changes: Value = serde_json::from_str(data).expect("changes are JSON");
            if is_wanted(&changes) {
                return changes;
            }
        }
    }
}

/// Lets two users search for each other, and returns the message that each gets.
async fn matched(members: [&mut Member; 2]) -> [Value; 2] {
    let [one, other] = members;
    let add = json!({ "matchmaker_add": { "min_count": 2, "max_count": 2, "query": "*" } });
    for member in [&mut *one, &mut *other] {
        let ticket = member.socket.request(add.clone()).await;
        assert!(ticket["matchmaker_ticket"]["ticket"].is_string(), "{ticket}");
    }
    [matched_message(one).await, matched_message(other).await]
}

async fn matched_message(member: &mut Member) -> Value {
    loop {
        let mut message = member.socket.next().await;
        if message["matchmaker_matched"].is_object() {
            return message["matchmaker_matched"].take();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn matched_players_meet_by_token_over_every_transport() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let mut members = Vec::new();
        for _ in 0..2 {
            let client = ApiClient::new_user(server.http).await;
            members.push(Member { socket: ServicesSocket::connect(server.http, &client.token).await, client });
        }
        let [mut ann, mut bob] = <[Member; 2]>::try_from(members).ok().expect("two");
        let [to_ann, to_bob] = matched([&mut ann, &mut bob]).await;
        let token = |matched: &Value| matched["token"].as_str().expect("a token").to_owned();
        let joined = ann.socket.request(json!({ "match_join": { "token": token(&to_ann) } })).await;
        let id = joined["match"]["match_id"].as_str().unwrap_or_else(|| panic!("{joined}")).to_owned();
        ann.presence("joins").await;
        let room = Some(RoomSelector::Id(RoomId(token(&to_bob))));
        let hello = Hello { token: Some(Token::new(bob.client.token.clone())), room, ..Hello::default() };
        let mut player = server.join(transport, PROTOBUF, &hello).await;
        assert_eq!(player.welcome.room.0, id, "over {}", transport.name());
        assert_eq!(ann.presence("joins").await, std::slice::from_ref(&bob.client.user));
        ann.send(&id, 8, "hello").await;
        assert_eq!(event(&mut player, 8).await, b"hello");
        let forged = ann.socket.request(json!({ "match_join": { "token": format!("{}x", token(&to_ann)) } })).await;
        assert_eq!(forged["error"]["code"], 3, "{forged}");
        let room = Some(RoomSelector::Id(RoomId(format!("{}x", token(&to_bob)))));
        let hello = Hello { room, ..hello };
        let refused = server.try_join(transport, PROTOBUF, &hello).await.err().expect("a forged token is refused");
        assert_eq!(refused.code, ErrorCode::RoomNotFound, "{refused:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_keeps_seats_for_matched_players() {
    let server = Talking::start(|config| {
        config.matchmaker.room_type = Some("talk".to_owned());
        config.room_mut("talk").players_max = Some(2);
    })
    .await;
    let (mut ann, mut bob, mut eve) = (server.player().await, server.player().await, server.player().await);
    let [to_ann, to_bob] = matched([&mut ann, &mut bob]).await;
    let id = to_ann["match_id"].as_str().expect("a room").to_owned();
    assert_eq!(to_bob["match_id"], json!(id), "{to_bob}");
    let refused = eve.join(&id).await;
    assert_eq!(refused["error"]["code"], 5, "both places are kept: {refused}");
    assert!(refused["error"]["message"].as_str().expect("a text").contains("matched players"), "{refused}");
    assert_eq!(ann.join(&id).await["match"]["authoritative"], true);
    assert_eq!(eve.join(&id).await["error"]["code"], 5, "one place is kept for bob");
    let player = connected(server.running.http, &bob.client.token, &id).await;
    let matchmaker = &server.running.services().matchmaker;
    assert_eq!(matchmaker.reserved_seats(&id), 0, "both seats were taken");
    drop(player);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_gets_state_only_if_the_room_type_says_so() {
    for is_sent in [true, false] {
        let server = Talking::start(|config| config.room_mut("talk").socket_state = Some(is_sent)).await;
        let id = server.create("").await;
        let mut ann = server.player().await;
        ann.join(&id).await;
        let mut packets = 0;
        // The first snapshot is built in a tick after the join, so it comes before one of these answers.
        for number in 0..20 {
            ann.send(&id, WHISPER, &number.to_string()).await;
            loop {
                let message = ann.socket.next().await;
                match message["match_data"]["op_code"].as_str() {
                    Some("-1") => packets += 1,
                    Some("2") => break,
                    _ => {}
                }
            }
        }
        assert_eq!(packets > 0, is_sent, "{packets} packets");
        server.stop().await;
    }
}
