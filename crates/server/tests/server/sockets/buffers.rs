//! Buffer sizes, and pings of silent WebSockets.

use aether_framing::websocket::codec::{Incoming, Opcode};
use aether_server::config::Config;
use aether_testkit_server::{DEADLINE, JSON, RawSocket, TestServer, masked, until};
use aether_wire::ClientMessage;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

/// Receive buffer of a client that does not read.
const CLIENT_BYTES: u32 = 4_096;

/// Lets a client send any number of messages, and sets all buffers to a small size.
fn small_buffers(config: &mut Config) {
    config.connections.messages_per_second = 100_000;
    config.connections.messages_burst = 100_000;
    config.connections.write_stall_seconds = 1;
    config.connections.read_buffer_bytes = 1_024;
    config.connections.write_buffer_bytes = 4_096;
    config.http.socket_unsent_bytes = 1_024;
    config.http.socket_send_bytes = Some(4_096);
    config.http.socket_receive_bytes = Some(4_096);
}

fn ping(number: u32) -> Vec<u8> {
    masked(Opcode::Text, format!(r#"{{"v":2,"kind":"ping","clientTime":{number},"payload":{{"tick":1}}}}"#).as_bytes())
}

async fn join(server: &TestServer, mut socket: RawSocket) -> RawSocket {
    let mut hello = Vec::new();
    ClientMessage::Hello(server.hello("relay")).encode_json(&mut hello).expect("the message can be encoded");
    socket.send(&masked(Opcode::Text, &hello)).await;
    socket
        .read_until("a welcome", |incoming| matches!(incoming, Incoming::Text(text) if text.contains("welcome")))
        .await;
    socket
}

/// Bytes that the server and its system held for a client that does not read.
#[derive(Debug)]
struct Held {
    /// Bytes of answers to the client, in all buffers together.
    answered: u64,
    /// Most bytes in the system's send buffer, and in its receive buffer.
    to_send: u64,
    received: u64,
}

/// Sends pings without reading the answers, until the server closes the connection.
async fn flood(change: impl FnOnce(&mut Config)) -> Held {
    let server = TestServer::start(|config| {
        small_buffers(config);
        change(config);
    })
    .await;
    let socket = RawSocket::open_slow(&server, JSON, CLIENT_BYTES).await;
    let mut socket = join(&server, socket).await;
    let client = socket.stream.local_addr().expect("it is connected");
    let pings: Vec<u8> = (1..=100).flat_map(ping).collect();
    let mut held = Held { answered: 0, to_send: 0, received: 0 };
    let flooding = async { while socket.stream.write_all(&pings).await.is_ok() {} };
    let watching = async {
        let mut pace = tokio::time::interval(Duration::from_millis(5));
        loop {
            pace.tick().await;
            if let Some((to_send, received)) = system_queues(server.http, client) {
                held.to_send = held.to_send.max(to_send);
                held.received = held.received.max(received);
            }
        }
    };
    let flood = async {
        tokio::select! {
            () = flooding => {}
            () = watching => {}
        }
    };
    timeout(DEADLINE, flood).await.expect("the server closes the connection");
    held.answered = server.metric("aether_bytes_sent_total", &[]) as u64;
    until("the reason", || server.metric("aether_connections_closed_total", &[("reason", "too_slow")]) == 1.0).await;
    server.stop().await;
    held
}

/// Bytes in the system's buffers of a connection, on the server's side: to be sent or acknowledged, and received.
fn system_queues(server: SocketAddr, client: SocketAddr) -> Option<(u64, u64)> {
    let table = std::fs::read_to_string("/proc/net/tcp").ok()?;
    let hexadecimal = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
    let (server, client) = (hexadecimal(server), hexadecimal(client));
    table.lines().find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let is_it = columns.next() == Some(&server) && columns.next() == Some(&client);
        let queues = columns.nth(1).filter(|_| is_it)?;
        let (to_send, received) = queues.split_once(':')?;
        Some((u64::from_str_radix(to_send, 16).ok()?, u64::from_str_radix(received, 16).ok()?))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_held_to_the_write_buffer() {
    let small = flood(|_| {}).await;
    assert!(small.answered < 40_000, "{small:?}");
    let large = flood(|config| {
        config.connections.write_buffer_bytes = 100_000;
        // Time for a thousand answers on a busy machine.
        config.connections.write_stall_seconds = 5;
    });
    let large = large.await;
    assert!((100_000..200_000).contains(&large.answered), "{large:?}");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_buffers_of_the_system_have_the_configured_sizes() {
    let small = flood(|_| {}).await;
    assert!(small.to_send < 16_384 && small.received < 16_384, "{small:?}");
    // The unsent bytes alone do not fill a small send buffer, nor a small limit a large buffer.
    let unsent = flood(|config| config.http.socket_unsent_bytes = 1_000_000).await;
    assert!(unsent.to_send < 32_768, "{unsent:?}");
    let buffered = flood(|config| {
        config.connections.write_buffer_bytes = 400_000;
        config.http.socket_send_bytes = Some(400_000);
    })
    .await;
    assert!(buffered.to_send < 32_768, "{buffered:?}");
    let both = flood(|config| {
        config.connections.write_buffer_bytes = 400_000;
        config.http.socket_send_bytes = Some(400_000);
        config.http.socket_unsent_bytes = 1_000_000;
    })
    .await;
    assert!(both.to_send > 65_536, "{both:?}");
    let receive = flood(|config| config.http.socket_receive_bytes = Some(400_000)).await;
    assert!(receive.received > 65_536 && receive.to_send < 16_384, "{receive:?}");
}

/// Number of pongs for pings that arrive together. The server answers only the last ping of each read.
async fn pongs(read_buffer_bytes: usize) -> usize {
    let server = TestServer::start(|config| {
        config.connections.messages_per_second = 100_000;
        config.connections.messages_burst = 100_000;
        config.connections.read_buffer_bytes = read_buffer_bytes;
    })
    .await;
    let socket = RawSocket::open(&server, JSON, "").await;
    let mut socket = join(&server, socket).await;
    let mut bytes: Vec<u8> = (0..40).flat_map(|_| masked(Opcode::Ping, &[7; 120])).collect();
    bytes.extend(ping(1));
    socket.send(&bytes).await;
    let mut pongs = 0;
    socket
        .read_until("the answer to the message", |incoming| match incoming {
            Incoming::Pong(_) => {
                pongs += 1;
                false
            }
            Incoming::Text(text) => text.contains("pong"),
            _ => false,
        })
        .await;
    server.stop().await;
    pongs
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_reads_as_much_as_its_buffer_holds() {
    // 40 pings of 126 bytes are read in at least five parts.
    let small = pongs(1_024).await;
    assert!(small >= 5, "{small} pongs");
    let large = pongs(65_536).await;
    assert!(large < small, "{large} pongs with a large buffer, {small} with a small one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_websocket_is_pinged_after_the_configured_time() {
    let server = TestServer::start(|config| {
        config.connections.idle_seconds = 3_600;
        config.connections.ping_seconds = Some(1);
    })
    .await;
    let socket = RawSocket::open(&server, JSON, "").await;
    let mut socket = join(&server, socket).await;
    let silent_since = Instant::now();
    // By default it would take half an hour.
    socket.read_until("a ping", |incoming| matches!(incoming, Incoming::Ping(_))).await;
    assert!(silent_since.elapsed() > Duration::from_millis(900), "{:?}", silent_since.elapsed());
    server.stop().await;
}
