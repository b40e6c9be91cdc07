//! All connections of a server: their limits, their clock and the stop notice.

use crate::connection;
use crate::metrics::ConnectionMetrics;
use crate::protocol::Protocol;
use crate::transport::Transport;
use aether_limits::{NetworkShare, NetworkShares, RateLimit};
use aether_metrics::Gauge;
use aether_wire::ConnectionId;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Limits of connections.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// Most connections of the server.
    pub connections_max: u32,
    /// Most connections of one address.
    pub per_address_max: u32,
    /// Longest time of the handshake.
    pub handshake: Duration,
    /// Idle timeout: a client that sends nothing for this long is closed.
    pub idle: Duration,
    /// Silence after which a probe is sent, which the client answers. With `None`, half of `idle`.
    pub ping: Option<Duration>,
    /// Upper bound of a client's message after the handshake, in bytes.
    pub message_bytes_max: usize,
    /// Rate of messages other than inputs.
    pub rate: RateLimit,
    /// Longest time that a client may take no data while output is waiting; then it is closed.
    pub write_stall: Duration,
    /// Most bytes that a WebSocket reads at once. The connections of a thread share one buffer of this size.
    pub read_buffer_bytes: usize,
    /// Unwritten bytes of a connection from which the server stops reading from its client.
    pub write_buffer_bytes: usize,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        ConnectionSettings {
            connections_max: 20_000,
            per_address_max: 20_000,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            ping: None,
            message_bytes_max: aether_wire::limits::CLIENT_FRAME_BYTES_DEFAULT,
            rate: RateLimit::REALTIME,
            write_stall: Duration::from_secs(10),
            read_buffer_bytes: crate::buffers::READ_BYTES,
            write_buffer_bytes: 65_536,
        }
    }
}

/// Connections of a server, of any transport and protocol.
pub struct Connections {
    pub(crate) settings: ConnectionSettings,
    pub(crate) metrics: ConnectionMetrics,
    started: Instant,
    next_id: AtomicU64,
    open: NetworkShares,
    /// Announced milliseconds until the server stops, plus one; 0 if no stop was announced.
    stopping: AtomicU32,
    /// Number of the announced drain; 0 for none.
    drain: AtomicU32,
}

/// A share of the connection limits, returned when dropped.
pub struct ConnectionPermit {
    address: IpAddr,
    _share: NetworkShare,
}

impl Connections {
    /// Creates an empty set of connections.
    #[must_use]
    pub fn new(settings: ConnectionSettings, metrics: ConnectionMetrics) -> Connections {
        Connections {
            settings,
            metrics,
            started: Instant::now(),
            next_id: AtomicU64::new(1),
            open: NetworkShares::default(),
            stopping: AtomicU32::new(0),
            drain: AtomicU32::new(0),
        }
    }

    /// Returns a permit for a new connection; none if the server or the address has reached its limit, or the server
    /// stops.
    #[must_use]
    pub fn permit(&self, address: IpAddr) -> Option<ConnectionPermit> {
        let ConnectionSettings { connections_max, per_address_max, .. } = self.settings;
        let share = match self.stopping() {
            Some(_) => None,
            None => self.open.take(address, per_address_max, connections_max),
        };
        if share.is_none() {
            self.metrics.refused.inc();
        }
        share.map(|share| ConnectionPermit { address, _share: share })
    }

    /// Returns the id of a new connection.
    #[must_use]
    pub fn next_id(&self) -> ConnectionId {
        ConnectionId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Serves a connection until it ends.
    pub async fn serve(
        &self,
        id: ConnectionId,
        transport: impl Transport,
        permit: ConnectionPermit,
        protocol: impl Protocol,
    ) {
        let open = self.metrics.open(transport.name());
        open.inc();
        // Decremented even if the task is dropped or panics.
        let _guard = GaugeGuard(open);
        let reason = connection::serve(self, transport, (id, permit.address), protocol).await;
        drop(permit);
        self.metrics.closed(reason).inc();
    }

    /// Announces the stop of the server to all clients and rejects new connections.
    pub fn announce_stop(&self, grace: Duration) {
        self.stopping.store((grace.as_millis() as u32).saturating_add(1), Ordering::Relaxed);
    }

    /// Announces a drain of this number to all clients, once; 0 for none. Connections stay open.
    pub fn announce_drain(&self, number: u32) {
        self.drain.store(number, Ordering::Relaxed);
    }

    /// Number of the announced drain; 0 for none.
    pub(crate) fn drain(&self) -> u32 {
        self.drain.load(Ordering::Relaxed)
    }

    /// Number of open connections.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.open.total()
    }

    /// Time since the creation of this value.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Announced milliseconds until the server stops, if a stop was announced.
    pub(crate) fn stopping(&self) -> Option<u32> {
        self.stopping.load(Ordering::Relaxed).checked_sub(1)
    }
}

/// Decrements a gauge when dropped.
struct GaugeGuard(Gauge);

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
