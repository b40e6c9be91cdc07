//! Datagrams that no client sends, and clients that do not read: bounded, counted, and without effect on others.

use super::support::{DROPPED, UdpPlayer};
use aether_rudp::ConnectionState;
use aether_testkit_server::{DEADLINE, TestServer, until};
use aether_wire::{ClientMessage, CommandSeq, GameBody, GameMessage, Ping};
use tokio::net::UdpSocket;
use tokio::time::Instant;

/// Bytes that look random, always the same.
fn noise(seed: &mut u64, length: usize) -> Vec<u8> {
    let mut byte = || {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed >> 24) as u8
    };
    (0..length).map(|_| byte()).collect()
}

fn dropped(server: &TestServer) -> f64 {
    server.metric(DROPPED, &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_are_dropped_and_another_client_plays_on() {
    let server = TestServer::start(|_| {}).await;
    let mut player = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    let address = server.running().udp.expect("UDP is enabled");
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port is free");
    let (before, mut seed) = (dropped(&server), 0x9E37_79B9_7F4A_7C15);
    for round in 0..20 {
        for number in 0..1_000 {
            let length = [0, 1, 8, 9, 40, 1_199, 1_200, 1_201][number % 8];
            let _ = socket.try_send_to(&noise(&mut seed, length), address);
        }
        player.client.ping().await;
        assert_eq!(server.connections(), 1, "round {round}");
    }
    until("the counter", || dropped(&server) > before + 1_000.0).await;
    assert_eq!(server.metric("aether_udp_handshakes_total", &[("result", "accepted")]), 1.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn altered_and_repeated_packets_are_dropped() {
    let server = TestServer::start(|_| {}).await;
    let mut player = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    let mut other = UdpPlayer::join(&server, &server.hello("sandbox")).await;
    let client = &mut player.client;
    client.send(&ClientMessage::Ping(Ping::default()));
    let packets = client.due();
    assert!(!packets.is_empty(), "a ping is due");
    for packet in &packets {
        // One bit of every byte: kind, connection id, number, contents and seal.
        for at in 0..packet.len() {
            let mut altered = packet.clone();
            altered[at] ^= 1 << (at % 8);
            client.send_raw(&altered).await;
        }
    }
    let altered: usize = packets.iter().map(Vec::len).sum();
    until("the counters", || dropped(&server) >= altered as f64 * 0.9).await;
    // The true packet still counts, once.
    for packet in &packets {
        client.send_raw(packet).await;
        client.send_raw(packet).await;
    }
    server.until_metric(DROPPED, &[("reason", "replayed")], packets.len() as f64).await;
    client.wait("a pong", |message| matches!(message, aether_wire::ServerMessage::Pong(_)).then_some(())).await;
    assert_eq!(client.client.state(), ConnectionState::Open);
    other.client.ping().await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_never_reads_is_closed_and_the_others_play_on() {
    let server = TestServer::start(|config| config.connections.write_stall_seconds = 1).await;
    let mut first = UdpPlayer::join(&server, &server.hello("relay")).await;
    let mut second = UdpPlayer::join(&server, &server.hello("relay")).await;
    let silent = UdpPlayer::join(&server, &server.hello("relay")).await;
    // From here on the third member neither reads nor acknowledges.
    let end = Instant::now() + DEADLINE;
    let mut sent = 0_u32;
    while server.metric("aether_connections_closed_total", &[("reason", "too_slow")]) == 0.0 {
        assert!(Instant::now() < end, "the silent member is not closed");
        let body = GameBody::Packed { code: 7, payload: vec![1; 400] };
        first.client.send(&ClientMessage::Game(GameMessage { seq: CommandSeq(0), body }));
        sent += 1;
        let a_moment = Instant::now() + std::time::Duration::from_millis(10);
        first.client.step(a_moment).await;
        second.client.step(Instant::now()).await;
    }
    assert!(sent > 0);
    first.client.ping().await;
    second.client.ping().await;
    assert_eq!(silent.client.client.state(), ConnectionState::Open, "it does not even know");
    server.stop().await;
}
