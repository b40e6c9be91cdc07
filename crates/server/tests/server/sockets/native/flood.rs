//! A server that sends more than the game reads.

use super::support::NativePlayer;
use aether_client_native::{NativeClientSettings, TransportKind, TransportPreference, TrustStore};
use aether_framing::websocket::codec::{Opcode, frame_bytes};
use aether_framing::websocket::handshake::accept_key;
use aether_testkit_server::DEADLINE;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// More than the client and the socket buffers of both ends may hold.
const FLOOD_BYTES: usize = 128 << 20;
/// If the server cannot write for this long, the client has stopped reading.
const PAUSE: Duration = Duration::from_secs(2);

/// Accepts a WebSocket.
async fn accept(listener: TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.expect("a client connects");
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut head).await.expect("the client sends a request") > 0);
    }
    let head = String::from_utf8(head).expect("requests are text");
    let value = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name)).expect("the header exists");
        line.split_once(": ").expect("the header has a value").1.to_owned()
    };
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\
         Sec-WebSocket-Protocol: {}\r\n\r\n",
        accept_key(&value("sec-websocket-key")),
        value("sec-websocket-protocol"),
    );
    stream.write_all(answer.as_bytes()).await.expect("the client reads");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_that_runs_no_frames_stops_the_flood_by_back_pressure() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("the socket is bound");
    let settings = NativeClientSettings {
        transport: TransportPreference::Only(TransportKind::WebSocket),
        ..NativeClientSettings::default()
    };
    let mut player = NativePlayer::new(&format!("http://{address}"), None, settings, TrustStore::system());
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let flooding = tokio::spawn(async move {
        let mut stream = accept(listener).await;
        // Tiny frames, which cost the client more than their bytes.
        let mut frames = Vec::new();
        (0..10_000).for_each(|_| frame_bytes(&mut frames, Opcode::Binary, b"?"));
        while count.load(Ordering::Relaxed) < FLOOD_BYTES && stream.write_all(&frames).await.is_ok() {
            count.fetch_add(frames.len(), Ordering::Relaxed);
        }
    });
    player.until("a connection", |player| player.native.transport().is_some()).await;

    // Without frames of the game, writes stop after a while.
    let stopped = async {
        loop {
            let before = written.load(Ordering::Relaxed);
            tokio::time::sleep(PAUSE).await;
            if written.load(Ordering::Relaxed) == before {
                return before;
            }
        }
    };
    let before = timeout(2 * DEADLINE, stopped).await.expect("the flood stops");
    assert!(before < FLOOD_BYTES, "the whole flood was read");

    // With frames, writes continue.
    player.until("more of the flood", |_| written.load(Ordering::Relaxed) > before).await;
    assert!(player.native.client().stats().faults > 0, "invalid messages are counted");
    flooding.abort();
}
