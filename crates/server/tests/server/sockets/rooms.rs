//! Rooms: lookup, creation, listing, limits and end.

use aether_server::config::NodeName;
use aether_server::services::GrpcCode;
use aether_server::services::matches::{MatchFilter, MatchInfo};
use aether_testkit_server::workshop::{CRASH, HANG, RELEASED};
use aether_testkit_server::{
    ConnectionError, DEADLINE, Encoding, JSON, PROTOBUF, TRANSPORTS, TestPlayer, TestServer, TransportKind, until,
};
use aether_wire::{
    ClientMessage, CloseReason, CommandSeq, ErrorCode, GameBody, GameMessage, Hello, RoomId, RoomSelector,
    ServerMessage, Token,
};
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::timeout;

fn of_type(name: &str, label: Option<&str>) -> RoomSelector {
    RoomSelector::Type { name: name.to_owned(), label: label.map(str::to_owned) }
}

async fn join(server: &TestServer, room: RoomSelector) -> TestPlayer {
    server.join(TransportKind::WebSocket, PROTOBUF, &hello(server, room)).await
}

fn hello(server: &TestServer, room: RoomSelector) -> Hello {
    Hello { room: Some(room), ..server.hello("") }
}

async fn rejection(server: &TestServer, transport: TransportKind, hello: &Hello) -> ErrorCode {
    server.try_join(transport, PROTOBUF, hello).await.err().expect("the request is rejected").code
}

fn message(code: u16, seq: u32) -> ClientMessage {
    ClientMessage::Game(GameMessage { seq: CommandSeq(seq), body: GameBody::Packed { code, payload: vec![1] } })
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_are_found_by_type_by_code_and_by_id() {
    let server = TestServer::start(|_| {}).await;
    let first = join(&server, of_type("sandbox", None)).await;
    let (id, code) = (first.welcome.room.clone(), first.welcome.room_code.clone());
    for transport in TRANSPORTS {
        for selector in [
            of_type("sandbox", None),
            RoomSelector::Code(code.clone()),
            RoomSelector::Code(code.to_ascii_lowercase()),
            RoomSelector::Id(id.clone()),
        ] {
            let player = server.join(transport, PROTOBUF, &hello(&server, selector.clone())).await;
            assert_eq!(player.welcome.room, id, "{selector:?}");
            assert_eq!(player.welcome.room_code, code);
        }
        for unknown in [
            of_type("chess", None),
            RoomSelector::Code("NOSUCH".into()),
            RoomSelector::Id(RoomId("00000000-0000-7000-8000-000000000000.local".into())),
        ] {
            assert_eq!(rejection(&server, transport, &hello(&server, unknown)).await, ErrorCode::RoomNotFound);
        }
        let nowhere = Hello { room: None, ..server.hello("") };
        assert_eq!(rejection(&server, transport, &nowhere).await, ErrorCode::RoomNotFound);
    }
    let by_path = server.connector(PROTOBUF).path(&format!("/api/rooms/{code}/ws"));
    let nowhere = Hello { room: None, ..server.hello("") };
    let mut client = by_path.connect(TransportKind::WebSocket, &nowhere).await.expect("it opens");
    let Ok(ServerMessage::Welcome(welcome)) = client.next_message().await else { panic!("the address names a room") };
    assert_eq!(welcome.room, id);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_a_room_is_full_another_is_created() {
    let server = TestServer::start(|config| {
        config.room_mut("workshop").players_max = Some(2);
        config.room_mut("relay").players_max = Some(2);
    })
    .await;
    for name in ["workshop", "relay"] {
        let first = join(&server, of_type(name, None)).await;
        let second = join(&server, of_type(name, None)).await;
        let third = join(&server, of_type(name, None)).await;
        assert_eq!(first.welcome.room, second.welcome.room);
        assert_ne!(first.welcome.room, third.welcome.room);
        for transport in TRANSPORTS {
            let full = hello(&server, RoomSelector::Id(first.welcome.room.clone()));
            assert_eq!(rejection(&server, transport, &full).await, ErrorCode::RoomFull, "{name}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_select_rooms_and_filter_the_list() {
    let server = TestServer::start(|_| {}).await;
    let red = join(&server, of_type("workshop", Some("red"))).await;
    let red_too = join(&server, of_type("workshop", Some("red"))).await;
    let blue = join(&server, of_type("workshop", Some("blue"))).await;
    let plain = join(&server, of_type("workshop", None)).await;
    let _relay = join(&server, of_type("relay", Some("red"))).await;
    assert_eq!(red.welcome.room, red_too.welcome.room);
    assert_ne!(red.welcome.room, blue.welcome.room);
    assert_ne!(plain.welcome.room, blue.welcome.room);
    let list = async |query: &str| {
        let answer = server.get(&format!("/api/rooms{query}")).await;
        assert_eq!(answer.status, 200, "{query}");
        answer.json()["rooms"].as_array().expect("a list").clone()
    };
    assert_eq!(list("").await.len(), 4);
    assert_eq!(list("?type=workshop").await.len(), 3);
    assert_eq!(list("?label=red").await.len(), 2);
    assert_eq!(list("?type=sandbox").await.len(), 0);
    let found = &list("?type=workshop&label=red").await[0];
    assert_eq!(found["id"].as_str(), Some(red.welcome.room.0.as_str()));
    assert_eq!(found["code"].as_str(), Some(red.welcome.room_code.as_str()));
    assert_eq!((found["players"].as_u64(), found["playersMax"].as_u64()), (Some(2), Some(300)));
    assert_eq!((found["type"].as_str(), found["tickHz"].as_u64()), (Some("workshop"), Some(40)));
    assert_eq!(server.get("/api/rooms?colour=red").await.status, 400);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_rooms_end() {
    let server = TestServer::start(|config| config.rooms.empty_seconds = 0).await;
    for name in ["workshop", "relay"] {
        let stays = join(&server, of_type(name, Some("used"))).await;
        let mut leaves = join(&server, of_type(name, Some("unused"))).await;
        leaves.send(ClientMessage::Leave).await;
        assert_eq!(leaves.end().await.reason(), Some(CloseReason::Left));
        let listed = async || server.get(&format!("/api/rooms?type={name}")).await.json()["rooms"].clone();
        while listed().await.as_array().is_some_and(|rooms| rooms.len() > 1) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(listed().await[0]["id"].as_str(), Some(stays.welcome.room.0.as_str()));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_only_its_room() {
    let server = TestServer::start(|_| {}).await;
    let mut other = join(&server, of_type("workshop", Some("other"))).await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let failing = hello(&server, of_type("workshop", Some("failing")));
        let mut culprit = server.join(transport, PROTOBUF, &failing).await;
        let bystander = hello(&server, of_type("workshop", Some("failing")));
        let bystander = server.join(transport, JSON, &bystander).await;
        culprit.send(message(CRASH, 1)).await;
        assert_eq!(culprit.end().await.reason(), Some(CloseReason::RoomFailed));
        assert_eq!(bystander.end().await.reason(), Some(CloseReason::RoomFailed));
        let failures = number as f64 + 1.0;
        server.until_metric("aether_room_failures_total", &[("room_type", "workshop")], failures).await;
        other.send(message(CRASH + 100, 7 + number as u32)).await;
        let answer = other.answer(7 + number as u32).await;
        assert_eq!(answer.map(|error| error.code), Some(ErrorCode::BadValue), "the other room keeps running");
    }
    assert_eq!(server.get("/api/rooms?label=failing").await.json()["rooms"].as_array().map(Vec::len), Some(0));
    assert_eq!(server.get("/livez").await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stuck_room_is_reported_with_its_id() {
    let server = TestServer::start(|config| config.rooms.tick_threads = 2).await;
    let mut stuck = join(&server, of_type("workshop", Some("stuck"))).await;
    let mut other = join(&server, of_type("workshop", Some("other"))).await;
    assert_eq!(server.get("/livez").await.status, 200);
    stuck.send(message(HANG, 1)).await;
    let answer = loop {
        let answer = server.get("/livez").await;
        if answer.status != 200 {
            break answer;
        }
        other.read_for(Duration::from_millis(100)).await;
    };
    assert_eq!(answer.status, 503);
    assert!(answer.body.contains(&stuck.welcome.room.0), "the room id is in: {}", answer.body);
    assert_eq!(server.get("/readyz").await.status, 503);
    other.send(message(CRASH + 100, 1)).await;
    assert!(other.answer(1).await.is_some(), "a room on another thread keeps running");
    RELEASED.store(true, Ordering::Relaxed);
    while server.get("/livez").await.status != 200 {
        other.read_for(Duration::from_millis(50)).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_rooms_is_limited() {
    let server = TestServer::start(|config| config.rooms.max = 2).await;
    let _first = join(&server, of_type("workshop", Some("1"))).await;
    let _second = join(&server, of_type("relay", Some("2"))).await;
    for transport in TRANSPORTS {
        let third = hello(&server, of_type("workshop", Some("3")));
        assert_eq!(rejection(&server, transport, &third).await, ErrorCode::LimitReached);
        server.join(transport, PROTOBUF, &hello(&server, of_type("workshop", Some("1")))).await;
    }
    server.stop().await;
}

/// Returns true if the server rejects the connection itself.
async fn is_connection_rejected(server: &TestServer, transport: TransportKind) -> bool {
    match server.connector(PROTOBUF).open(transport).await {
        Ok(mut client) => client.next_message().await.is_err(),
        Err(ConnectionError::Refused(error)) => error.to_string().contains("503"),
        Err(_) => transport == TransportKind::WebTransport,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_connections_is_limited() {
    let server = TestServer::start(|config| {
        config.connections.max = 2;
        config.connections.per_ip_max = 0;
        config.connections.per_account_max = 0;
    })
    .await;
    for (number, transport) in TRANSPORTS.into_iter().enumerate() {
        let first = server.join(transport, PROTOBUF, &server.hello("relay")).await;
        let second = server.join(transport, PROTOBUF, &server.hello("relay")).await;
        assert!(is_connection_rejected(&server, transport).await);
        assert_eq!(server.metric("aether_connections_refused_total", &[]), number as f64 + 1.0);
        drop(first);
        until("a free place", || server.connections() == 1).await;
        server.join(transport, PROTOBUF, &server.hello("relay")).await;
        drop(second);
        until("no connections", || server.connections() == 0).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_connections_of_an_account_is_limited() {
    let server = TestServer::start(|config| config.connections.per_account_max = 2).await;
    for transport in TRANSPORTS {
        let hello = server.hello("relay");
        let first = server.join(transport, PROTOBUF, &hello).await;
        let _second = server.join(transport, PROTOBUF, &hello).await;
        assert_eq!(rejection(&server, transport, &hello).await, ErrorCode::LimitReached);
        let before = server.connections();
        drop(first);
        until("a free place", || server.connections() < before).await;
        server.join(transport, PROTOBUF, &hello).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_connections_of_an_address_is_limited_also_behind_a_proxy() {
    let server = TestServer::start(|config| {
        config.connections.per_ip_max = 2;
        config.http.trusted_proxies = vec!["127.0.0.1".parse().expect("the address is valid")];
    })
    .await;
    let hello = || Hello { token: Some(signed(&server)), ..server.hello("relay") };
    let _first = server.join(TransportKind::WebSocket, PROTOBUF, &hello()).await;
    let _second = server.join(TransportKind::WebTransport, PROTOBUF, &hello()).await;
    for transport in TRANSPORTS {
        assert!(is_connection_rejected(&server, transport).await, "{}", transport.name());
    }
    let upgrade = [
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "BwcHBwcHBwcHBwcHBwcHBw=="),
        ("sec-websocket-protocol", Encoding::Json.subprotocol()),
    ];
    let none = server.request(server.http, "GET", "/rt", &upgrade).await;
    assert_eq!((none.status, none.json()["code"].as_str()), (503, Some("too_many_connections")));
    for address in ["192.0.2.1", "192.0.2.2"] {
        // Only the last address counts; clients can forge the ones before it.
        let forged = format!("127.0.0.1, {address}");
        let headers = [&upgrade[..], &[("x-forwarded-for", forged.as_str())]].concat();
        let mut open = Vec::new();
        for _ in 0..2 {
            let before = server.connections();
            open.push(tokio::spawn(keep_open(server.http, headers.iter().map(owned).collect())));
            until("another connection", || server.connections() > before).await;
        }
        assert_eq!(server.request(server.http, "GET", "/rt", &headers).await.status, 503, "{address}");
        for task in open {
            task.abort();
        }
        until("their end", || server.connections() == 2).await;
    }
    server.stop().await;
}

fn signed(server: &TestServer) -> Token {
    server.sign(|_| {})
}

fn owned((name, value): &(&str, &str)) -> (String, String) {
    ((*name).to_owned(), (*value).to_owned())
}

/// Opens a WebSocket and sends nothing.
async fn keep_open(address: std::net::SocketAddr, headers: Vec<(String, String)>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.expect("the server listens");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let request = format!("GET /rt HTTP/1.1\r\nhost: {address}\r\n{lines}\r\n");
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    let mut bytes = [0; 1_024];
    while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

#[tokio::test(flavor = "multi_thread")]
async fn server_code_creates_finds_lists_signals_and_ends_rooms() {
    let server = TestServer::start(|config| config.room_mut("outpost").durable = Some(true)).await;
    let matches = server.services().matches().expect("rooms are hosted");
    let made = matches.create("workshop", "red").await.expect("the room is created");
    assert_eq!((made.match_type.as_str(), made.label.as_str(), made.players), ("workshop", "red", 0));
    let player = join(&server, RoomSelector::Id(RoomId(made.id.clone()))).await;
    assert_eq!(player.welcome.room_code, made.code);
    assert_eq!(matches.signal(&made.id, vec![1, 2, 3]).await, Ok(vec![3, 2, 1]));
    let is_shown = async || matches!(matches.find(&made.id).await, Ok(Some(found)) if found.label == "signalled");
    let shown = async {
        while !is_shown().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, shown).await.expect("the game has set its label");
    let stored = matches.create("outpost", "").await.expect("durable rooms are created too");
    let relay = matches.create("relay", "").await.expect("and relays");
    assert_eq!(matches.signal(&relay.id, vec![]).await.unwrap_err().code, GrpcCode::FailedPrecondition);
    let ids = |found: Vec<MatchInfo>| found.into_iter().map(|found| found.id).collect::<Vec<_>>();
    let all = MatchFilter::default();
    assert_eq!(
        ids(matches.list(&all).await.unwrap()),
        [made.id.clone(), stored.id, relay.id.clone()],
        "the oldest first"
    );
    let played = MatchFilter { players_min: Some(1), ..MatchFilter::default() };
    assert_eq!(ids(matches.list(&played).await.unwrap()), std::slice::from_ref(&made.id));
    let one = MatchFilter { limit: Some(1), match_type: Some("relay".into()), ..MatchFilter::default() };
    assert_eq!(ids(matches.list(&one).await.unwrap()), std::slice::from_ref(&relay.id));
    for id in [&made.id, &relay.id] {
        matches.end(id).await.expect("it ends");
        assert_eq!(matches.find(id).await, Ok(None));
        assert_eq!(matches.end(id).await.unwrap_err().code, GrpcCode::NotFound);
    }
    assert_eq!(player.end().await.reason(), Some(CloseReason::RoomEnded));
    assert_eq!(matches.create("chess", "").await.unwrap_err().code, GrpcCode::NotFound);
    drop(matches);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn room_ids_end_with_the_node_name_and_ids_of_other_nodes_are_rejected() {
    let server = TestServer::start(|config| config.node_name = NodeName::parse("north-1").expect("it is a name")).await;
    let player = join(&server, of_type("workshop", None)).await;
    assert!(player.welcome.room.0.ends_with(".north-1"), "{:?}", player.welcome.room);
    let elsewhere = RoomSelector::Id(RoomId("00000000-0000-7000-8000-000000000000.south".into()));
    for transport in TRANSPORTS {
        let refused = server.try_join(transport, PROTOBUF, &hello(&server, elsewhere.clone())).await;
        let notice = refused.err().expect("the request is rejected");
        assert_eq!(notice.code, ErrorCode::RoomNotFound);
        assert!(notice.message.contains("`south`"), "{}", notice.message);
    }
    server.stop().await;
}
