//! Tests over a WebSocket on loopback, in real time.

use super::echo::{BURST, Served, Server};
use aether_framing::websocket::codec::{Decoder, Incoming, Opcode, Role, client_frame};
use aether_net::ConnectionSettings;
use aether_net::websocket::WebSocket;
use aether_wire::{CloseReason, Encoding};
use std::collections::VecDeque;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;

/// Timeout of each step.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);
const BYTES_MAX: usize = 1 << 20;

/// Message or frame that a client received.
#[derive(Clone, Debug, PartialEq)]
enum Received {
    Message(String),
    Ping,
    Closed(Option<u16>),
}

struct Client {
    stream: TcpStream,
    decoder: Decoder,
    received: VecDeque<Received>,
}

impl Client {
    async fn send(&mut self, opcode: Opcode, payload: &[u8]) {
        let mut frame = Vec::new();
        client_frame(&mut frame, opcode, [1, 2, 3, 4], payload);
        self.stream.write_all(&frame).await.expect("the server reads");
    }

    async fn send_text(&mut self, text: &str) {
        self.send(Opcode::Text, text.as_bytes()).await;
    }

    async fn receive(&mut self) -> Received {
        loop {
            if let Some(received) = self.received.pop_front() {
                return received;
            }
            let mut bytes = Vec::new();
            let read =
                timeout(STEP_TIMEOUT, self.stream.read_buf(&mut bytes)).await.expect("the server sends something");
            if read.expect("the connection is not lost") == 0 {
                return Received::Closed(None);
            }
            let received = &mut self.received;
            let fed = self.decoder.feed(&mut bytes, &mut |incoming| {
                received.push_back(match incoming {
                    Incoming::Text(text) => Received::Message(text.to_owned()),
                    Incoming::Ping(_) => Received::Ping,
                    Incoming::Close { code, .. } => Received::Closed(code),
                    other => panic!("{other:?}"),
                });
            });
            fed.expect("the frames are valid");
        }
    }

    /// Returns everything until the server closes, except pings.
    async fn receive_all(&mut self) -> Vec<Received> {
        let mut all = Vec::new();
        loop {
            match self.receive().await {
                Received::Ping => {}
                closed @ Received::Closed(_) => {
                    all.push(closed);
                    return all;
                }
                message @ Received::Message(_) => all.push(message),
            }
        }
    }
}

fn settings() -> ConnectionSettings {
    let second = Duration::from_secs(1);
    ConnectionSettings { handshake: second, idle: 2 * second, write_stall: second, ..ConnectionSettings::default() }
}

/// Connects a peer with a small receive buffer.
async fn connect(server: &Server, is_open: bool) -> (Served, Client) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let socket = TcpSocket::new_v4().expect("the system has sockets");
    socket.set_recv_buffer_size(4_096).expect("buffers can be small");
    let address = listener.local_addr().expect("it is bound");
    let (stream, accepted) = tokio::join!(socket.connect(address), listener.accept());
    let (accepted, _) = accepted.expect("the client connects");
    let served = server.serve(WebSocket::new(accepted, Encoding::Json, false), is_open);
    let decoder = Decoder::new(Role::Client, BYTES_MAX);
    (served, Client { stream: stream.expect("the server listens"), decoder, received: VecDeque::new() })
}

fn end(reason: CloseReason) -> [Received; 2] {
    [Received::Message(format!("end {}", reason.name())), Received::Closed(Some(4_000 + reason.number() as u16))]
}

#[tokio::test]
async fn answers_are_immediate_or_delayed_and_the_server_can_push() {
    let server = Server::new(settings());
    let (served, mut client) = connect(&server, true).await;
    let long = format!("now {}", "x".repeat(10_000));
    client.send_text("later a").await;
    client.send_text(&long).await;
    assert_eq!(client.receive().await, Received::Message(long));
    assert_eq!(client.receive().await, Received::Message("later a".to_owned()));
    served.push.send(b"pushed".to_vec()).expect("the connection is open");
    assert_eq!(client.receive().await, Received::Message("pushed".to_owned()));
    client.send_text("leave").await;
    assert_eq!(client.receive_all().await, [Received::Message("end left".to_owned()), Received::Closed(Some(1_000))]);
}

#[tokio::test]
async fn a_peer_without_a_login_in_time_is_closed() {
    let server = Server::new(settings());
    let (_served, mut client) = connect(&server, false).await;
    assert_eq!(client.receive_all().await, end(CloseReason::Unauthenticated));
}

#[tokio::test]
async fn a_silent_peer_is_probed_and_then_closed() {
    let server = Server::new(settings());
    let (_served, mut client) = connect(&server, true).await;
    let began = Instant::now();
    // The connection stays open while the peer answers pings.
    while began.elapsed() < settings().idle * 2 {
        assert_eq!(client.receive().await, Received::Ping);
        client.send(Opcode::Pong, b"").await;
    }
    assert_eq!(client.receive_all().await, end(CloseReason::TimedOut));
}

#[tokio::test]
async fn a_flood_is_dropped_and_closes_the_connection() {
    let server = Server::new(settings());
    let (served, mut client) = connect(&server, true).await;
    let mut frames = Vec::new();
    (0..300).for_each(|_| client_frame(&mut frames, Opcode::Text, [1, 2, 3, 4], b"now x"));
    client.stream.write_all(&frames).await.expect("the server reads");
    let received = client.receive_all().await;
    assert!(received.ends_with(&end(CloseReason::Flooded)), "{:?}", received.last());
    let handled = served.handled();
    assert!((BURST as usize..250).contains(&handled), "{handled} were handled");
}

#[tokio::test]
async fn the_stop_of_the_server_is_announced() {
    let server = Server::new(ConnectionSettings { idle: STEP_TIMEOUT, ..settings() });
    let (_served, mut client) = connect(&server, true).await;
    server.connections.announce_stop(Duration::from_secs(7));
    assert_eq!(client.receive().await, Received::Message("stop 7000".to_owned()));
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_closed_as_too_slow() {
    let server = Server::new(ConnectionSettings { idle: STEP_TIMEOUT, ..settings() });
    let (served, mut client) = connect(&server, true).await;
    client.send_text("flood").await;
    timeout(STEP_TIMEOUT, served.task).await.expect("the stall is detected").expect("the task does not panic");
    assert!(server.has_closed("too_slow"));
}

#[tokio::test]
async fn framing_errors_close_with_websocket_codes() {
    let server = Server::new(settings());
    let (_served, mut client) = connect(&server, true).await;
    client.send(Opcode::Binary, b"now x").await;
    assert_eq!(client.receive_all().await, [Received::Closed(Some(1_003))]);
    let (_served, mut client) = connect(&server, true).await;
    client.send(Opcode::Text, &[b'x'; 20_000]).await;
    assert_eq!(client.receive_all().await, [Received::Closed(Some(1_009))]);
}
