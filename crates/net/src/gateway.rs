//! Where all connections of a server come in.

use crate::bucket::Rate;
use crate::connection;
use crate::counters::Counters;
use crate::lobby::Lobby;
use crate::transport::Transport;
use aether_wire::{CloseReason, ConnectionId, RoomSelector};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    doors: Arc<Doors>,
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
    doors: Arc<Doors>,
    address: IpAddr,
}

#[derive(Default)]
struct Doors {
    by_address: Mutex<HashMap<IpAddr, u32>>,
    open: AtomicU32,
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
            doors: Arc::default(),
            stopping: AtomicU32::new(0),
        })
    }

    /// A share of the limits for a new connection; none if the server or the address has as many as it may.
    #[must_use]
    pub fn ticket(&self, address: IpAddr) -> Option<Ticket> {
        let mut by_address = self.doors.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let of_address = by_address.get(&address).copied().unwrap_or(0);
        let full = self.connections() >= self.settings.connections_max;
        if self.stopping().is_some() || full || of_address >= self.settings.per_address_max {
            self.counters.refused.inc();
            return None;
        }
        by_address.insert(address, of_address + 1);
        self.doors.open.fetch_add(1, Ordering::Relaxed);
        Some(Ticket { doors: Arc::clone(&self.doors), address })
    }

    /// Serves a connection until it ends.
    pub async fn serve(self: Arc<Self>, transport: impl Transport, visitor: Visitor) {
        let id = ConnectionId(self.next_connection.fetch_add(1, Ordering::Relaxed));
        let open = self.counters.open(transport.name());
        open.inc();
        let reason = connection::serve(&self, transport, id, visitor).await;
        self.counters.closed(reason).inc();
        open.dec();
    }

    /// Tells every client that the server will stop, and lets nobody in any more.
    pub fn announce_stop(&self, grace: Duration) {
        self.stopping.store((grace.as_millis() as u32).saturating_add(1), Ordering::Relaxed);
    }

    /// How many connections are open.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.doors.open.load(Ordering::Relaxed)
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

impl Drop for Ticket {
    fn drop(&mut self) {
        self.doors.open.fetch_sub(1, Ordering::Relaxed);
        let mut by_address = self.doors.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_address.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

/// The close code that a WebSocket client sees for a reason of ours: 4000 and the reason's number, or 1000 for whoever left.
#[must_use]
pub fn close_code(reason: CloseReason) -> u16 {
    match reason {
        CloseReason::Left => 1_000,
        reason => 4_000 + reason.number() as u16,
    }
}
