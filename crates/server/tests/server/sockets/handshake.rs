//! Handshakes, valid and invalid.

use aether_framing::websocket::codec::Opcode;
use aether_testkit_server::{
    Connection, ConnectionError, DEADLINE, DeliveryPath, End, JSON, PROTOBUF, RawSocket, TRANSPORTS, TestServer,
    TransportKind, masked, until,
};
use aether_wire::limits::{CLIENT_FRAGMENT_BYTES, HELLO_BYTES_MAX};
use aether_wire::{
    ClientMessage, CloseReason, CommandSeq, ErrorCode, Fragment, GameBody, GameMessage, Hello, MessageId, RoomSelector,
    ServerMessage, Token, fragment,
};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

async fn start() -> TestServer {
    TestServer::start(|_| {}).await
}

/// Returns the next message except snapshots, which may arrive before a welcome on an unordered transport.
async fn next(client: &mut Connection) -> Result<ServerMessage, ConnectionError> {
    loop {
        match timeout(DEADLINE, client.next_message()).await.expect("a message arrives in time") {
            Ok(ServerMessage::Snapshot(_)) => {}
            message => return message,
        }
    }
}

fn encoded(message: &ClientMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes).expect("the message can be encoded");
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_welcome_has_everything_that_a_client_needs() {
    let server = start().await;
    for (transport, encoding) in TRANSPORTS.into_iter().flat_map(|transport| [(transport, JSON), (transport, PROTOBUF)])
    {
        let player = server.join(transport, encoding, &server.hello("sandbox")).await;
        let welcome = &player.welcome;
        assert!(welcome.player.0 > 0 && welcome.connection.0 > 0 && welcome.session.0 > 0 && welcome.server_tick.0 > 0);
        assert_eq!((welcome.tick_hz, welcome.snapshot_hz), (40, 20));
        assert_eq!((welcome.world.min.x, welcome.world.max.y, welcome.world.interest_radius), (-1000.0, 1000.0, 200.0));
        assert!(welcome.schema_hash.0 != 0 && welcome.room_code.len() == 6 && welcome.resume_token.is_some());
        assert!(welcome.room.0.ends_with(".local"));
    }
    assert_eq!(server.metric("aether_room_events_total", &[("kind", "joins")]), 4.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_protocol_version_is_rejected_with_the_expected_one() {
    let server = start().await;
    for transport in TRANSPORTS {
        // The version is the first field of a hello: its tag, and one byte.
        let mut hello = encoded(&ClientMessage::Hello(server.hello("sandbox")));
        let at = hello.windows(2).position(|bytes| bytes == [0x08, 2]).expect("there is a version");
        hello[at + 1] = 3;
        let mut client = server.connector(PROTOBUF).open(transport).await.expect("it opens");
        client.send_frame(DeliveryPath::Reliable, &hello).await.expect("the message is sent");
        refused_version(&mut client, "version 3").await;
        let mut client = server.connector(JSON).open(transport).await.expect("it opens");
        client
            .send_frame(DeliveryPath::Reliable, br#"{"v":1,"kind":"hello","payload":{}}"#)
            .await
            .expect("the message is sent");
        refused_version(&mut client, "version 1").await;
    }
    assert_eq!(server.metric("aether_decode_errors_total", &[]), 4.0);
    server.stop().await;
}

async fn refused_version(client: &mut Connection, spoken: &str) {
    let end = End::of(client).await;
    assert_eq!(end.reason(), Some(CloseReason::ProtocolViolation));
    let notice = &end.notices[0];
    assert_eq!((notice.code, notice.fatal), (ErrorCode::VersionMismatch, true));
    assert!(notice.message.contains(spoken) && notice.message.contains("version 2 is required"), "{}", notice.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_are_counted_and_close_the_connection() {
    let server = start().await;
    for transport in TRANSPORTS {
        let before = server.metric("aether_decode_errors_total", &[]);
        let mut client = server.connector(PROTOBUF).open(transport).await.expect("it opens");
        for _ in 0..5 {
            client.send_frame(DeliveryPath::Reliable, &[0xFF; 100]).await.expect("the message is sent");
        }
        assert_eq!(End::of(&mut client).await.reason(), Some(CloseReason::Unauthenticated));
        assert!(server.metric("aether_decode_errors_total", &[]) >= before + 4.0);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_before_the_hello_are_dropped_and_too_many_close_the_connection() {
    let server = start().await;
    for transport in TRANSPORTS {
        let dropped = || server.metric("aether_messages_dropped_total", &[("reason", "before_hello")]);
        let before = dropped();
        let mut client = server.connector(PROTOBUF).open(transport).await.expect("it opens");
        for _ in 0..3 {
            client
                .send_frame(DeliveryPath::Reliable, &encoded(&ClientMessage::SchemaRequest))
                .await
                .expect("the message is sent");
        }
        until("three drops", || dropped() == before + 3.0).await;
        client.send(&ClientMessage::Hello(server.hello("sandbox"))).await.expect("the hello is sent");
        let first = next(&mut client).await;
        assert!(matches!(first, Ok(ServerMessage::Welcome(_))), "nothing else was answered: {first:?}");

        let mut client = server.connector(PROTOBUF).open(transport).await.expect("it opens");
        for _ in 0..20 {
            client
                .send_frame(DeliveryPath::Reliable, &encoded(&ClientMessage::SchemaRequest))
                .await
                .expect("the message is sent");
        }
        assert_eq!(End::of(&mut client).await.reason(), Some(CloseReason::Unauthenticated));
        assert!(dropped() >= before + 3.0 + 17.0);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hello_has_a_deadline_and_three_attempts() {
    let server = TestServer::start(|config| config.connections.handshake_seconds = 1).await;
    for transport in TRANSPORTS {
        let mut silent = server.connector(PROTOBUF).open(transport).await.expect("it opens");
        assert_eq!(End::of(&mut silent).await.reason(), Some(CloseReason::Unauthenticated));
    }
    server.stop().await;
    let server = start().await;
    let bad = Hello { token: Some(Token::new("nonsense")), ..server.hello("sandbox") };
    for transport in TRANSPORTS {
        let mut client = server.connector(PROTOBUF).open(transport).await.expect("it opens");
        for _ in 0..3 {
            client.send(&ClientMessage::Hello(bad.clone())).await.expect("the message is sent");
            let refused = next(&mut client).await;
            let Ok(ServerMessage::Error(notice)) = refused else { panic!("refused: {refused:?}") };
            assert_eq!((notice.code, notice.fatal), (ErrorCode::Unauthenticated, false));
        }
        assert_eq!(End::of(&mut client).await.reason(), Some(CloseReason::Unauthenticated));

        let mut client = server.connector(PROTOBUF).connect(transport, &bad).await.expect("it opens");
        let refused = next(&mut client).await;
        client.send(&ClientMessage::Hello(server.hello("sandbox"))).await.expect("the message is sent");
        let welcomed = next(&mut client).await;
        assert!(matches!(refused, Ok(ServerMessage::Error(_))), "{refused:?}");
        assert!(matches!(welcomed, Ok(ServerMessage::Welcome(_))), "{welcomed:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_hello_is_ignored() {
    let server = start().await;
    for transport in TRANSPORTS {
        let ignored = || server.metric("aether_messages_dropped_total", &[("reason", "out_of_place")]);
        let before = ignored();
        let mut player = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let room = RoomSelector::Type { name: "workshop".into(), label: None };
        player.send(ClientMessage::Hello(Hello { room: Some(room), ..Hello::default() })).await;
        until("the drop", || ignored() == before + 1.0).await;
        player.send(ClientMessage::ManifestRequest).await;
        player.wait("a manifest", |message| matches!(message, ServerMessage::Manifest(_)).then_some(())).await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_headers_are_closed_by_a_deadline() {
    let server = TestServer::start(|config| config.http.header_seconds = 1).await;
    let began = Instant::now();
    let mut stream = TcpStream::connect(server.http).await.expect("the server listens");
    stream.write_all(b"GET /rt HTTP/1.1\r\nHost: local").await.expect("the message is sent");
    let answer = TestServer::read_answer(stream).await;
    assert!(answer.status == 0 || answer.status == 408, "{answer:?}");
    assert!(began.elapsed() >= Duration::from_millis(900), "the deadline was not early");
    // A connection that sends nothing is closed too.
    let silent = TcpStream::connect(server.http).await.expect("the server listens");
    assert_eq!(TestServer::read_answer(silent).await.body, "");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_megabyte_of_headers_is_rejected() {
    let server = start().await;
    let mut stream = TcpStream::connect(server.http).await.expect("the server listens");
    let line = format!("X-Filler: {}\r\n", "a".repeat(1_000_000));
    let request = format!("GET /livez HTTP/1.1\r\nHost: localhost\r\n{line}\r\n");
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(request.as_bytes()).await;
    let answer = TestServer::read_answer(stream).await;
    assert_eq!(answer.status, 431, "{answer:?}");
    let many: Vec<(String, String)> = (0..100).map(|number| (format!("x-{number}"), "y".into())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(server.request(server.http, "GET", "/livez", &many).await.status, 431);
    assert_eq!(server.get("/livez").await.status, 200);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrades_need_a_known_origin_and_a_subprotocol() {
    let server = start().await;
    let upgrade = [
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "BwcHBwcHBwcHBwcHBwcHBw=="),
    ];
    let ask = async |more: &[(&str, &str)]| {
        let headers: Vec<(&str, &str)> = upgrade.iter().chain(more).copied().collect();
        server.request(server.http, "GET", "/rt", &headers).await
    };
    let json = ("sec-websocket-protocol", "aether.v2.json");
    assert_eq!(ask(&[json, ("origin", "http://elsewhere.example")]).await.status, 403);
    assert_eq!(ask(&[json, ("origin", "null")]).await.status, 403);
    let without = ask(&[]).await;
    assert_eq!(without.status, 400);
    assert!(without.json()["error"].as_str().is_some_and(|text| text.contains("aether.v2.protobuf")));
    assert_eq!(ask(&[("sec-websocket-protocol", "chat")]).await.status, 400);
    assert_eq!(server.request(server.http, "GET", "/rt", &[]).await.status, 426);
    assert_eq!(server.connections(), 0, "no connection was opened");
    let own = format!("Origin: http://{}\r\n", server.http);
    RawSocket::open(&server, JSON, &own).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_frames_close_the_connection_with_the_right_code() {
    let server = start().await;
    let broken = [
        (PROTOBUF, masked(Opcode::Binary, &vec![0; HELLO_BYTES_MAX + 1]), 1009),
        // A length of 2^40 in the header alone.
        (PROTOBUF, [&[0x82, 0xFF][..], &(1_u64 << 40).to_be_bytes(), &[1, 2, 3, 4]].concat(), 1009),
        (JSON, masked(Opcode::Text, &[b'"', 0xC3, 0x28, b'"']), 1007),
        (JSON, masked(Opcode::Binary, b"{}"), 1003),
        (PROTOBUF, masked(Opcode::Text, b"{}"), 1003),
        // Unmasked, and compressed without an agreement.
        (PROTOBUF, vec![0x82, 0x01, 0x00], 1002),
        (PROTOBUF, vec![0xC2, 0x81, 1, 2, 3, 4, 0], 1002),
    ];
    for (number, (encoding, frame, code)) in broken.into_iter().enumerate() {
        let mut socket = RawSocket::open(&server, encoding, "").await;
        socket.send(&frame).await;
        assert_eq!(socket.close_code().await, Some(code), "frame {number}");
    }
    assert_eq!(server.metric("aether_connection_errors_total", &[]), 7.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compression_bomb_is_too_large() {
    let server = TestServer::start(|config| config.connections.compression = true).await;
    let mut deflated = Vec::new();
    let mut encoder = flate2::write::DeflateEncoder::new(&mut deflated, flate2::Compression::best());
    std::io::Write::write_all(&mut encoder, &vec![b' '; 4_000_000]).expect("memory takes all");
    encoder.finish().expect("memory takes all");
    assert!(deflated.len() < HELLO_BYTES_MAX, "{} bytes are a small frame", deflated.len());
    let mut frame = masked(Opcode::Text, &deflated);
    frame[0] |= 0x40;
    let mut socket =
        RawSocket::open(&server, JSON, "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n")
            .await;
    socket.send(&frame).await;
    assert_eq!(socket.close_code().await, Some(1009));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_websocket_pings_is_closed() {
    let server = start().await;
    let ping = masked(Opcode::Ping, b"hello?");
    let mut stranger = RawSocket::open(&server, PROTOBUF, "").await;
    stranger.send(&ping.repeat(100)).await;
    assert_eq!(stranger.close_code().await, Some(4_000 + CloseReason::Unauthenticated.number() as u16));

    let mut member = RawSocket::open(&server, PROTOBUF, "").await;
    member.send(&masked(Opcode::Binary, &encoded(&ClientMessage::Hello(server.hello("workshop"))))).await;
    server.until_metric("aether_room_events_total", &[("kind", "joins")], 1.0).await;
    member.send(&ping.repeat(2_000)).await;
    assert_eq!(member.close_code().await, Some(4_000 + CloseReason::Flooded.number() as u16));
    server.until_metric("aether_connections_closed_total", &[("reason", "flooded")], 1.0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_handshake_long_messages_are_rejected() {
    let server = start().await;
    let long = encoded(&ClientMessage::Game(GameMessage {
        seq: CommandSeq(1),
        body: GameBody::Packed { code: 0, payload: vec![0; 600] },
    }));
    for transport in TRANSPORTS {
        let before = server.metric("aether_connection_errors_total", &[]);
        let mut player = server.join(transport, PROTOBUF, &server.hello("workshop")).await;
        player.send_frame(&long).await;
        let end = player.end().await;
        if transport == TransportKind::WebSocket {
            assert_eq!(end.code, Some(1009));
        }
        assert_eq!(server.metric("aether_connection_errors_total", &[]), before + 1.0);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fragments_are_rejected_before_the_hello_and_reassembled_after_it() {
    let server = start().await;
    let payload: Vec<u8> = (0..5_500_u32).map(|number| number as u8).collect();
    let mut listener = server.join(TransportKind::WebSocket, PROTOBUF, &server.hello("relay")).await;
    for (transport, encoding) in TRANSPORTS.into_iter().flat_map(|transport| [(transport, JSON), (transport, PROTOBUF)])
    {
        let mut early = server.connector(encoding).open(transport).await.expect("it opens");
        let part = Fragment { message: MessageId(1), index: 0, total: 2, bytes: vec![1; 10] };
        for _ in 0..20 {
            early.send(&ClientMessage::Fragment(part.clone())).await.expect("the message is sent");
        }
        assert_eq!(End::of(&mut early).await.reason(), Some(CloseReason::Unauthenticated));

        let mut player = server.join(transport, encoding, &server.hello("relay")).await;
        let body = GameBody::Packed { code: 7, payload: payload.clone() };
        let message = ClientMessage::Game(GameMessage { seq: CommandSeq(1), body: body.clone() });
        let mut whole = Vec::new();
        encoding.encode_client(&message, &mut whole).expect("the message can be encoded");
        let cut = fragment(MessageId(5), &whole, CLIENT_FRAGMENT_BYTES).expect("it can be cut");
        let mut parts: Vec<Fragment> = cut.collect();
        // Order does not matter, and neither do duplicates.
        parts.reverse();
        parts.push(parts[3].clone());
        for part in parts {
            player.send(ClientMessage::Fragment(part)).await;
        }
        assert_eq!(player.answer(1).await, None, "over {} in {encoding:?}", transport.name());
        let heard = listener
            .wait("the message", |message| match message {
                ServerMessage::Event(event) => {
                    Some(event.body).filter(|body| matches!(body, GameBody::Packed { code: 7, .. }))
                }
                _ => None,
            })
            .await;
        assert!(heard == body, "the message is unchanged");
    }
    assert_eq!(server.metric("aether_messages_dropped_total", &[("reason", "fragment")]), 0.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contradictory_fragments_close_the_connection() {
    let server = TestServer::start(|config| {
        config.connections.messages_per_second = 100_000;
        config.connections.messages_burst = 100_000;
    })
    .await;
    let part = |message: u32, index: u32, total: u32| {
        let data = "AAAA".repeat(40);
        format!(
            r#"{{"v":2,"kind":"fragment","payload":{{"message":{message},"index":{index},"total":{total},"data":"{data}"}}}}"#
        )
    };
    let beyond: Vec<String> = (1..=20).map(|message| part(message, 9, 2)).collect();
    let changing: Vec<String> = (2..=40).map(|total| part(1, 0, total)).collect();
    let nothing: Vec<String> = (1..=20).map(|message| part(message, 0, 0)).collect();
    let endless: Vec<String> = (1..=20).map(|message| part(message, 0, 65_535)).collect();
    let unfinished: Vec<String> = (1..=10_000).map(|message| part(message, 0, 256)).collect();
    for transport in TRANSPORTS {
        for (name, parts) in [
            ("beyond", &beyond),
            ("changing", &changing),
            ("nothing", &nothing),
            ("endless", &endless),
            ("unfinished", &unfinished),
        ] {
            let refused = || {
                server.metric("aether_messages_dropped_total", &[("reason", "fragment")])
                    + server.metric("aether_decode_errors_total", &[])
            };
            let before = refused();
            let mut player = server.join(transport, JSON, &server.hello("relay")).await;
            for part in parts {
                // The server may close before it has read everything.
                if player.client.send_frame(DeliveryPath::Reliable, part.as_bytes()).await.is_err() {
                    break;
                }
            }
            // With so much unread data, the connection may be reset before the closing message arrives.
            let end = player.end().await;
            assert!(matches!(end.reason(), Some(CloseReason::Flooded) | None), "{name}: {end:?}");
            assert!(refused() > before + 7.0, "{name} over {}", transport.name());
        }
    }
    server.until_metric("aether_connections_closed_total", &[("reason", "flooded")], 10.0).await;
    server.stop().await;
}
