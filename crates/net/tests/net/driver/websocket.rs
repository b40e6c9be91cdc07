//! Over a WebSocket on this machine, in real time.

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

/// Nothing here takes that long.
const PATIENCE: Duration = Duration::from_secs(30);
const BYTES_MAX: usize = 1 << 20;

/// Message or frame that a client hears.
#[derive(Clone, Debug, PartialEq)]
enum Heard {
    Message(String),
    Ping,
    Closed(Option<u16>),
}

struct Client {
    stream: TcpStream,
    decoder: Decoder,
    heard: VecDeque<Heard>,
}

impl Client {
    async fn send(&mut self, opcode: Opcode, payload: &[u8]) {
        let mut frame = Vec::new();
        client_frame(&mut frame, opcode, [1, 2, 3, 4], payload);
        self.stream.write_all(&frame).await.expect("the server reads");
    }

    async fn say(&mut self, text: &str) {
        self.send(Opcode::Text, text.as_bytes()).await;
    }

    async fn hear(&mut self) -> Heard {
        loop {
            if let Some(heard) = self.heard.pop_front() {
                return heard;
            }
            let mut bytes = Vec::new();
            let read = timeout(PATIENCE, self.stream.read_buf(&mut bytes)).await.expect("the server says something");
            if read.expect("the connection holds") == 0 {
                return Heard::Closed(None);
            }
            let heard = &mut self.heard;
            let fed = self.decoder.feed(&mut bytes, &mut |incoming| {
                heard.push_back(match incoming {
                    Incoming::Text(text) => Heard::Message(text.to_owned()),
                    Incoming::Ping(_) => Heard::Ping,
                    Incoming::Close { code, .. } => Heard::Closed(code),
                    other => panic!("{other:?}"),
                });
            });
            fed.expect("the server keeps to the protocol");
        }
    }

    /// All that comes until the server closes, but for pings.
    async fn hear_all(&mut self) -> Vec<Heard> {
        let mut all = Vec::new();
        loop {
            match self.hear().await {
                Heard::Ping => {}
                closed @ Heard::Closed(_) => {
                    all.push(closed);
                    return all;
                }
                message @ Heard::Message(_) => all.push(message),
            }
        }
    }
}

fn settings() -> ConnectionSettings {
    let second = Duration::from_secs(1);
    ConnectionSettings { handshake: second, idle: 2 * second, write_stall: second, ..ConnectionSettings::default() }
}

/// A peer whose system takes in few bytes while it does not read.
async fn connect(server: &Server, is_open: bool) -> (Served, Client) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let socket = TcpSocket::new_v4().expect("the system has sockets");
    socket.set_recv_buffer_size(4_096).expect("buffers can be small");
    let address = listener.local_addr().expect("it is bound");
    let (stream, accepted) = tokio::join!(socket.connect(address), listener.accept());
    let (accepted, _) = accepted.expect("someone connects");
    let served = server.serve(WebSocket::new(accepted, Encoding::Json, false), is_open);
    let decoder = Decoder::new(Role::Client, BYTES_MAX);
    (served, Client { stream: stream.expect("the server listens"), decoder, heard: VecDeque::new() })
}

fn end(reason: CloseReason) -> [Heard; 2] {
    [Heard::Message(format!("end {}", reason.name())), Heard::Closed(Some(4_000 + reason.number() as u16))]
}

#[tokio::test]
async fn answers_come_at_once_or_later_and_others_can_push() {
    let server = Server::new(settings());
    let (served, mut client) = connect(&server, true).await;
    let long = format!("now {}", "x".repeat(10_000));
    client.say("later a").await;
    client.say(&long).await;
    assert_eq!(client.hear().await, Heard::Message(long));
    assert_eq!(client.hear().await, Heard::Message("later a".to_owned()));
    served.push.send(b"pushed".to_vec()).expect("the connection is open");
    assert_eq!(client.hear().await, Heard::Message("pushed".to_owned()));
    client.say("leave").await;
    assert_eq!(client.hear_all().await, [Heard::Message("end left".to_owned()), Heard::Closed(Some(1_000))]);
}

#[tokio::test]
async fn a_peer_that_is_not_let_in_in_time_is_closed() {
    let server = Server::new(settings());
    let (_served, mut client) = connect(&server, false).await;
    assert_eq!(client.hear_all().await, end(CloseReason::Unauthenticated));
}

#[tokio::test]
async fn a_silent_peer_is_asked_and_then_closed() {
    let server = Server::new(settings());
    let (_served, mut client) = connect(&server, true).await;
    let began = Instant::now();
    // Whoever answers the pings is kept, and whoever stops doing so is not.
    while began.elapsed() < settings().idle * 2 {
        assert_eq!(client.hear().await, Heard::Ping);
        client.send(Opcode::Pong, b"").await;
    }
    assert_eq!(client.hear_all().await, end(CloseReason::TimedOut));
}

#[tokio::test]
async fn a_flood_is_dropped_and_then_its_sender() {
    let server = Server::new(settings());
    let (served, mut client) = connect(&server, true).await;
    let mut frames = Vec::new();
    (0..300).for_each(|_| client_frame(&mut frames, Opcode::Text, [1, 2, 3, 4], b"now x"));
    client.stream.write_all(&frames).await.expect("the server reads");
    let heard = client.hear_all().await;
    assert!(heard.ends_with(&end(CloseReason::Flooded)), "{:?}", heard.last());
    let handled = served.handled();
    assert!((BURST as usize..250).contains(&handled), "{handled} were handled");
}

#[tokio::test]
async fn the_stop_of_the_server_is_announced() {
    let server = Server::new(ConnectionSettings { idle: PATIENCE, ..settings() });
    let (_served, mut client) = connect(&server, true).await;
    server.connections.announce_stop(Duration::from_secs(7));
    assert_eq!(client.hear().await, Heard::Message("stop 7000".to_owned()));
}

#[tokio::test]
async fn a_peer_that_does_not_read_is_closed_as_too_slow() {
    let server = Server::new(ConnectionSettings { idle: PATIENCE, ..settings() });
    let (served, mut client) = connect(&server, true).await;
    client.say("flood").await;
    timeout(PATIENCE, served.task).await.expect("it is noticed").expect("it ends");
    assert!(server.has_closed("too_slow"));
}

#[tokio::test]
async fn bytes_that_are_no_messages_are_closed_with_the_codes_of_the_transport() {
    let server = Server::new(settings());
    let (_served, mut client) = connect(&server, true).await;
    client.send(Opcode::Binary, b"now x").await;
    assert_eq!(client.hear_all().await, [Heard::Closed(Some(1_003))]);
    let (_served, mut client) = connect(&server, true).await;
    client.send(Opcode::Text, &[b'x'; 20_000]).await;
    assert_eq!(client.hear_all().await, [Heard::Closed(Some(1_009))]);
}
