//! Handshakes, and what all sockets of a listener share.

use super::listener::{UdpListenerSettings, UdpSession};
use super::metrics::UdpMetrics;
use super::peer::Peer;
use super::queue::SocketQueue;
use super::rates::RequestRates;
use super::transport::UdpTransport;
use aether_rudp::{Accepted, Acceptor, Handshake, TokenKey};
use aether_udp::SendBatch;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Shared by the sockets of a listener.
pub(super) struct ListenerShared {
    acceptor: Acceptor,
    rates: Option<RequestRates>,
    accepted: mpsc::Sender<UdpSession>,
    pub queues: Vec<Arc<SocketQueue>>,
    pub metrics: Arc<UdpMetrics>,
    started: Instant,
}

impl ListenerShared {
    pub fn new(
        settings: &UdpListenerSettings,
        key: Arc<TokenKey>,
        metrics: UdpMetrics,
        accepted: mpsc::Sender<UdpSession>,
    ) -> ListenerShared {
        ListenerShared {
            acceptor: Acceptor::new(key, settings.connection),
            rates: settings.requests.map(RequestRates::new),
            accepted,
            queues: (0..settings.sockets.max(1)).map(|_| Arc::default()).collect(),
            metrics: Arc::new(metrics),
            started: Instant::now(),
        }
    }

    /// Time since the start of the listener, which is the clock of all its connections.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Moment of the runtime's clock.
    pub fn instant(&self, at: Duration) -> Instant {
        self.started + at
    }

    /// Handles a datagram that belongs to no connection. Returns the connection that it opens. Before that, nothing is
    /// stored for a client.
    pub fn handle(
        &self,
        now: Duration,
        (from, socket): (SocketAddr, u8),
        datagram: &[u8],
        (answer, batch): (&mut Vec<u8>, &mut SendBatch),
    ) -> Option<Arc<Peer>> {
        let handshakes = &self.metrics.handshakes;
        if self.rates.as_ref().is_some_and(|rates| !rates.take(from.ip(), now)) {
            handshakes.limited.inc();
            return None;
        }
        let outcome = self.acceptor.handle(now, unix_seconds(), from, socket, datagram, answer);
        match outcome {
            Handshake::Dropped(reason) => {
                self.metrics.dropped.count(reason, 1);
                None
            }
            Handshake::Answered => {
                handshakes.answered.inc();
                batch.push(answer, from);
                None
            }
            Handshake::Accepted(accepted) => {
                batch.push(answer, from);
                self.admit(*accepted, from, socket)
            }
        }
    }

    /// Passes a new connection to whoever accepts it. If too many wait, it is closed.
    fn admit(&self, Accepted { connection, account }: Accepted, from: SocketAddr, socket: u8) -> Option<Arc<Peer>> {
        let queue = self.queues.get(usize::from(socket))?;
        let peer = Peer::new(connection, Arc::clone(queue));
        let transport = UdpTransport::new(Arc::clone(&peer), Arc::clone(&self.metrics));
        let address = SocketAddr::new(from.ip().to_canonical(), from.port());
        match self.accepted.try_send(UdpSession { transport, peer: address, account }) {
            Ok(()) => self.metrics.handshakes.accepted.inc(),
            // The transport is dropped, which closes the connection.
            Err(_) => self.metrics.handshakes.refused.inc(),
        }
        Some(peer)
    }
}

/// Returns the time in seconds since 1970.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
