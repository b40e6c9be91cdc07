//! Where all connections of a server come in.

use crate::connection;
use crate::counters::Counters;
use crate::lobby::Lobby;
use crate::transport::Transport;
use aether_limits::{Rate, Share, Shares, network_of};
use aether_metrics::Gauge;
use aether_wire::{ConnectionId, RoomSelector};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What connections may do.
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
    /// How often a client may send messages other than inputs.
    pub rate: Rate,
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
            rate: Rate::REALTIME,
            write_stall: Duration::from_secs(10),
        }
    }
}

/// Where connections come in, whatever their transport.
pub struct Gateway {
    pub(crate) lobby: Arc<dyn Lobby>,
    pub(crate) settings: ConnectionSettings,
    pub(crate) counters: Counters,
    started: Instant,
    next_connection: AtomicU64,
    open: Shares<IpAddr>,
    /// Milliseconds until the server stops, plus one; 0 while it does not.
    stopping: AtomicU32,
}

/// Someone who is let through the door but has not said hello yet.
pub struct Visitor {
    /// Where they come from, past any trusted proxy.
    pub address: IpAddr,
    /// Whether they surely are on this machine.
    pub is_local: bool,
    /// The room that the address named, if it did.
    pub room: Option<RoomSelector>,
    /// Their share of the limits.
    pub ticket: Ticket,
}

/// A share of the limits on connections, given back when dropped.
pub struct Ticket {
    _share: Share<IpAddr>,
}

impl Gateway {
    /// A gateway to what the lobby knows.
    #[must_use]
    pub fn new(lobby: Arc<dyn Lobby>, settings: ConnectionSettings, counters: Counters) -> Arc<Gateway> {
        Arc::new(Gateway {
            lobby,
            settings,
            counters,
            started: Instant::now(),
            next_connection: AtomicU64::new(1),
            open: Shares::default(),
            stopping: AtomicU32::new(0),
        })
    }

    /// A share of the limits for a new connection; none if the server or the address has as many as it may.
    #[must_use]
    pub fn ticket(&self, address: IpAddr) -> Option<Ticket> {
        let ConnectionSettings { connections_max, per_address_max, .. } = self.settings;
        let share = match self.stopping() {
            Some(_) => None,
            None => self.open.take(network_of(address), per_address_max, connections_max),
        };
        if share.is_none() {
            self.counters.refused.inc();
        }
        share.map(|share| Ticket { _share: share })
    }

    /// Serves a connection until it ends.
    pub async fn serve(self: Arc<Self>, transport: impl Transport, visitor: Visitor) {
        let id = ConnectionId(self.next_connection.fetch_add(1, Ordering::Relaxed));
        let open = self.counters.open(transport.name());
        open.inc();
        // Also when the task is dropped or fails.
        let _closed = Closed(open);
        let reason = connection::serve(&self, transport, id, visitor).await;
        self.counters.closed(reason).inc();
    }

    /// Tells every client that the server will stop, and lets nobody in any more.
    pub fn announce_stop(&self, grace: Duration) {
        self.stopping.store((grace.as_millis() as u32).saturating_add(1), Ordering::Relaxed);
    }

    /// How many connections are open.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.open.total()
    }

    /// The time since the gateway was made.
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
