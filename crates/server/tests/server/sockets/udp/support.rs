//! A client of reliable UDP that drives its own state machine, so that a test can alter its datagrams.

use aether_rudp::{Channel, Client, CloseCause, ConnectToken, ConnectionState, Settings};
use aether_testkit_server::{DEADLINE, TestServer};
use aether_wire::{ClientMessage, Closing, ErrorNotice, Hello, Ping, ServerMessage, Token, UdpGrant, Welcome};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};

/// Counter of dropped datagrams.
pub const DROPPED: &str = "aether_udp_datagrams_dropped_total";
/// Counter of handshakes.
pub const HANDSHAKES: &str = "aether_udp_handshakes_total";

/// Requests a connect token with an access token or a resume token.
pub async fn connect_token(server: &TestServer, token: &Token) -> (SocketAddr, ConnectToken) {
    let authorization = format!("Bearer {}", token.reveal());
    let answer = server.request(server.http, "POST", "/api/udp", &[("authorization", &authorization)]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let grant: UdpGrant = serde_json::from_str(&answer.body).expect("the answer is a grant");
    let bytes = URL_SAFE_NO_PAD.decode(grant.token).expect("the token is base64url");
    let token = ConnectToken::from_bytes(&bytes).expect("the token is valid");
    (grant.address.parse().expect("the address is one of loopback"), token)
}

/// A client with a socket of its own.
pub struct UdpClient {
    pub client: Client,
    pub socket: UdpSocket,
    pub server: SocketAddr,
    started: Instant,
    received: VecDeque<ServerMessage>,
}

impl UdpClient {
    /// Starts to connect; nothing is sent yet.
    pub async fn start((server, token): (SocketAddr, &ConnectToken)) -> UdpClient {
        let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a port is free");
        let client = Client::new(Duration::ZERO, server, token, Settings::default()).expect("there is randomness");
        UdpClient { client, socket, server, started: Instant::now(), received: VecDeque::new() }
    }

    /// Returns the datagrams that are due, without sending them.
    pub fn due(&mut self) -> Vec<Vec<u8>> {
        let mut datagrams = Vec::new();
        let mut out = Vec::new();
        while self.client.poll_transmit(self.started.elapsed(), &mut out).is_some() {
            datagrams.push(std::mem::take(&mut out));
        }
        datagrams
    }

    pub async fn send_raw(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.server).await.expect("the system sends");
    }

    /// Sends what is due, and waits for a datagram, the next deadline, or `end`.
    pub async fn step(&mut self, end: Instant) {
        for datagram in self.due() {
            self.send_raw(&datagram).await;
        }
        let deadline = self.client.next_timeout().map_or(end, |at| (self.started + at).min(end));
        let mut datagram = [0; 2_048];
        if let Ok(Ok((length, from))) = timeout_at(deadline, self.socket.recv_from(&mut datagram)).await {
            let (now, received) = (self.started.elapsed(), &mut self.received);
            let _ = self.client.handle(now, from, &mut datagram[..length], &mut |_, message| {
                received.push_back(ServerMessage::decode(message).expect("the server's messages are valid"));
            });
        }
    }

    /// Runs until a condition holds.
    pub async fn run_until(&mut self, what: &str, mut holds: impl FnMut(&Client) -> bool) {
        let end = Instant::now() + DEADLINE;
        while !holds(&self.client) {
            assert!(Instant::now() < end, "timeout while waiting for {what}: {:?}", self.client.state());
            self.step(Instant::now() + Duration::from_millis(20)).await;
        }
    }

    pub fn send(&mut self, message: &ClientMessage) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).expect("the message is valid");
        self.client.send(Channel::ReliableOrdered, &bytes).expect("the queue has room");
    }

    /// Waits for a message for which `wanted` returns a value, and skips the others.
    pub async fn wait<T>(&mut self, what: &str, mut wanted: impl FnMut(ServerMessage) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            while let Some(message) = self.received.pop_front() {
                if let Some(found) = wanted(message) {
                    return found;
                }
            }
            assert!(Instant::now() < end, "{what} did not arrive in time: {:?}", self.client.state());
            assert!(!matches!(self.client.state(), ConnectionState::Closed(_)), "closed before {what}");
            self.step(Instant::now() + Duration::from_millis(20)).await;
        }
    }

    /// Connects, and says hello. Returns the welcome or the error.
    pub async fn hello(&mut self, hello: &Hello) -> Result<Welcome, ErrorNotice> {
        self.send(&ClientMessage::Hello(hello.clone()));
        self.wait("an answer to the hello", |message| match message {
            ServerMessage::Welcome(welcome) => Some(Ok(welcome)),
            ServerMessage::Error(notice) => Some(Err(notice)),
            _ => None,
        })
        .await
    }

    /// Sends a ping and waits for its pong, which shows that the game still answers this client.
    pub async fn ping(&mut self) {
        self.send(&ClientMessage::Ping(Ping::default()));
        self.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
    }

    /// Runs to the end of the connection. Returns the last closing message, and the cause.
    pub async fn end(&mut self) -> (Option<Closing>, CloseCause) {
        self.run_until("the end", |client| matches!(client.state(), ConnectionState::Closed(_))).await;
        let mut closings = self.received.drain(..).filter_map(|message| match message {
            ServerMessage::Closing(closing) => Some(closing),
            _ => None,
        });
        let closing = closings.next_back();
        drop(closings);
        match self.client.state() {
            ConnectionState::Closed(cause) => (closing, cause),
            other => panic!("{other:?}"),
        }
    }
}

/// A client that has joined a room.
pub struct UdpPlayer {
    pub client: UdpClient,
    pub welcome: Welcome,
}

impl UdpPlayer {
    /// Joins a room with the token of the hello.
    pub async fn join(server: &TestServer, hello: &Hello) -> UdpPlayer {
        let token = hello.token.as_ref().or(hello.resume_token.as_ref()).expect("the hello has a token");
        let (address, token) = connect_token(server, token).await;
        let mut client = UdpClient::start((address, &token)).await;
        let welcome = client.hello(hello).await.unwrap_or_else(|notice| panic!("{notice:?}"));
        UdpPlayer { client, welcome }
    }
}
