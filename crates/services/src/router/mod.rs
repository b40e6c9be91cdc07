//! Router: delivers everything that reaches a user or a stream over sockets.
//!
//! A session with a socket is *present* in streams. A message to a stream reaches all its sessions, and a change of the
//! visible presences reaches its members, or the followers of a status. Nothing else keeps sockets by user or by stream.
//!
//! ```text
//!   status, chat, parties, matches ──→ Router ──→ Outbox of each session ──→ connection
//!                                      │  PresenceTable: sessions, streams, followers
//! ```
//!
//! The table is a state machine without I/O. A call changes the table and fills the outboxes under one lock, so that
//! every session sees the events of a stream in the same order; connections are woken after it. One call is one batch:
//! all joins and leaves of a stream that it causes are one event.

mod events;
mod limits;
mod match_batch;
mod outbox;
mod presences;
mod sender;
pub(crate) mod serve;
mod stream;

pub use events::channel_id;
pub use limits::{
    FOLLOWERS_PER_USER_MAX, FOLLOWS_PER_SESSION_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, PRESENCES_PER_STREAM_MAX,
    STATUS_BYTES_MAX, STREAM_LABEL_BYTES_MAX, STREAMS_PER_SESSION_MAX,
};
pub use match_batch::{MatchBatch, MatchMessage, MatchSender};
pub use outbox::{Outbox, OutboxItem, Outgoing, SocketClosing};
pub use presences::Shown;
pub use sender::SessionSender;
pub use stream::{Presence, PresenceEvent, PresenceMeta, SocketSession, StreamId, mode};

use crate::error::ServiceError;
use aether_messages::realtime::StreamData;
use aether_messages::realtime::envelope::Message;
use aether_metrics::{Counter, Gauge, Registry};
use aether_wire::CloseReason;
use outbox::PushOutcome;
use presences::PresenceTable;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use uuid::Uuid;

/// Sockets of this node, and the streams that they are in.
pub struct Router {
    state: Mutex<RouterState>,
    metrics: RouterMetrics,
    /// Functions that are called when a session ends, in the order of their registration.
    on_end: RwLock<Vec<OnEnd>>,
}

/// Function that is called with a session that has ended, and the streams that it was in.
type OnEnd = Box<dyn Fn(&SocketSession, &[StreamId]) + Send + Sync>;

#[derive(Default)]
struct RouterState {
    table: PresenceTable,
    outboxes: HashMap<Uuid, Arc<Outbox>>,
}

struct RouterMetrics {
    sessions: Gauge,
    streams: Gauge,
    presences: Gauge,
    delivered: Counter,
    overflows: Counter,
}

/// Connected session. It leaves all streams when this is dropped.
pub struct OpenSocket {
    router: Arc<Router>,
    /// Session.
    pub socket: SocketSession,
    /// Messages for the session.
    pub outbox: Arc<Outbox>,
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        let streams = self.router.change(|state| {
            state.outboxes.remove(&self.socket.session);
            state.table.close(self.socket.session)
        });
        let on_end = self.router.on_end.read().unwrap_or_else(PoisonError::into_inner);
        on_end.iter().for_each(|ended| ended(&self.socket, &streams));
    }
}

impl Router {
    /// Creates a router without sessions.
    #[must_use]
    pub fn new(registry: &Registry) -> Router {
        let gauge = |name, help| registry.gauge(name, help, &[]);
        let counter = |name, help| registry.counter(name, help, &[]);
        let metrics = RouterMetrics {
            sessions: gauge("aether_sockets", "Connected sessions of the services socket."),
            streams: gauge("aether_streams", "Streams with at least one presence."),
            presences: gauge("aether_presences", "Presences in streams."),
            delivered: counter("aether_routed_messages_total", "Messages queued for sessions by the router."),
            overflows: counter("aether_outboxes_full_total", "Sessions closed because they read too slowly."),
        };
        Router { state: Mutex::default(), metrics, on_end: RwLock::default() }
    }

    /// Calls a function whenever a session ends, after it has left its streams, with the streams that it was in. It must
    /// return at once: it runs on the thread of the connection.
    pub fn on_end(&self, ended: impl Fn(&SocketSession, &[StreamId]) + Send + Sync + 'static) {
        self.on_end.write().unwrap_or_else(PoisonError::into_inner).push(Box::new(ended));
    }

    /// Returns a connected session.
    #[must_use]
    pub fn session(&self, session: Uuid) -> Option<SocketSession> {
        self.state().table.socket(session).cloned()
    }

    /// Connects a session. It is present in the stream of its user's sessions.
    pub fn open(self: &Arc<Self>, socket: SocketSession) -> Result<OpenSocket, ServiceError> {
        let outbox = Arc::new(Outbox::default());
        let (session, user) = (socket.session, socket.user);
        self.change(|state| {
            state.table.open(socket.clone())?;
            state.outboxes.insert(session, Arc::clone(&outbox));
            let meta = PresenceMeta { hidden: true, ..PresenceMeta::default() };
            state.table.track(session, &StreamId::notifications(user), meta)
        })?;
        Ok(OpenSocket { router: Arc::clone(self), socket, outbox })
    }

    /// Adds a session to a stream, or changes its properties there. Returns false if nothing changed.
    pub fn track(&self, session: Uuid, stream: &StreamId, meta: PresenceMeta) -> Result<bool, ServiceError> {
        self.change(|state| state.table.track(session, stream, meta))
    }

    /// Adds a session to a stream and sends it a message that is made of the visible presences of the stream. The session
    /// gets the events of all later changes after the message, beginning with its own join.
    pub fn track_with_message(
        &self,
        session: Uuid,
        stream: &StreamId,
        meta: PresenceMeta,
        message: impl FnOnce(Vec<Presence>) -> Message,
    ) -> Result<bool, ServiceError> {
        let mut woken = Vec::new();
        let is_changed = self.change(|state| {
            let is_changed = state.table.track(session, stream, meta)?;
            let message = Outgoing::new(message(state.table.list(stream, Shown::Visible)));
            self.queue(state, &[session], &message, &mut woken);
            Ok(is_changed)
        });
        wake(&woken);
        is_changed
    }

    /// Removes a session from a stream. Returns false if it is not in it.
    pub fn untrack(&self, session: Uuid, stream: &StreamId) -> bool {
        self.change(|state| state.table.untrack(session, stream))
    }

    /// Removes all sessions from a stream. Returns their number.
    pub fn close_stream(&self, stream: &StreamId) -> usize {
        self.change(|state| state.table.close_stream(stream))
    }

    /// Returns the presences of a stream, in the order of their session ids.
    #[must_use]
    pub fn list(&self, stream: &StreamId, shown: Shown) -> Vec<Presence> {
        self.state().table.list(stream, shown)
    }

    /// Returns the presence of a session in a stream.
    #[must_use]
    pub fn find(&self, session: Uuid, stream: &StreamId) -> Option<Presence> {
        self.state().table.find(session, stream)
    }

    /// Number of presences in a stream, with hidden ones.
    #[must_use]
    pub fn count(&self, stream: &StreamId) -> usize {
        self.state().table.count(stream)
    }

    /// Follows users, and returns their current status presences. All or none of the users are added.
    pub fn follow(&self, session: Uuid, users: &[Uuid]) -> Result<Vec<Presence>, ServiceError> {
        self.change(|state| {
            state.table.follow(session, users)?;
            let listed = |user: &Uuid| state.table.list(&StreamId::status(*user), Shown::Visible);
            Ok(users.iter().flat_map(listed).collect())
        })
    }

    /// Stops following users.
    pub fn unfollow(&self, session: Uuid, users: &[Uuid]) -> Result<(), ServiceError> {
        self.change(|state| state.table.unfollow(session, users))
    }

    /// Ends the follows of two users of each other.
    pub fn unfollow_each_other(&self, one: Uuid, other: Uuid) {
        self.change(|state| {
            for (follower, followed) in [(one, other), (other, one)] {
                let sessions: Vec<Uuid> = state.table.members(&StreamId::notifications(follower)).collect();
                for session in sessions {
                    // A connected session can always unfollow.
                    let _ = state.table.unfollow(session, &[followed]);
                }
            }
        });
    }

    /// Returns the streams that a session is in.
    #[must_use]
    pub fn streams(&self, session: Uuid) -> Vec<StreamId> {
        self.state().table.streams(session)
    }

    /// Returns a sender to a session; none if it is not connected.
    #[must_use]
    pub fn sender(&self, session: Uuid) -> Option<SessionSender> {
        let outbox = self.state().outboxes.get(&session).cloned()?;
        let RouterMetrics { delivered, overflows, .. } = &self.metrics;
        Some(SessionSender { outbox, delivered: delivered.clone(), overflows: overflows.clone() })
    }

    /// Sends a message to all sessions of a user. Returns the number of sessions.
    pub fn send_to_user(&self, user: Uuid, message: Message) -> usize {
        self.send_to_stream(&StreamId::notifications(user), message)
    }

    /// Sends a message to a session. Returns false if it is not connected.
    pub fn send_to_session(&self, session: Uuid, message: Message) -> bool {
        self.deliver(|_| vec![session], Outgoing::new(message)) == 1
    }

    /// Sends a message to sessions. Returns the number of those that are connected.
    pub fn send_to_sessions(&self, sessions: Vec<Uuid>, message: Message) -> usize {
        self.deliver(|_| sessions, Outgoing::new(message))
    }

    /// Sends a message to all sessions in a stream. Returns the number of sessions.
    pub fn send_to_stream(&self, stream: &StreamId, message: Message) -> usize {
        self.deliver(|table| table.members(stream).collect(), Outgoing::new(message))
    }

    /// Sends a message to all sessions. Returns their number.
    pub fn send_to_all(&self, message: Message) -> usize {
        self.deliver(|table| table.sessions().collect(), Outgoing::new(message))
    }

    /// Sends a message to the sessions in a stream whose user is not among the given ones. Returns the number of sessions.
    pub fn send_to_stream_without(&self, stream: &StreamId, without: &BTreeSet<Uuid>, message: Message) -> usize {
        let is_receiver = |table: &PresenceTable, session: &Uuid| {
            table.socket(*session).is_some_and(|socket| !without.contains(&socket.user))
        };
        let receivers = |table: &PresenceTable| {
            table.members(stream).filter(|session| is_receiver(table, session)).collect::<Vec<_>>()
        };
        self.deliver(receivers, Outgoing::new(message))
    }

    /// Sends a message to those of the given sessions that are in a stream. Returns the number of sessions.
    pub fn send_to_members(&self, stream: &StreamId, sessions: &[Uuid], message: Message) -> usize {
        let members = |table: &PresenceTable| {
            sessions.iter().filter(|session| table.find(**session, stream).is_some()).copied().collect()
        };
        self.deliver(members, Outgoing::new(message))
    }

    /// Sends data to all sessions in a stream, as a stream message. Returns the number of sessions.
    pub fn send_data(&self, stream: &StreamId, sender: Option<&Presence>, data: String, reliable: bool) -> usize {
        let message = StreamData {
            stream: Some(stream.to_message()),
            sender: sender.map(|presence| presence.to_message(stream.mode)),
            data,
            reliable,
        };
        self.send_to_stream(stream, Message::StreamData(message))
    }

    /// Closes the socket of a session after the messages that wait. Returns false if it is not connected.
    pub fn disconnect(&self, session: Uuid, reason: CloseReason, text: &str) -> bool {
        let outbox = self.state().outboxes.get(&session).cloned();
        let Some(outbox) = outbox else { return false };
        outbox.close(SocketClosing { reason, text: text.to_owned() });
        outbox.wake();
        true
    }

    /// Number of connected sessions.
    #[must_use]
    pub fn sockets(&self) -> usize {
        self.state().outboxes.len()
    }

    /// Closes all sockets, because the server stops.
    pub fn disconnect_all(&self, reason: CloseReason, text: &str) {
        let outboxes: Vec<Arc<Outbox>> = self.state().outboxes.values().cloned().collect();
        for outbox in outboxes {
            outbox.close(SocketClosing { reason, text: text.to_owned() });
            outbox.wake();
        }
    }

    /// Queues a message for the sessions that `receivers` returns. Returns their number.
    fn deliver(&self, receivers: impl FnOnce(&PresenceTable) -> Vec<Uuid>, message: Arc<Outgoing>) -> usize {
        let mut woken = Vec::new();
        let state = self.state();
        let receivers = receivers(&state.table);
        self.queue(&state, &receivers, &message, &mut woken);
        drop(state);
        wake(&woken);
        woken.len()
    }

    /// Changes the table, and queues the events that follow.
    fn change<T>(&self, change: impl FnOnce(&mut RouterState) -> T) -> T {
        let mut woken = Vec::new();
        let mut state = self.state();
        let outcome = change(&mut state);
        for event in state.table.take_events() {
            let receivers = state.table.receivers(&event.stream);
            if !receivers.is_empty() {
                self.queue(&state, &receivers, &Outgoing::new(events::message_of(event)), &mut woken);
            }
        }
        let (sessions, streams, presences) = state.table.sizes();
        self.metrics.sessions.set(sessions as f64);
        self.metrics.streams.set(streams as f64);
        self.metrics.presences.set(presences as f64);
        drop(state);
        wake(&woken);
        outcome
    }

    fn queue(&self, state: &RouterState, receivers: &[Uuid], message: &Arc<Outgoing>, woken: &mut Vec<Arc<Outbox>>) {
        for outbox in receivers.iter().filter_map(|session| state.outboxes.get(session)) {
            match outbox.push(OutboxItem::Message(Arc::clone(message))) {
                PushOutcome::Queued => self.metrics.delivered.inc(),
                PushOutcome::Overflowed => self.metrics.overflows.inc(),
                PushOutcome::Closed => continue,
            }
            woken.push(Arc::clone(outbox));
        }
    }

    fn state(&self) -> MutexGuard<'_, RouterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes connections outside the lock, because a wake may be a system call.
fn wake(outboxes: &[Arc<Outbox>]) {
    outboxes.iter().for_each(|outbox| outbox.wake());
}
