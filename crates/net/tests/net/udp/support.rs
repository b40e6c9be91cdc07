//! Shared by the tests: a listener, and a client that drives its own state machine.

use aether_metrics::Registry;
use aether_net::udp::{UdpListener, UdpListenerSettings, UdpSession, UdpTransport};
use aether_net::{ReceiveOutcome, Transport, TransportEnded};
use aether_rudp::{Channel, Client, CloseCause, ConnectToken, ConnectionState, Settings, TokenGrant, TokenKey};
use aether_wire::DeliveryPath;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout};

/// Timeout of each step, so that a test fails instead of hanging.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// A listener on loopback.
pub struct TestListener {
    pub listener: UdpListener,
    pub key: Arc<TokenKey>,
    pub registry: Registry,
    pub address: SocketAddr,
}

/// Settings of a listener on a free port.
pub fn settings() -> UdpListenerSettings {
    UdpListenerSettings::new(SocketAddr::from(([127, 0, 0, 1], 0)), STEP_TIMEOUT)
}

impl TestListener {
    pub fn start(settings: &UdpListenerSettings) -> TestListener {
        let (key, registry) = (Arc::new(TokenKey::random().unwrap()), Registry::new());
        let listener = UdpListener::bind(settings, Arc::clone(&key), &registry).unwrap();
        TestListener { address: listener.local_address(), listener, key, registry }
    }

    pub fn token(&self, account: &str) -> ConnectToken {
        let expires = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + 60;
        self.key.issue(&TokenGrant { account: account.to_owned(), expires }).unwrap()
    }

    /// Connects a client. Returns its session and the client.
    pub async fn pair(&mut self) -> (UdpSession, TestClient) {
        let mut client = TestClient::start(self.address, &self.token("ann")).await;
        let (session, ()) = tokio::join!(self.listener.accept(), client.connect());
        (session.expect("the listener runs"), client)
    }

    /// Returns the sum of the series of a metric that contain a label.
    pub fn metric(&self, name: &str, label: &str) -> f64 {
        let text = self.registry.render();
        let lines = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }
}

/// A client with a socket of its own.
pub struct TestClient {
    pub client: Client,
    pub socket: UdpSocket,
    server: SocketAddr,
    started: Instant,
    received: VecDeque<(Channel, Vec<u8>)>,
}

impl TestClient {
    pub async fn start(server: SocketAddr, token: &ConnectToken) -> TestClient {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(Duration::ZERO, server, token, Settings::default()).unwrap();
        TestClient { client, socket, server, started: Instant::now(), received: VecDeque::new() }
    }

    /// Waits until the connection is open.
    pub async fn connect(&mut self) {
        self.run_until(|client, _| client.state() != ConnectionState::Connecting).await;
        assert_eq!(self.client.state(), ConnectionState::Open);
    }

    pub fn send(&mut self, channel: Channel, message: &[u8]) {
        self.client.send(channel, message).expect("the queue has room");
    }

    /// Receives the next message.
    pub async fn receive(&mut self) -> (Channel, Vec<u8>) {
        self.run_until(|_, received| !received.is_empty()).await;
        self.received.pop_front().expect("a message has arrived")
    }

    /// Waits until the connection is closed, and returns the cause and the messages before it.
    pub async fn closed(&mut self) -> (CloseCause, Vec<(Channel, Vec<u8>)>) {
        self.run_until(|client, _| matches!(client.state(), ConnectionState::Closed(_))).await;
        let ConnectionState::Closed(cause) = self.client.state() else { unreachable!("it is closed") };
        (cause, self.received.drain(..).collect())
    }

    /// Waits until everything that was sent is acknowledged.
    pub async fn delivered(&mut self) {
        self.run_until(|client, _| {
            client.connection().is_some_and(|open| open.backlog_bytes() == 0 && open.unacknowledged_bytes() == 0)
        })
        .await;
    }

    /// Runs the client for a time.
    pub async fn run_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            self.step(end).await;
        }
    }

    async fn run_until(&mut self, is_done: impl Fn(&Client, &VecDeque<(Channel, Vec<u8>)>) -> bool) {
        let end = Instant::now() + STEP_TIMEOUT;
        while !is_done(&self.client, &self.received) {
            assert!(Instant::now() < end, "the step took too long: {:?}", self.client.state());
            self.step(end).await;
        }
    }

    /// Sends what is due, and waits for a datagram or the next deadline.
    async fn step(&mut self, end: Instant) {
        let mut out = Vec::new();
        while self.client.poll_transmit(self.started.elapsed(), &mut out).is_some() {
            self.socket.send_to(&out, self.server).await.unwrap();
            out.clear();
        }
        let deadline = self.client.next_timeout().map_or(end, |at| (self.started + at).min(end));
        let mut datagram = [0; 2_048];
        if let Ok(Ok((length, from))) = tokio::time::timeout_at(deadline, self.socket.recv_from(&mut datagram)).await {
            let (now, received) = (self.started.elapsed(), &mut self.received);
            let _ = self.client.handle(now, from, &mut datagram[..length], &mut |channel, message| {
                received.push_back((channel, message.to_vec()));
            });
        }
    }
}

/// Receives messages; at least one.
pub async fn receive(transport: &mut UdpTransport) -> Result<Vec<(DeliveryPath, Vec<u8>)>, TransportEnded> {
    let mut messages = Vec::new();
    let receiving = poll_fn(|cx| {
        loop {
            let polled = transport.poll_receive(cx, &mut |path, received| match received {
                ReceiveOutcome::Message(message) => messages.push((path, message.to_vec())),
                ReceiveOutcome::Probe => {}
            });
            match polled {
                Poll::Ready(Ok(())) if messages.is_empty() => {}
                other => return other,
            }
        }
    });
    timeout(STEP_TIMEOUT, receiving).await.expect("a message arrives")?;
    Ok(messages)
}

pub async fn flush(transport: &mut UdpTransport) {
    timeout(STEP_TIMEOUT, poll_fn(|cx| transport.poll_flush(cx))).await.expect("the connection accepts data").unwrap();
}
