//! Where a connection and a room meet: bounded queues, and no lock.

use crate::bounded::BoundedQueue;
use crate::game::Rejection;
use crate::inbox::{Inbox, QueueLength};
use crate::seat::closing;
use aether_replication::PacketSink;
use aether_wire::{ClientMessage, CloseReason, Closing, PacketSeq, PlayerId, ServerMessage};
use atomic_waker::AtomicWaker;
use crossbeam_queue::ArrayQueue;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Waker;

/// Messages of one client that wait for the next tick. A tick takes them all, so this bounds what a burst can cost.
pub const INBOX_MAX: usize = 32;
/// Reliable messages that wait for the link. A client that lets them pile up is closed.
pub const RELIABLE_MAX: usize = 256;
/// Packets of one snapshot, at most; the byte budget of a snapshot stays below what they hold.
pub const STATE_PACKETS_MAX: usize = 128;

/// Joins a room and a connection; a snapshot of the room has at most so many packets.
pub(crate) fn connect(state_packets_max: usize) -> (RoomEndpoint, ConnectionEndpoint) {
    let pipe = Arc::new(SharedQueues {
        inbox: Inbox::new(),
        reliable: BoundedQueue::new(RELIABLE_MAX),
        state: ArrayQueue::new(state_packets_max.clamp(1, STATE_PACKETS_MAX)),
        spare: ArrayQueue::new(state_packets_max.clamp(1, STATE_PACKETS_MAX)),
        news: AtomicBool::new(false),
        waker: AtomicWaker::new(),
        admission: OnceLock::new(),
        closing: OnceLock::new(),
        link_gone: AtomicBool::new(false),
    });
    (RoomEndpoint { pipe: Arc::clone(&pipe) }, ConnectionEndpoint { pipe })
}

#[derive(Debug)]
struct SharedQueues {
    inbox: Inbox,
    reliable: BoundedQueue<Arc<ServerMessage>>,
    state: ArrayQueue<Vec<u8>>,
    /// Buffers that the link is done with.
    spare: ArrayQueue<Vec<u8>>,
    /// Whether there is something that the link was not woken for yet.
    news: AtomicBool,
    waker: AtomicWaker,
    admission: OnceLock<Result<PlayerId, Rejection>>,
    closing: OnceLock<Closing>,
    link_gone: AtomicBool,
}

/// The room's end.
#[derive(Debug)]
pub struct RoomEndpoint {
    pipe: Arc<SharedQueues>,
}

/// The connection's end. Dropping it tells the room that the client is gone.
#[derive(Debug)]
pub struct ConnectionEndpoint {
    pipe: Arc<SharedQueues>,
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
    /// How many messages of the client wait.
    pub(crate) fn waiting(&self) -> QueueLength {
        self.pipe.inbox.waiting()
    }

    /// The next message of the client, of those that were counted.
    pub(crate) fn receive(&self, waiting: &mut QueueLength) -> Option<ClientMessage> {
        self.pipe.inbox.pop(waiting)
    }

    /// Queues a reliable message; false when too many wait already.
    pub(crate) fn send(&self, message: Arc<ServerMessage>) -> bool {
        self.pipe.news.store(true, Ordering::Relaxed);
        self.pipe.reliable.push(message).is_ok()
    }

    /// Whether the last snapshot was taken away, so that a new one may be built.
    pub(crate) fn wants_state(&self) -> bool {
        self.pipe.state.is_empty()
    }

    /// Tells the link that its player is in.
    pub(crate) fn admit(&self, player: PlayerId) {
        let _ = self.pipe.admission.set(Ok(player));
        self.pipe.news.store(true, Ordering::Relaxed);
    }

    /// Tells the link that its player is not let in.
    pub(crate) fn refuse(&self, refusal: Rejection) {
        let _ = self.pipe.admission.set(Err(refusal));
        self.pipe.news.store(true, Ordering::Relaxed);
    }

    /// Ends the connection, once; the first reason counts.
    pub(crate) fn close(&self, closing: Closing) {
        let _ = self.pipe.closing.set(closing);
        self.pipe.news.store(true, Ordering::Relaxed);
    }

    /// Wakes the link if there is something new for it. That may be a system call, so it is done after the tick.
    pub(crate) fn wake(&self) {
        if self.pipe.news.swap(false, Ordering::AcqRel) {
            self.pipe.waker.wake();
        }
    }

    /// Whether this end closed it.
    pub(crate) fn is_closed(&self) -> bool {
        self.pipe.closing.get().is_some()
    }

    /// Why the connection is of no more use, if it is: this end closed it, or the client went away.
    pub(crate) fn lost(&self) -> Option<CloseReason> {
        let gone = self.pipe.link_gone.load(Ordering::Acquire);
        self.pipe.closing.get().map(|closing| closing.reason).or(gone.then_some(CloseReason::Left))
    }
}

impl Drop for RoomEndpoint {
    /// A link is never left waiting: whoever was neither refused nor told why is told that the room failed.
    fn drop(&mut self) {
        if !matches!(self.pipe.admission.get(), Some(Err(_))) {
            self.close(closing(CloseReason::RoomFailed));
        }
        self.wake();
    }
}

impl PacketSink for &RoomEndpoint {
    fn buffer(&mut self) -> Vec<u8> {
        self.pipe.spare.pop().unwrap_or_default()
    }

    fn packet(&mut self, _sequence: PacketSeq, bytes: Vec<u8>) {
        self.pipe.news.store(true, Ordering::Relaxed);
        if self.pipe.state.push(bytes).is_err() {
            // The budget stays below what the queue holds, so this does not happen; if it did, the client would lack
            // state for good, and is better told to come again.
            self.close(closing(CloseReason::TooSlow));
        }
    }
}

impl ConnectionEndpoint {
    /// Hands a message to the room.
    pub fn push(&self, message: ClientMessage) -> Result<(), InboxFull> {
        self.pipe.inbox.push(message).map_err(|_| InboxFull)
    }

    /// Whether the player was let in; nothing until the room's next tick.
    #[must_use]
    pub fn admission(&self) -> Option<&Result<PlayerId, Rejection>> {
        self.pipe.admission.get()
    }

    /// The next reliable message. Those of a tick come before its state.
    #[must_use]
    pub fn next_reliable(&self) -> Option<Arc<ServerMessage>> {
        self.pipe.reliable.pop()
    }

    /// The next state packet.
    #[must_use]
    pub fn next_state(&self) -> Option<Vec<u8>> {
        self.pipe.state.pop()
    }

    /// Gives the memory of a state packet back.
    pub fn recycle(&self, buffer: Vec<u8>) {
        let _ = self.pipe.spare.push(buffer);
    }

    /// Has this waker called when the room has something for the link: an answer, a message, state, or the end.
    pub fn register_waker(&self, waker: &Waker) {
        self.pipe.waker.register(waker);
    }

    /// Whether anything waits to be taken.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.pipe.reliable.is_empty() || !self.pipe.state.is_empty() || self.pipe.closing.get().is_some()
    }

    /// Why the room ended the connection, if it did. What is queued may still be sent before.
    #[must_use]
    pub fn closing(&self) -> Option<&Closing> {
        self.pipe.closing.get()
    }
}

impl Drop for ConnectionEndpoint {
    fn drop(&mut self) {
        self.pipe.link_gone.store(true, Ordering::Release);
    }
}
