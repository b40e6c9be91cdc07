//! State of a connection that its socket task and its transport share.

use super::inbox::Inbox;
use super::queue::SocketQueue;
use super::timers::{Milliseconds, NEVER, TimerQueue};
use crate::transport::TransportEnded;
use aether_framing::FramingError;
use aether_rudp::{Channel, CloseCause, Connection, ConnectionState, ConnectionStats, DropReason};
use aether_udp::SendBatch;
use aether_wire::DeliveryPath;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

/// Most datagrams of a connection per turn of its socket, so that a busy connection does not delay the others.
const DATAGRAMS_PER_TURN_MAX: usize = 16;

/// A connection of a socket.
///
/// The lock is held for the time of one message or a few datagrams, and never during a system call.
pub(super) struct Peer {
    pub id: u64,
    socket: Arc<SocketQueue>,
    /// True while the peer is in the queue of its socket, or in the list of its current turn.
    is_queued: AtomicBool,
    state: Mutex<PeerState>,
}

/// State under the lock of a [`Peer`].
pub(super) struct PeerState {
    pub connection: Connection,
    pub inbox: Inbox,
    /// Moment of the newest entry in the timers of the socket.
    timer: Milliseconds,
    /// Waker of the connection task.
    waker: Option<Waker>,
    /// True while the connection task waits until its backlog is in the send window.
    awaits_flush: bool,
    /// True while the connection task waits until the client has all messages.
    awaits_delivery: bool,
}

/// Result of handling a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatagramOutcome {
    /// There may be something to send.
    Due,
    /// There is nothing to send before the next deadline.
    Idle,
    /// The connection task does not read, so the datagram was dropped.
    Unread,
    /// The datagram is not valid.
    Dropped(DropReason),
}

/// Result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransmitOutcome {
    /// Everything that is due is in the batch.
    Done,
    /// The connection has more to send in the next turn.
    More,
    /// The connection is closed.
    Closed,
}

impl Peer {
    pub fn new(connection: Connection, socket: Arc<SocketQueue>) -> Arc<Peer> {
        Arc::new(Peer {
            id: connection.id().0,
            socket,
            is_queued: AtomicBool::new(false),
            state: Mutex::new(PeerState {
                connection,
                inbox: Inbox::default(),
                timer: NEVER,
                waker: None,
                awaits_flush: false,
                awaits_delivery: false,
            }),
        })
    }

    pub fn state(&self) -> MutexGuard<'_, PeerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the connection on the queue of its socket, unless it is there already.
    pub fn queue_output(self: &Arc<Self>) {
        if self.mark_queued() {
            self.socket.push_ready(Arc::clone(self));
        }
    }

    /// Marks the peer as queued. Returns false if it was.
    pub fn mark_queued(&self) -> bool {
        !self.is_queued.swap(true, Ordering::AcqRel)
    }

    /// Handles a datagram of the client.
    pub fn handle(&self, now: Duration, from: SocketAddr, datagram: &mut [u8]) -> DatagramOutcome {
        let mut state = self.state();
        let PeerState { connection, inbox, .. } = &mut *state;
        if inbox.is_full() {
            return DatagramOutcome::Unread;
        }
        let was_empty = inbox.is_empty();
        let handled = connection.handle(now, from, datagram, &mut |channel, message| {
            inbox.push(delivery_path(channel), message);
        });
        if let Err(reason) = handled {
            return DatagramOutcome::Dropped(reason);
        }
        let has_input = was_empty && !inbox.is_empty();
        // A connection that the client has closed has no deadline: its next turn removes it.
        let is_due = connection.next_timeout().is_none_or(|at| at <= now);
        let waker = state.waker_if(has_input);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if is_due { DatagramOutcome::Due } else { DatagramOutcome::Idle }
    }

    /// Adds the datagrams that are due to a batch, and schedules the next deadline.
    pub fn transmit(&self, now: Duration, batch: &mut SendBatch, timers: &mut TimerQueue) -> TransmitOutcome {
        // Cleared first: output that is queued from now on counts for the next turn.
        self.is_queued.store(false, Ordering::Release);
        let mut state = self.state();
        let mut outcome = TransmitOutcome::More;
        for _ in 0..DATAGRAMS_PER_TURN_MAX {
            let Some(to) = state.connection.poll_transmit(now, batch.begin()) else {
                outcome = TransmitOutcome::Done;
                break;
            };
            batch.finish(to);
        }
        if let ConnectionState::Closed(_) = state.connection.state() {
            outcome = TransmitOutcome::Closed;
        } else if let Some(deadline) = state.connection.next_timeout() {
            timers.schedule(self.id, &mut state.timer, deadline);
        }
        let waker = state.waker_if(outcome == TransmitOutcome::Closed);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        outcome
    }

    /// Takes an entry of the timers that is due. Returns false if it is an old one.
    pub fn take_timer(&self, at: Milliseconds) -> bool {
        let mut state = self.state();
        let is_newest = state.timer == at;
        if is_newest {
            state.timer = NEVER;
        }
        is_newest
    }
}

impl PeerState {
    /// End of the connection, if it has ended.
    pub fn ended(&self) -> Option<TransportEnded> {
        match self.connection.state() {
            ConnectionState::Connecting | ConnectionState::Open | ConnectionState::Closing => None,
            ConnectionState::Closed(CloseCause::Peer(_) | CloseCause::Local) => Some(TransportEnded::Closed),
            ConnectionState::Closed(CloseCause::TimedOut | CloseCause::Exhausted) => Some(TransportEnded::Lost),
            ConnectionState::Closed(CloseCause::Violation) => {
                Some(TransportEnded::Violation(FramingError::Protocol("a packet breaks the rules of the transport")))
            }
        }
    }

    /// Returns true if all messages are sent, or will be as soon as the socket has its turn: they fit the congestion
    /// window. More output is not created before that, so a slow client gets newer state instead of a queue of old one.
    pub fn is_flushed(&self) -> bool {
        let backlog = self.connection.backlog_bytes();
        if backlog == 0 {
            return true;
        }
        let ConnectionStats { congestion_window, under_way, .. } = self.connection.stats();
        backlog + under_way <= congestion_window
    }

    /// Returns true if the client has acknowledged all messages.
    pub fn is_delivered(&self) -> bool {
        self.connection.backlog_bytes() == 0 && self.connection.unacknowledged_bytes() == 0
    }

    /// Registers the connection task for input and for the end.
    pub fn wake_for_input(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            empty => *empty = Some(cx.waker().clone()),
        }
    }

    /// Registers the connection task for the moment at which its messages are in the send window.
    pub fn wake_when_flushed(&mut self, cx: &Context<'_>) {
        self.awaits_flush = true;
        self.wake_for_input(cx);
    }

    /// Registers the connection task for the moment at which the client has all messages.
    pub fn wake_when_delivered(&mut self, cx: &Context<'_>) {
        self.awaits_delivery = true;
        self.wake_for_input(cx);
    }

    /// Returns the waker of the connection task if something that it waits for has happened.
    fn waker_if(&mut self, has_news: bool) -> Option<Waker> {
        let is_flushed = self.awaits_flush && self.is_flushed();
        let is_delivered = self.awaits_delivery && self.is_delivered();
        self.awaits_flush &= !is_flushed;
        self.awaits_delivery &= !is_delivered;
        let is_woken = has_news || is_flushed || is_delivered || self.ended().is_some();
        if is_woken { self.waker.take() } else { None }
    }
}

/// Delivery path of a channel's messages.
fn delivery_path(channel: Channel) -> DeliveryPath {
    match channel {
        Channel::ReliableOrdered | Channel::ReliableUnordered => DeliveryPath::Reliable,
        Channel::Sequenced | Channel::Unreliable => DeliveryPath::Unreliable,
    }
}
