//! Access to rooms: private rooms, places of one network, listings, and texts that name a room.

use super::api_limits::servers;
use aether_server::services::GrpcCode;
use aether_server::services::matches::{MatchFilter, NewMatch};
use aether_server::tokens::Role;
use aether_testkit_server::{JSON, PROTOBUF, TRANSPORTS, TestPlayer, TestServer, TransportKind, until};
use aether_wire::{
    ClientMessage, CommandSeq, ErrorCode, GameBody, GameMessage, Hello, PlaygroundClear, RoomId, RoomSelector,
    ServerMessage,
};
use serde_json::Value;
use std::time::Instant;

fn of_type(name: &str, label: Option<&str>) -> RoomSelector {
    RoomSelector::Type { name: name.to_owned(), label: label.map(str::to_owned) }
}

fn private(name: &str) -> RoomSelector {
    RoomSelector::NewPrivate { name: name.to_owned(), label: None }
}

async fn try_join(server: &TestServer, room: RoomSelector) -> Result<TestPlayer, ErrorCode> {
    let hello = Hello { room: Some(room), ..server.hello("") };
    server.try_join(TransportKind::WebSocket, PROTOBUF, &hello).await.map_err(|notice| notice.code)
}

async fn join(server: &TestServer, room: RoomSelector) -> TestPlayer {
    try_join(server, room).await.expect("the room takes the player")
}

async fn listed(server: &TestServer) -> Vec<Value> {
    let answer = server.get("/api/rooms").await;
    assert_eq!(answer.status, 200);
    answer.json()["rooms"].as_array().expect("a list").clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_private_room_is_joined_by_id_or_code_only() {
    for (server, database) in servers(|_| {}).await {
        // A game, a relay and a durable game.
        for name in ["workshop", "relay", "outpost"] {
            let owner = join(&server, private(name)).await;
            let (id, code) = (owner.welcome.room.clone(), owner.welcome.room_code.clone());
            assert!(listed(&server).await.is_empty(), "{name} {}", database.name);
            for room in [RoomSelector::Id(id.clone()), RoomSelector::Code(code)] {
                assert_eq!(join(&server, room).await.welcome.room, id);
            }
            let other = join(&server, of_type(name, None)).await;
            assert_ne!(other.welcome.room, id, "{name}: a join by type gets another room");
            assert_ne!(join(&server, private(name)).await.welcome.room, id, "{name}: a second private room");
            let shown = listed(&server).await;
            assert_eq!(shown.len(), 1, "{name}: {shown:?}");
            assert_eq!(shown[0]["id"].as_str(), Some(other.welcome.room.0.as_str()));
            drop((owner, other));
            end_all(&server).await;
        }
        server.stop().await;
    }
}

/// Ends all rooms, also private ones, which server code sees.
async fn end_all(server: &TestServer) {
    let matches = server.services().matches().expect("rooms are hosted");
    for room in matches.list(&MatchFilter::default()).await.expect("they are listed") {
        matches.end(&room.id).await.expect("it runs");
    }
    let count = || async { matches.list(&MatchFilter::default()).await.map_or(1, |rooms| rooms.len()) };
    while count().await > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_in_json_creates_a_private_room_over_every_transport() {
    let server = TestServer::start(|_| {}).await;
    for transport in TRANSPORTS {
        let hello = Hello { room: Some(private("sandbox")), ..server.hello("") };
        let first = server.join(transport, JSON, &hello).await;
        let second = server.join(transport, JSON, &hello).await;
        assert_ne!(first.welcome.room, second.welcome.room);
    }
    assert!(listed(&server).await.is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_of_a_private_type_and_private_matches_are_not_listed() {
    let server = TestServer::start(|config| config.room_mut("sandbox").private = Some(true)).await;
    let first = join(&server, of_type("sandbox", None)).await;
    let second = join(&server, of_type("sandbox", None)).await;
    assert_ne!(first.welcome.room, second.welcome.room, "each join by type gets a room of its own");
    let matches = server.services().matches().expect("rooms are hosted");
    let new = NewMatch { match_type: "workshop".into(), label: "final".into(), private: true, ..NewMatch::default() };
    let made = matches.create_with(&new).await.expect("the type exists");
    assert!(made.private);
    assert!(listed(&server).await.is_empty());
    assert_ne!(join(&server, of_type("workshop", Some("final"))).await.welcome.room.0, made.id);
    assert_eq!(join(&server, RoomSelector::Code(made.code)).await.welcome.room.0, made.id);
    let hidden = MatchFilter { private: Some(true), ..MatchFilter::default() };
    assert_eq!(matches.list(&hidden).await.expect("they are listed").len(), 3, "server code sees them");
    let bad = NewMatch { match_type: "workshop".into(), label: "a\0b".into(), ..NewMatch::default() };
    assert_eq!(matches.create_with(&bad).await.expect_err("it cannot be stored").code, GrpcCode::InvalidArgument);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_that_cannot_be_stored_are_a_bad_value() {
    for (server, database) in servers(|_| {}).await {
        // `outpost` is durable, so ids, codes and labels reach the database.
        let wrong = [
            of_type("outpost", Some("red\0blue")),
            of_type("outpost", Some("red\u{202e}blue")),
            of_type("outpost", Some("red\u{200b}blue")),
            of_type("out\0post", None),
            RoomSelector::NewPrivate { name: "outpost".into(), label: Some("red\0blue".into()) },
            RoomSelector::Code("AB\0DEF".into()),
            RoomSelector::Id(RoomId("00000000-0000-7000-8000-0000\u{0}0000000.local".into())),
        ];
        for room in wrong {
            for transport in TRANSPORTS {
                for encoding in [PROTOBUF, JSON] {
                    let hello = Hello { room: Some(room.clone()), ..server.hello("") };
                    let notice = server.try_join(transport, encoding, &hello).await.err().expect("it is rejected");
                    assert_eq!(notice.code, ErrorCode::BadValue, "{room:?} {}: {notice:?}", database.name);
                }
            }
        }
        let by_path = server.connector(PROTOBUF).path("/api/rooms/AB%00DE/ws");
        let nowhere = Hello { room: None, ..server.hello("") };
        let notice = TestPlayer::join(&by_path, TransportKind::WebSocket, &nowhere).await.err().expect("rejected");
        assert_eq!(notice.code, ErrorCode::BadValue, "{}", database.name);
        assert_eq!(server.metric("aether_database_errors_total", &[("kind", "failed")]), 0.0);
        join(&server, of_type("outpost", Some("Комната 5 – 部屋"))).await;
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_has_its_places_in_a_room_and_no_more() {
    let server = TestServer::start(|config| {
        config.room_mut("workshop").network_players_max = Some(2);
        config.room_mut("relay").network_players_max = Some(2);
    })
    .await;
    for name in ["workshop", "relay"] {
        let first = join(&server, of_type(name, None)).await;
        let room = || RoomSelector::Id(first.welcome.room.clone());
        let second = join(&server, room()).await;
        assert_eq!(try_join(&server, room()).await.err(), Some(ErrorCode::LimitReached), "{name}");
        assert!(try_join(&server, of_type("sandbox", None)).await.is_ok(), "other rooms have no limit");
        // A player who leaves returns the place.
        let mut second = second;
        second.send(ClientMessage::Leave).await;
        second.end().await;
        let mut third = try_join(&server, room()).await;
        let end = Instant::now() + aether_testkit_server::DEADLINE;
        while third.is_err() {
            assert!(Instant::now() < end, "{name}: the place is not returned");
            tokio::task::yield_now().await;
            third = try_join(&server, room()).await;
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_without_a_connection_keeps_the_place_and_resumes() {
    let server = TestServer::start(|config| config.room_mut("workshop").network_players_max = Some(1)).await;
    let first = join(&server, of_type("workshop", None)).await;
    let (room, token) = (first.welcome.room.clone(), first.welcome.resume_token.clone().expect("it can resume"));
    drop(first);
    until("the connection is closed", || server.connections() == 0).await;
    let again = try_join(&server, RoomSelector::Id(room)).await;
    assert_eq!(again.err(), Some(ErrorCode::LimitReached), "the player is still in the room");
    let hello = Hello { resume_token: Some(token), ..Hello::default() };
    server.join(TransportKind::WebSocket, PROTOBUF, &hello).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn listings_of_one_network_have_a_rate() {
    let server = TestServer::start(|config| config.api.listings_per_second = Some(5)).await;
    let began = Instant::now();
    let mut statuses = Vec::new();
    for _ in 0..50 {
        statuses.push(server.get("/api/rooms").await.status);
    }
    let allowed = statuses.iter().filter(|status| **status == 200).count();
    let allowed_max = 5 + 5 * (began.elapsed().as_secs() as usize + 1);
    assert!((5..=allowed_max).contains(&allowed), "{statuses:?}");
    assert!(statuses.iter().all(|status| [200, 429].contains(status)), "{statuses:?}");
    assert_eq!(server.get("/api/server").await.status, 200, "other pages are not limited");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_sends_a_bounded_number_of_bytes_for_one_member() {
    const RATE: u32 = 2_000;
    let server = TestServer::start(|config| config.room_mut("relay").fan_out_bytes_per_second = Some(RATE)).await;
    let mut loud = join(&server, of_type("relay", None)).await;
    let mut quiet = join(&server, of_type("relay", None)).await;
    let _third = join(&server, of_type("relay", None)).await;
    let say = |seq: u32| {
        let body = GameBody::Packed { code: 7, payload: vec![1; 396] };
        ClientMessage::Game(GameMessage { seq: CommandSeq(seq), body })
    };
    let began = Instant::now();
    let (mut sent, mut refused) = (0, 0);
    for seq in 1..=25 {
        loud.send(say(seq)).await;
        match loud.answer(seq).await {
            None => sent += 1,
            Some(error) => {
                assert_eq!(error.code, ErrorCode::RateLimited);
                refused += 1;
            }
        }
    }
    // Each costs 400 bytes times two receivers: four seconds of the rate at once, then the rate, and one message of debt.
    let sent_max = 1 + (RATE * (4 + began.elapsed().as_secs() as u32 + 1)) / 800;
    assert!((10..=sent_max).contains(&sent) && refused > 0, "{sent} sent, {refused} refused, at most {sent_max}");
    // Another member has its own limit, and everyone stays connected.
    quiet.send(say(1)).await;
    assert_eq!(quiet.answer(1).await, None);
    loud.wait("a message", |message| {
        matches!(message, ServerMessage::Event(event) if event.sender == Some(quiet.welcome.player)).then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_commands_fill_the_audit_log_only_at_its_rate() {
    let server = TestServer::start(|config| {
        config.connections.messages_per_second = 10_000;
        config.connections.messages_burst = 10_000;
    })
    .await;
    let hello = server.hello_as(Role::Player, "sandbox");
    let mut player = server.join(TransportKind::WebSocket, PROTOBUF, &hello).await;
    let began = Instant::now();
    // A room takes 32 messages of a player at once.
    for batch in 0..20 {
        let numbers = 1 + 20 * batch..=20 * (batch + 1);
        for seq in numbers.clone() {
            player.send(ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(seq) })).await;
        }
        for seq in numbers {
            assert_eq!(player.answer(seq).await.map(|error| error.code), Some(ErrorCode::Forbidden));
        }
    }
    // 50 lines at once, and ten a second.
    let logged_max = 50.0 + 10.0 * (began.elapsed().as_secs_f64() + 1.0);
    let of_type = [("room_type", "sandbox")];
    until("the commands are counted", || {
        server.metric("aether_room_events_total", &[("kind", "unprivileged")]) >= 400.0
    })
    .await;
    let suppressed = server.metric("aether_audit_suppressed_total", &of_type);
    assert!(suppressed >= 400.0 - logged_max && suppressed > 0.0, "{suppressed} of 400 are not in the log");
    server.stop().await;
}
