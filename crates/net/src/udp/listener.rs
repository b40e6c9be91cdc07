//! UDP listener: accepts clients with connect tokens on a few sockets.

use super::accepting::ListenerShared;
use super::metrics::UdpMetrics;
use super::socket::SocketTask;
use super::transport::UdpTransport;
use aether_limits::RateLimit;
use aether_metrics::Registry;
use aether_rudp::{Settings, TokenKey};
use aether_udp::{BatchSocket, SocketOptions};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Most connections that wait to be accepted. Further ones are closed.
const READY_MAX: usize = 1_024;
/// Longest time to close all connections when the server stops.
const STOP_DEADLINE: Duration = Duration::from_secs(1);

/// Settings of a UDP listener.
#[derive(Clone, Debug)]
pub struct UdpListenerSettings {
    /// Address. With port 0, the system chooses a free one.
    pub address: SocketAddr,
    /// Number of sockets that share the address, each with a task of its own; at least 1.
    pub sockets: u8,
    /// Rate of connect requests of one network; none for no limit.
    pub requests: Option<RateLimit>,
    /// Settings of the connections.
    pub connection: Settings,
}

impl UdpListenerSettings {
    /// Settings of a listener at an address, with one socket and an idle timeout.
    #[must_use]
    pub fn new(address: SocketAddr, idle: Duration) -> UdpListenerSettings {
        let connection = Settings { idle, keep_alive: idle / 4, ..Settings::default() };
        UdpListenerSettings { address, sockets: 1, requests: None, connection }
    }
}

/// Accepts connections over reliable UDP.
pub struct UdpListener {
    address: SocketAddr,
    shared: Arc<ListenerShared>,
    sessions: mpsc::Receiver<UdpSession>,
    tasks: JoinSet<()>,
}

/// A connection after the handshake of its transport, before its hello.
pub struct UdpSession {
    /// Transport of the connection.
    pub transport: UdpTransport,
    /// Address of the client.
    pub peer: SocketAddr,
    /// Account that the connect token was issued to.
    pub account: String,
}

impl UdpListener {
    /// Binds a listener that accepts tokens of a key. Must be called in a tokio runtime.
    pub fn bind(settings: &UdpListenerSettings, key: Arc<TokenKey>, registry: &Registry) -> io::Result<UdpListener> {
        let (accepted, sessions) = mpsc::channel(READY_MAX);
        let shared = Arc::new(ListenerShared::new(settings, key, UdpMetrics::new(registry), accepted));
        let mut address = settings.address;
        let mut tasks = JoinSet::new();
        let options = SocketOptions { reuse_port: settings.sockets > 1, ..SocketOptions::server() };
        for number in 0..settings.sockets.max(1) {
            let socket = BatchSocket::bind(address, options)?;
            // The other sockets get the port that the system chose for the first.
            address = socket.local_addr()?;
            tasks.spawn(SocketTask::new(socket, number, Arc::clone(&shared))?.run());
        }
        Ok(UdpListener { address, shared, sessions, tasks })
    }

    /// Address of the listener, with the port that the system chose if it was 0.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts the next connection; none after [`stop`](Self::stop).
    pub async fn accept(&mut self) -> Option<UdpSession> {
        self.sessions.recv().await
    }

    /// Stops accepting connections. Open connections continue.
    pub fn stop(&mut self) {
        self.sessions.close();
    }

    /// Closes all connections and waits, for a limited time, until the clients are notified.
    pub async fn close(mut self) {
        self.stop();
        self.shared.queues.iter().for_each(|queue| queue.close());
        // A lost client does not answer and must not delay the end of the program.
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(STOP_DEADLINE, ended).await;
        // Awaited so that the address is free when this function returns.
        self.tasks.shutdown().await;
    }
}
