//! Endpoints of the bounded queues between a connection and a room. There is no lock.

use crate::bounded::BoundedQueue;
use crate::game::Rejection;
use crate::inbox::Inbox;
use crate::players::closing;
use aether_replication::PacketSink;
use aether_wire::{ClientMessage, CloseReason, Closing, PacketSeq, PlayerId, ServerMessage};
use atomic_waker::AtomicWaker;
use crossbeam_queue::ArrayQueue;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

/// Maximum number of messages of a client that wait for the next tick. A tick handles all of them, so this bounds the
/// cost of a burst.
pub const INBOX_MAX: usize = 32;
/// Maximum number of reliable messages that wait for the connection. Beyond it, the client is closed.
pub const RELIABLE_MAX: usize = 256;
/// Maximum number of packets of a snapshot. The byte budget of a snapshot stays below their capacity.
pub const STATE_PACKETS_MAX: usize = 128;

/// Returns the two endpoints of new queues. A snapshot of the room has at most `state_packets_max` packets; with 0, the
/// connection gets no state.
pub(crate) fn connect(state_packets_max: usize) -> (RoomEndpoint, ConnectionEndpoint) {
    let queues = Arc::new(SharedQueues {
        inbox: Inbox::new(),
        reliable: BoundedQueue::new(RELIABLE_MAX),
        state: ArrayQueue::new(state_packets_max.clamp(1, STATE_PACKETS_MAX)),
        spare: ArrayQueue::new(state_packets_max.clamp(1, STATE_PACKETS_MAX)),
        signals: Signals::default(),
        admission: OnceLock::new(),
        closing: OnceLock::new(),
    });
    (RoomEndpoint { queues: Arc::clone(&queues), takes_state: state_packets_max > 0 }, ConnectionEndpoint { queues })
}

#[derive(Debug)]
struct SharedQueues {
    inbox: Inbox,
    reliable: BoundedQueue<Arc<ServerMessage>>,
    state: ArrayQueue<Vec<u8>>,
    /// Buffers that the connection has returned.
    spare: ArrayQueue<Vec<u8>>,
    signals: Signals,
    admission: OnceLock<Result<PlayerId, Rejection>>,
    closing: OnceLock<Closing>,
}

/// Everything that both sides look at in every tick, in one cache line. The queues have many lines, most of which are
/// not in the cache of a server with hundreds of connections.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Signals {
    /// Set after the room has queued something, until the connection has found the queues empty.
    has_output: AtomicBool,
    /// True if there is output that the connection was not woken for. Only the room uses it.
    wake_pending: AtomicBool,
    /// Set after `closing`.
    is_closed: AtomicBool,
    connection_gone: AtomicBool,
    /// Messages in the inbox that the room has not counted yet.
    messages: AtomicU32,
    /// Number of state packets that the room has queued, counted after each. Only the room writes it.
    state_queued: AtomicU32,
    /// Number of state packets that the connection has taken. Only the connection writes it.
    state_taken: AtomicU32,
    waker: AtomicWaker,
}

impl Signals {
    /// Notes new output, after it was queued.
    fn note_output(&self) {
        self.has_output.store(true, Ordering::Release);
        self.wake_pending.store(true, Ordering::Relaxed);
    }

    /// Returns true if state packets wait for the connection.
    fn has_state(&self) -> bool {
        self.state_queued.load(Ordering::Acquire) != self.state_taken.load(Ordering::Acquire)
    }
}

impl SharedQueues {
    fn closing(&self) -> Option<&Closing> {
        if self.signals.is_closed.load(Ordering::Acquire) { self.closing.get() } else { None }
    }
}

/// The room's endpoint.
#[derive(Debug)]
pub struct RoomEndpoint {
    queues: Arc<SharedQueues>,
    /// False for a connection that gets messages only.
    takes_state: bool,
}

/// The connection's endpoint. Dropping it tells the room that the connection is lost.
#[derive(Debug)]
pub struct ConnectionEndpoint {
    queues: Arc<SharedQueues>,
}

/// The inbox is full: the client sends faster than the room ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InboxFull;

impl fmt::Display for InboxFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the inbox is full: the client sends faster than the room ticks")
    }
}

impl std::error::Error for InboxFull {}

impl RoomEndpoint {
    /// Counts the messages of the client. The room takes all of them; later ones wait for the next tick.
    pub(crate) fn count_messages(&self) -> u32 {
        let messages = &self.queues.signals.messages;
        if messages.load(Ordering::Relaxed) == 0 { 0 } else { messages.swap(0, Ordering::Acquire) }
    }

    /// Takes the next message of the client, among those counted by `count_messages`.
    pub(crate) fn receive(&self, remaining: &mut u32) -> Option<ClientMessage> {
        *remaining = remaining.checked_sub(1)?;
        self.queues.inbox.pop()
    }

    /// Queues a reliable message. Returns false if the queue is full.
    pub(crate) fn send(&self, message: Arc<ServerMessage>) -> bool {
        let is_queued = self.queues.reliable.push(message).is_ok();
        self.queues.signals.note_output();
        is_queued
    }

    /// Returns true if the connection gets the state of the room, and not only its messages.
    pub(crate) fn takes_state(&self) -> bool {
        self.takes_state
    }

    /// Returns true if the last snapshot was taken, so that a new one may be built.
    pub(crate) fn is_ready_for_state(&self) -> bool {
        !self.queues.signals.has_state()
    }

    /// Accepts the join or resume.
    pub(crate) fn admit(&self, player: PlayerId) {
        let _ = self.queues.admission.set(Ok(player));
        self.queues.signals.note_output();
    }

    /// Rejects the join or resume.
    pub(crate) fn reject(&self, rejection: Rejection) {
        let _ = self.queues.admission.set(Err(rejection));
        self.queues.signals.note_output();
    }

    /// Closes the connection. Only the first call has an effect.
    pub(crate) fn close(&self, closing: Closing) {
        let _ = self.queues.closing.set(closing);
        self.queues.signals.is_closed.store(true, Ordering::Release);
        self.queues.signals.note_output();
    }

    /// Returns the waker of the connection if it has new output.
    pub(crate) fn take_waker(&self) -> Option<Waker> {
        let signals = &self.queues.signals;
        if !signals.wake_pending.load(Ordering::Relaxed) {
            return None;
        }
        signals.wake_pending.store(false, Ordering::Relaxed);
        signals.waker.take()
    }

    /// Returns true if the room closed the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.queues.signals.is_closed.load(Ordering::Acquire)
    }

    /// Returns the reason if the connection can no longer be used: the room closed it, or the client is gone.
    pub(crate) fn loss_reason(&self) -> Option<CloseReason> {
        let gone = self.queues.signals.connection_gone.load(Ordering::Acquire);
        self.queues.closing().map(|closing| closing.reason).or(gone.then_some(CloseReason::Left))
    }
}

impl Drop for RoomEndpoint {
    /// Closes the connection with `room_failed` unless it was rejected or closed before, so that it never waits
    /// forever.
    fn drop(&mut self) {
        if !matches!(self.queues.admission.get(), Some(Err(_))) {
            self.close(closing(CloseReason::RoomFailed));
        }
        if let Some(waker) = self.take_waker() {
            waker.wake();
        }
    }
}

impl PacketSink for &RoomEndpoint {
    fn buffer(&mut self) -> Vec<u8> {
        self.queues.spare.pop().unwrap_or_default()
    }

    fn packet(&mut self, _sequence: PacketSeq, bytes: Vec<u8>) {
        if self.queues.state.push(bytes).is_err() {
            // The byte budget stays below the capacity, so this does not happen. If it did, the client would miss state
            // for good; closing makes it reconnect.
            self.close(closing(CloseReason::TooSlow));
            return;
        }
        self.queues.signals.state_queued.fetch_add(1, Ordering::Release);
        self.queues.signals.note_output();
    }
}

impl ConnectionEndpoint {
    /// Queues a message for the room.
    pub fn push(&self, message: ClientMessage) -> Result<(), InboxFull> {
        self.queues.inbox.push(message).map_err(|_| InboxFull)?;
        self.queues.signals.messages.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Returns the result of the join or resume; none until the next tick of the room.
    #[must_use]
    pub fn admission(&self) -> Option<&Result<PlayerId, Rejection>> {
        self.queues.admission.get()
    }

    /// Takes the next reliable message. The messages of a tick come before its state.
    #[must_use]
    pub fn next_reliable(&self) -> Option<Arc<ServerMessage>> {
        self.queues.reliable.pop()
    }

    /// Takes the next state packet.
    #[must_use]
    pub fn next_state(&self) -> Option<Vec<u8>> {
        // The numbers are read instead of the queue, whose indices are in the caches of two cores. A packet is taken
        // only after the room has counted it.
        if !self.queues.signals.has_state() {
            return None;
        }
        let packet = self.queues.state.pop()?;
        self.queues.signals.state_taken.fetch_add(1, Ordering::Release);
        Some(packet)
    }

    /// Returns the buffer of a state packet for reuse.
    pub fn recycle(&self, buffer: Vec<u8>) {
        let _ = self.queues.spare.push(buffer);
    }

    /// Registers a waker. It is woken on a join result, a message, state or close.
    pub fn register_waker(&self, waker: &Waker) {
        self.queues.signals.waker.register(waker);
    }

    /// Returns true if there is a message, a state packet or a close notice to take.
    #[must_use]
    pub fn has_output(&self) -> bool {
        let SharedQueues { reliable, signals, .. } = &*self.queues;
        if !signals.has_output.load(Ordering::Acquire) {
            return false;
        }
        // Cleared before the queues are read: what the room queues meanwhile sets it again.
        signals.has_output.swap(false, Ordering::AcqRel);
        let has_output = !reliable.is_empty() || signals.has_state() || signals.is_closed.load(Ordering::Acquire);
        if has_output {
            signals.has_output.store(true, Ordering::Release);
        }
        has_output
    }

    /// Returns the close notice if the room closed the connection. Queued messages may still be sent first.
    #[must_use]
    pub fn closing(&self) -> Option<&Closing> {
        self.queues.closing()
    }
}

impl Drop for ConnectionEndpoint {
    fn drop(&mut self) {
        self.queues.signals.connection_gone.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection that misses a packet would never ask for it again, and the room would wait for it forever.
    #[test]
    fn every_packet_is_taken_once_and_then_the_room_is_ready() {
        const SNAPSHOTS: u32 = 5_000;
        let (room, connection) = connect(2);
        let mut taken = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for snapshot in 0..SNAPSHOTS {
                    while !room.is_ready_for_state() {
                        std::thread::yield_now();
                    }
                    for packet in [snapshot * 2, snapshot * 2 + 1] {
                        (&mut &room).packet(PacketSeq(packet), packet.to_le_bytes().to_vec());
                    }
                }
            });
            while taken.len() < SNAPSHOTS as usize * 2 {
                if connection.has_output() {
                    taken.extend(std::iter::from_fn(|| connection.next_state()));
                }
                std::thread::yield_now();
            }
        });
        assert!(taken.into_iter().eq((0..SNAPSHOTS * 2).map(|packet| packet.to_le_bytes())));
        assert!(room.is_ready_for_state() && !room.is_closed() && !connection.has_output());
    }
}
