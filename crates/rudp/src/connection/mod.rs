//! Established connection, the same on both sides.

mod receive;
mod transmit;

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crate::ack::Receipts;
use crate::channel::{Channel, SendError};
use crate::channels::{Inboxes, Outboxes, UnreliableQueue};
use crate::connection_id::ConnectionId;
use crate::frame::PathNonce;
use crate::key_exchange::PacketKeys;
use crate::packet::Side;
use crate::path::PathCandidate;
use crate::recovery::Recovery;
use crate::seal::PacketKey;
use crate::settings::Settings;
use crate::state::{CloseCause, ConnectionState};
use crate::stats::ConnectionStats;

/// Established connection: datagrams and messages in, datagrams and messages out.
///
/// The owner passes received datagrams to [`handle`](Connection::handle), sends what
/// [`poll_transmit`](Connection::poll_transmit) writes until it writes no more, and calls it again after messages were
/// queued, datagrams were handled, or [`next_timeout`](Connection::next_timeout) has come.
pub struct Connection {
    side: Side,
    id: ConnectionId,
    peer: SocketAddr,
    sealing: PacketKey,
    opening: PacketKey,
    settings: Settings,
    stage: Stage,
    /// Latest time that was passed in.
    now: Duration,
    received_at: Duration,
    sent_at: Duration,
    receipts: Receipts,
    recovery: Recovery,
    outboxes: Outboxes,
    unreliable: UnreliableQueue,
    inboxes: Inboxes,
    path: Option<Box<PathCandidate>>,
    path_response: Option<PathNonce>,
    is_ping_due: bool,
    /// Queue that is written first into the next packet; the other gets the rest. They take turns, so none starves.
    is_unreliable_first: bool,
    counters: Counters,
}

/// Result of a handshake.
pub(crate) struct Parts {
    pub side: Side,
    pub id: ConnectionId,
    pub peer: SocketAddr,
    pub keys: PacketKeys,
}

enum Stage {
    Open,
    Closing(Closing),
    Closed(CloseCause),
}

/// Close by this endpoint.
struct Closing {
    code: u16,
    cause: CloseCause,
    /// Moment until which reliable messages may still arrive. `None` before the first look at the time.
    linger_until: Option<Duration>,
    /// Packets with the close that were sent.
    sent: u8,
    /// Moment of the next one.
    next: Duration,
}

#[derive(Default)]
struct Counters {
    packets_out: u64,
    packets_in: u64,
    bytes_out: u64,
    bytes_in: u64,
    resends: u64,
    forgeries: u64,
}

impl Connection {
    pub(crate) fn new(now: Duration, parts: Parts, settings: Settings) -> Connection {
        let (sealing, opening) = match parts.side {
            Side::Client => (parts.keys.to_server, parts.keys.to_client),
            Side::Server => (parts.keys.to_client, parts.keys.to_server),
        };
        Connection {
            side: parts.side,
            id: parts.id,
            peer: parts.peer,
            sealing,
            opening,
            settings,
            stage: Stage::Open,
            now,
            received_at: now,
            sent_at: now,
            receipts: Receipts::default(),
            recovery: Recovery::new(),
            outboxes: Outboxes::new(),
            unreliable: UnreliableQueue::default(),
            inboxes: Inboxes::default(),
            path: None,
            path_response: None,
            is_ping_due: false,
            is_unreliable_first: false,
            counters: Counters::default(),
        }
    }

    /// Returns both ends of a connection with keys that everybody knows, for fuzzing.
    #[doc(hidden)]
    pub fn insecure_pair(
        now: Duration,
        client: SocketAddr,
        server: SocketAddr,
        settings: Settings,
    ) -> (Connection, Connection) {
        let parts = |side, peer| {
            let keys = PacketKeys { to_server: PacketKey::new(&[1; 16]), to_client: PacketKey::new(&[2; 16]) };
            Parts { side, id: ConnectionId(1), peer, keys }
        };
        let client_end = Connection::new(now, parts(Side::Client, server), settings);
        (client_end, Connection::new(now, parts(Side::Server, client), settings))
    }

    /// Identifier, chosen by the server.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Address of the peer that was proven last.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// State of the connection.
    pub fn state(&self) -> ConnectionState {
        match &self.stage {
            Stage::Open => ConnectionState::Open,
            Stage::Closing(_) => ConnectionState::Closing,
            Stage::Closed(cause) => ConnectionState::Closed(*cause),
        }
    }

    /// Queues a message. A full queue of unreliable messages drops its oldest.
    ///
    /// # Errors
    /// Fails if the message is too long, the queue of a reliable channel is full, or the connection is closed.
    pub fn send(&mut self, channel: Channel, message: &[u8]) -> Result<(), SendError> {
        if !matches!(self.stage, Stage::Open) {
            return Err(SendError::Closed);
        }
        channel.check_length(message.len())?;
        match channel {
            Channel::ReliableOrdered => self.outboxes.ordered.push(message, self.settings.queue_bytes_max),
            Channel::ReliableUnordered => self.outboxes.unordered.push(message, self.settings.queue_bytes_max),
            Channel::Sequenced | Channel::Unreliable => {
                let is_sequenced = channel == Channel::Sequenced;
                self.unreliable.push(message, is_sequenced, self.settings.unreliable_bytes_max);
                Ok(())
            }
        }
    }

    /// Closes the connection. The peer receives the code, after the reliable messages that were sent before.
    pub fn close(&mut self, code: u16) {
        if matches!(self.stage, Stage::Open) {
            self.begin_close(code, CloseCause::Local, None);
        }
    }

    /// Bytes of messages that were queued and never sent.
    pub fn backlog_bytes(&self) -> usize {
        self.outboxes.unsent_bytes() + self.unreliable.message_bytes()
    }

    /// Bytes of reliable messages that were sent and are not acknowledged.
    pub fn unacknowledged_bytes(&self) -> usize {
        self.outboxes.unacknowledged_bytes()
    }

    /// Figures since the start.
    pub fn stats(&self) -> ConnectionStats {
        let Recovery { round_trip, congestion, packets_lost, content_packets, .. } = &self.recovery;
        ConnectionStats {
            round_trip: round_trip.smoothed().unwrap_or_default(),
            round_trip_variance: round_trip.variance(),
            round_trip_min: round_trip.min(),
            loss: *packets_lost as f32 / (*content_packets).max(1) as f32,
            packets_out: self.counters.packets_out,
            packets_in: self.counters.packets_in,
            bytes_out: self.counters.bytes_out,
            bytes_in: self.counters.bytes_in,
            packets_lost: *packets_lost,
            resends: self.counters.resends,
            unreliable_dropped: self.unreliable.dropped(),
            congestion_window: congestion.window(),
            under_way: self.recovery.under_way(),
        }
    }

    /// Makes the next packet carry a ping, if it carries nothing else that the peer acknowledges.
    pub(crate) fn ping(&mut self) {
        self.is_ping_due = true;
    }

    fn begin_close(&mut self, code: u16, cause: CloseCause, linger_until: Option<Duration>) {
        self.stage = Stage::Closing(Closing { code, cause, linger_until, sent: 0, next: self.now });
    }

    /// Ends the connection and frees its memory.
    fn end(&mut self, cause: CloseCause) {
        self.stage = Stage::Closed(cause);
        self.outboxes = Outboxes::new();
        self.unreliable = UnreliableQueue::default();
        self.inboxes = Inboxes::default();
        self.recovery.ring = Default::default();
        self.path = None;
    }

    /// Frees memory that an idle connection does not need.
    fn release(&mut self) {
        self.outboxes.release();
        self.unreliable.release();
        self.inboxes.release();
        self.recovery.ring.release();
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("Connection");
        debug.field("id", &self.id).field("peer", &self.peer).field("state", &self.state()).finish_non_exhaustive()
    }
}
