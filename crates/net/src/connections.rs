//! All connections of a server: their limits, their clock and the stop notice.

use crate::connection;
use crate::counters::ConnectionMetrics;
use crate::protocol::Protocol;
use crate::transport::Transport;
use aether_limits::{KeyedShare, KeyedShares, RateLimit, network_of};
use aether_metrics::Gauge;
use aether_wire::ConnectionId;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// Limits of connections.
#[derive(Clone, Debug)]
pub struct ConnectionSettings {
    /// Connections in all.
    pub connections_max: u32,
    /// Connections of one address.
    pub per_address_max: u32,
    /// From the first byte to the hello that lets a client in.
    pub handshake: Duration,
    /// After so long without a sign of life a client counts as gone; it is asked for one after half of that.
    pub idle: Duration,
    /// Bytes of one message of a client, once it is in.
    pub message_bytes_max: usize,
    /// Rate of messages other than inputs.
    pub rate: RateLimit,
    /// A client that takes nothing for so long, although something waits, is closed.
    pub write_stall: Duration,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        ConnectionSettings {
            connections_max: 20_000,
            per_address_max: 20_000,
            handshake: Duration::from_secs(10),
            idle: Duration::from_secs(30),
            message_bytes_max: aether_wire::limits::CLIENT_FRAME_BYTES_DEFAULT,
            rate: RateLimit::REALTIME,
            write_stall: Duration::from_secs(10),
        }
    }
}

/// The connections of a server, whatever their transport and their protocol.
pub struct Connections {
    pub(crate) settings: ConnectionSettings,
    pub(crate) counters: ConnectionMetrics,
    started: Instant,
    next_id: AtomicU64,
    open: KeyedShares<IpAddr>,
    /// Milliseconds until the server stops, plus one; 0 while it does not.
    stopping: AtomicU32,
}

/// A share of the limits on connections, given back when dropped.
pub struct ConnectionPermit {
    address: IpAddr,
    _share: KeyedShare<IpAddr>,
}

impl Connections {
    /// No connections yet.
    #[must_use]
    pub fn new(settings: ConnectionSettings, counters: ConnectionMetrics) -> Connections {
        Connections {
            settings,
            counters,
            started: Instant::now(),
            next_id: AtomicU64::new(1),
            open: KeyedShares::default(),
            stopping: AtomicU32::new(0),
        }
    }

    /// A share of the limits for a new connection; none if the server or the address has as many as it may, or the server
    /// stops.
    #[must_use]
    pub fn ticket(&self, address: IpAddr) -> Option<ConnectionPermit> {
        let ConnectionSettings { connections_max, per_address_max, .. } = self.settings;
        let share = match self.stopping() {
            Some(_) => None,
            None => self.open.take(network_of(address), per_address_max, connections_max),
        };
        if share.is_none() {
            self.counters.refused.inc();
        }
        share.map(|share| ConnectionPermit { address, _share: share })
    }

    /// A number for a new connection.
    #[must_use]
    pub fn next_id(&self) -> ConnectionId {
        ConnectionId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Serves a connection until it ends.
    pub async fn serve(
        &self,
        id: ConnectionId,
        transport: impl Transport,
        ticket: ConnectionPermit,
        protocol: impl Protocol,
    ) {
        let open = self.counters.open(transport.name());
        open.inc();
        // Also when the task is dropped or fails.
        let _closed = Closed(open);
        let reason = connection::serve(self, transport, (id, ticket.address), protocol).await;
        drop(ticket);
        self.counters.closed(reason).inc();
    }

    /// Tells every client that the server will stop, and lets nobody in any more.
    pub fn announce_stop(&self, grace: Duration) {
        self.stopping.store((grace.as_millis() as u32).saturating_add(1), Ordering::Relaxed);
    }

    /// Number of open connections.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.open.total()
    }

    /// The time since this was made.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The milliseconds of grace that were announced, if the server stops.
    pub(crate) fn stopping(&self) -> Option<u32> {
        self.stopping.load(Ordering::Relaxed).checked_sub(1)
    }
}

/// Counts a connection as closed when it is dropped.
struct Closed(Gauge);

impl Drop for Closed {
    fn drop(&mut self) {
        self.0.dec();
    }
}
