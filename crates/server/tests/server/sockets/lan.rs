//! Local network by multicast over loopback: bad packets, limits, and streams.

use aether_client_native::{LanSettings, Spectator, SpectatorError, SpectatorUpdate, find_servers};
use aether_testkit_server::{DEADLINE, PROTOBUF, TestServer, TransportKind};
use aether_wire::lan::{
    FrameBody, LAN_DATAGRAM_BYTES_MAX, LanAnswer, LanOffer, LanQuery, LanWatch, QUERY_BYTES, ServerKey, StreamFrame,
    StreamRefusal,
};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Group with a port that no other test uses, on loopback.
async fn lan() -> LanSettings {
    let free = UdpSocket::bind("127.0.0.1:0").await.expect("a free port").local_addr().expect("an address");
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 255, 73, 50), free.port());
    LanSettings { group, interface: Ipv4Addr::LOCALHOST }
}

async fn serve(lan: LanSettings) -> TestServer {
    TestServer::start(|config| {
        config.multicast.enabled = true;
        config.multicast.group = SocketAddr::V4(lan.group);
        config.multicast.interface = lan.interface;
        config.multicast.name = Some("Den".to_owned());
        config.multicast.spectate = vec!["sandbox".to_owned()];
        config.multicast.streams_max = 1;
        config.multicast.announce_seconds = 0;
    })
    .await
}

/// Socket that sends to the group and receives the answers.
struct Stranger {
    socket: UdpSocket,
    lan: LanSettings,
}

impl Stranger {
    async fn new(lan: LanSettings) -> Stranger {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
        socket2::SockRef::from(&socket).set_multicast_if_v4(&Ipv4Addr::LOCALHOST).expect("an interface");
        Stranger { socket, lan }
    }

    async fn send(&self, packet: &[u8]) {
        self.socket.send_to(packet, self.lan.group).await.expect("sent");
    }

    /// Next answer to a query of this nonce, without those of others.
    async fn answer(&self, nonce: u64) -> (LanAnswer, usize) {
        let mut packet = [0; 2_048];
        loop {
            let length = timeout(DEADLINE, self.socket.recv(&mut packet)).await.expect("an answer").expect("received");
            match LanAnswer::decode(&packet[..length]) {
                Ok(answer) if answer.nonce == nonce => return (answer, length),
                _ => {}
            }
        }
    }

    async fn offer(&self, watch: &LanWatch) -> LanOffer {
        self.send(&watch.encode()).await;
        let mut packet = [0; 2_048];
        loop {
            let length = timeout(DEADLINE, self.socket.recv(&mut packet)).await.expect("an offer").expect("received");
            if let Ok(offer) = LanOffer::decode(&packet[..length]) {
                return offer;
            }
        }
    }
}

async fn found_key(lan: &LanSettings) -> ServerKey {
    let search = async {
        loop {
            let found = find_servers(lan, "", Duration::from_millis(300)).await.expect("the sockets work");
            if let Some(server) = found.first() {
                return server.key;
            }
        }
    };
    timeout(DEADLINE, search).await.expect("the server answers")
}

#[tokio::test]
async fn bad_packets_are_dropped_and_counted_and_an_answer_is_not_longer_than_its_query() {
    let lan = lan().await;
    let server = serve(lan).await;
    let stranger = Stranger::new(lan).await;
    let query = LanQuery { nonce: 77, ..LanQuery::default() }.encode();
    let mut version = query.clone();
    version[4] = 9;
    let mut name = query.clone();
    name[6 + 8 + 8 + 2] = 255;
    for bad in [&[][..], &[0], &[0xA5; 700], &version, &query[..QUERY_BYTES - 1], &[&query[..], &[0]].concat(), &name] {
        stranger.send(bad).await;
    }
    stranger.send(&query).await;
    let (answer, length) = stranger.answer(77).await;
    assert!(length <= QUERY_BYTES);
    assert_eq!((answer.name.as_str(), answer.version.as_str(), answer.http_port), ("Den", "1.2.3", server.http.port()));
    for (reason, count) in [("foreign", 4.0), ("length", 2.0), ("malformed", 1.0)] {
        assert_eq!(server.metric("aether_multicast_dropped_total", &[("reason", reason)]), count, "{reason}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_flood_of_queries_is_limited_and_the_server_answers_later() {
    let lan = lan().await;
    let server = serve(lan).await;
    let stranger = Stranger::new(lan).await;
    let query = LanQuery { nonce: 5, ..LanQuery::default() }.encode();
    for _ in 0..2_000 {
        stranger.send(&query).await;
    }
    // The limit of a source is 20 requests per second, so that it is free again after a while.
    let later = async {
        loop {
            stranger.send(&LanQuery { nonce: 6, ..LanQuery::default() }.encode()).await;
            if timeout(Duration::from_millis(200), stranger.answer(6)).await.is_ok() {
                return;
            }
        }
    };
    timeout(DEADLINE, later).await.expect("the server answers again");
    assert!(server.metric("aether_multicast_dropped_total", &[("reason", "rate_limited")]) > 0.0);
    server.stop().await;
}

#[tokio::test]
async fn only_public_rooms_of_offered_types_are_streamed_and_not_too_many() {
    let lan = lan().await;
    let server = serve(lan).await;
    let key = found_key(&lan).await;
    let stranger = Stranger::new(lan).await;
    let mut rooms = Vec::new();
    for (room_type, label) in [("sandbox", "one"), ("workshop", "two"), ("relay", "three"), ("sandbox", "four")] {
        let mut hello = server.hello(room_type);
        hello.room =
            Some(aether_wire::RoomSelector::Type { name: room_type.to_owned(), label: Some(label.to_owned()) });
        let player = server.join(TransportKind::WebSocket, PROTOBUF, &hello).await;
        rooms.push((player.welcome.room.0.clone(), player));
    }
    let watch = |room: &str| LanWatch { nonce: 3, server: key.id(), room: room.to_owned() };
    let offer = stranger.offer(&watch("no such room")).await;
    assert_eq!(offer.stream, Err(StreamRefusal::NotOffered));
    let first = stranger.offer(&watch(&rooms[0].0)).await.stream.expect("offered");
    assert_eq!(first.group.ip(), &Ipv4Addr::new(239, 255, 73, 51));
    for (at, refusal) in [(1, StreamRefusal::NotOffered), (2, StreamRefusal::NotOffered), (3, StreamRefusal::TooMany)] {
        assert_eq!(stranger.offer(&watch(&rooms[at].0)).await.stream, Err(refusal), "room {at}");
    }
    assert_eq!(stranger.offer(&watch(&rooms[0].0)).await.stream, Ok(first), "one stream for all");
    server.stop().await;
}

#[tokio::test]
async fn a_viewer_ignores_frames_that_the_server_has_not_signed() {
    let lan = lan().await;
    let server = serve(lan).await;
    let player = server.join(TransportKind::WebSocket, PROTOBUF, &server.hello("sandbox")).await;
    let key = found_key(&lan).await;
    let room = player.welcome.room.0.clone();
    let other = ServerKey([9; 32]);
    let unknown = timeout(DEADLINE, Spectator::open(&lan, other, &room)).await.expect("it ends");
    assert!(matches!(unknown, Err(SpectatorError::NoAnswer)));
    let mut spectator = Spectator::open(&lan, key, &room).await.expect("the room is offered");
    let update = timeout(DEADLINE, spectator.next()).await.expect("a key frame").expect("the stream goes on");
    assert!(matches!(update, SpectatorUpdate::KeyFrame { .. }), "{update:?}");
    assert_eq!(spectator.key_frame().expect("there is a key frame").room_type, "sandbox");
    let entities = spectator.mirror().expect("there is a key frame").entities().count();
    assert!(entities > 0);
    let stranger = Stranger::new(lan).await;
    let offer = stranger.offer(&LanWatch { nonce: 1, server: key.id(), room }).await.stream.expect("it runs");
    for body in [FrameBody::State(b"forged"), FrameBody::KeyPart { part: 0, parts: 1, bytes: b"forged" }] {
        let mut forged = StreamFrame { stream: offer.stream, epoch: u32::MAX, sequence: 1, body }.encode();
        forged.extend_from_slice(&[0; 64]);
        assert!(forged.len() < LAN_DATAGRAM_BYTES_MAX);
        stranger.socket.send_to(&forged, offer.group).await.expect("the socket works");
    }
    let next_key_frames = async {
        while spectator.stats().key_frames < 3 || spectator.stats().forged < 2 {
            spectator.next().await.expect("the stream goes on");
        }
    };
    timeout(DEADLINE, next_key_frames).await.expect("key frames follow");
    assert_eq!(spectator.mirror().expect("there is a key frame").entities().count(), entities);
    drop(player);
    server.stop().await;
}
