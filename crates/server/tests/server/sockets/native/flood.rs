//! A server that says more than the game takes in.

use super::support::Seat;
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

/// More than a client and two systems may keep of a flood: far more than the client's own bound.
const FLOOD_BYTES: usize = 128 << 20;
/// A server that could write nothing for this long is not read from.
const PAUSE: Duration = Duration::from_secs(2);

/// Opens a WebSocket by hand.
async fn accept(listener: TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.expect("a client comes");
    let mut head = Vec::new();
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        assert!(stream.read_buf(&mut head).await.expect("the client speaks") > 0);
    }
    let head = String::from_utf8(head).expect("requests are text");
    let value = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name)).expect("it is there");
        line.split_once(": ").expect("it has a value").1.to_owned()
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
async fn a_game_that_stands_still_stops_the_server_and_not_the_machine() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("there is a free port");
    let address = listener.local_addr().expect("it is bound");
    let settings = NativeClientSettings {
        transport: TransportPreference::Only(TransportKind::WebSocket),
        ..NativeClientSettings::default()
    };
    let mut seat = Seat::new(&format!("http://{address}"), None, settings, TrustStore::system());
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
    seat.until("a connection", |seat| seat.shell.transport().is_some()).await;

    // The game stands still: before long nothing more can be written.
    let stopped = async {
        loop {
            let before = written.load(Ordering::Relaxed);
            tokio::time::sleep(PAUSE).await;
            if written.load(Ordering::Relaxed) == before {
                return before;
            }
        }
    };
    let before = timeout(2 * DEADLINE, stopped).await.expect("the flood comes to a stop");
    assert!(before < FLOOD_BYTES, "all of it was taken in");

    // It goes on, and so does the server.
    seat.until("more of the flood", |_| written.load(Ordering::Relaxed) > before).await;
    assert!(seat.shell.client().stats().faults > 0, "what makes no sense is counted");
    flooding.abort();
}
