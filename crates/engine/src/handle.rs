//! [`RoomHandle`]: access to a room from other threads.

use crate::bounded::BoundedQueue;
use crate::connection::{ConnectionEndpoint, RoomEndpoint, STATE_PACKETS_MAX, connect};
use crate::control::{RecordingRefusal, RoomControl, StartedRecording};
use crate::durable::{EntryNumber, RoomCheckpoint, RoomOutput};
use crate::game::JoinRequest;
use crate::inspect::{EntityPage, EntityQuery};
use crate::recording::RecordingChannel;
use crate::request::{Answer, Request};
use crate::settings::RoomSettings;
use crate::stats::{RoomStats, SharedStats};
use aether_bits::Schema;
use aether_replication::DeliveryOrder;
use aether_wire::{CloseReason, Permissions, PlayerId, RequestId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::task::Waker;

/// Maximum number of joins, signals and answers that wait for the next tick of a room.
pub const MAILBOX_MAX: usize = 1_024;

/// Access to a room from any thread.
#[derive(Clone)]
pub struct RoomHandle {
    mailbox: Arc<Mailbox>,
    stats: Arc<SharedStats>,
}

/// The mailbox of the room is full: it ticks too slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxFull;

impl std::fmt::Display for MailboxFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the mailbox of the room is full: the room ticks too slowly; try again later")
    }
}

impl std::error::Error for MailboxFull {}

/// Maximum bytes of the new code of a room. It is recorded, and every room of a reload gets it.
pub const RELOAD_BYTES_MAX: usize = 4 << 20;

/// Error of [`RoomHandle::reload`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadError {
    /// The code has more than [`RELOAD_BYTES_MAX`] bytes.
    TooLarge,
    /// The mailbox of the room is full.
    MailboxFull,
}

impl std::fmt::Display for ReloadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ReloadError::TooLarge => write!(f, "the code has more than {RELOAD_BYTES_MAX} bytes; remove unused parts"),
            ReloadError::MailboxFull => MailboxFull.fmt(f),
        }
    }
}

impl std::error::Error for ReloadError {}

/// Messages to a room, and its output.
pub(crate) struct Mailbox {
    pub messages: BoundedQueue<MailboxMessage>,
    output: Arc<RoomOutput>,
    /// True after the room has ended: messages are dropped.
    closed: AtomicBool,
}

impl Mailbox {
    pub fn new(output: Arc<RoomOutput>) -> Self {
        Mailbox { messages: BoundedQueue::new(MAILBOX_MAX), output, closed: AtomicBool::new(false) }
    }

    /// Closes the mailbox and drops its messages, which notifies those who wait for a reply.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.empty_if_closed();
        self.output.closed.store(true, Ordering::SeqCst);
        self.output.wake();
    }

    /// Drops the messages. Senders see a disconnected reply channel or endpoint.
    fn empty_if_closed(&self) {
        if self.closed.load(Ordering::SeqCst) {
            while self.messages.pop().is_some() {}
        }
    }
}

pub(crate) enum MailboxMessage {
    Join(JoinRequest, DeliveryOrder, RoomEndpoint),
    /// A player resumes, in this session if it is another one.
    Resume(PlayerId, Option<String>, DeliveryOrder, RoomEndpoint),
    /// New code of the game.
    Reload(Arc<[u8]>),
    /// The role of the account changed.
    Permissions(PlayerId, Permissions),
    /// The player leaves, without time to resume.
    Remove(PlayerId, CloseReason),
    Answer(RequestId, Answer),
    /// Outcome of a journal entry: stored, or an error text.
    Committed(EntryNumber, Result<(), String>),
    Signal(Vec<u8>, SyncSender<Vec<u8>>),
    /// Request of an operator.
    Control(RoomControl),
    End,
    /// Another server took the lease.
    LeaseLost,
}

impl RoomHandle {
    pub(crate) fn new(mailbox: &Arc<Mailbox>, stats: &Arc<SharedStats>) -> Self {
        RoomHandle { mailbox: Arc::clone(mailbox), stats: Arc::clone(stats) }
    }

    /// Requests a join. The room decides at the next tick; [`ConnectionEndpoint::admission`] has the result.
    pub fn join(&self, request: JoinRequest, order: DeliveryOrder) -> Result<ConnectionEndpoint, MailboxFull> {
        let (room_endpoint, connection_endpoint) = connect(self.stats.settings.state_packets_max());
        self.post(MailboxMessage::Join(request, order, room_endpoint))?;
        Ok(connection_endpoint)
    }

    /// Requests a join for a client that gets events, but not the state of the room.
    pub fn join_for_messages(&self, request: JoinRequest) -> Result<ConnectionEndpoint, MailboxFull> {
        let (room_endpoint, connection_endpoint) = connect(0);
        self.post(MailboxMessage::Join(request, DeliveryOrder::Ordered, room_endpoint))?;
        Ok(connection_endpoint)
    }

    /// Requests a resume in another session, for a client that gets events, but not the state of the room.
    pub fn resume_for_messages(&self, player: PlayerId, session: String) -> Result<ConnectionEndpoint, MailboxFull> {
        let (room_endpoint, connection_endpoint) = connect(0);
        self.post(MailboxMessage::Resume(player, Some(session), DeliveryOrder::Ordered, room_endpoint))?;
        Ok(connection_endpoint)
    }

    /// Requests a resume: connects an existing player to a new connection.
    pub fn resume(&self, player: PlayerId, order: DeliveryOrder) -> Result<ConnectionEndpoint, MailboxFull> {
        self.resume_in_session(player, order, None)
    }

    /// Requests a resume in another session.
    pub fn resume_in_session(
        &self,
        player: PlayerId,
        order: DeliveryOrder,
        session: Option<String>,
    ) -> Result<ConnectionEndpoint, MailboxFull> {
        let (room_endpoint, connection_endpoint) = connect(self.stats.settings.state_packets_max());
        self.post(MailboxMessage::Resume(player, session, order, room_endpoint))?;
        Ok(connection_endpoint)
    }

    /// Replaces the permissions of a player at the next tick.
    pub fn set_permissions(&self, player: PlayerId, permissions: Permissions) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Permissions(player, permissions))
    }

    /// Removes a player at the next tick, connected or not. The player cannot resume.
    pub fn remove(&self, player: PlayerId, reason: CloseReason) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Remove(player, reason))
    }

    /// Delivers the answer to a request.
    pub fn answer(&self, id: RequestId, answer: Answer) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Answer(id, answer))
    }

    /// Sends a signal to the game. The game's reply goes to `reply`.
    pub fn signal(&self, data: Vec<u8>, reply: SyncSender<Vec<u8>>) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Signal(data, reply))
    }

    /// Passes new code to the game, which takes it over at the start of its next tick. Several reloads before that tick
    /// arrive in order.
    pub fn reload(&self, code: Arc<[u8]>) -> Result<(), ReloadError> {
        if code.len() > RELOAD_BYTES_MAX {
            return Err(ReloadError::TooLarge);
        }
        self.post(MailboxMessage::Reload(code)).map_err(|MailboxFull| ReloadError::MailboxFull)
    }

    /// Requests the state of the room for a spectator, who is no player: all entities that everybody may see, with unordered
    /// delivery. Its messages to the room are acknowledgements. A rejection is in [`ConnectionEndpoint::admission`].
    pub fn spectate(&self) -> Result<ConnectionEndpoint, MailboxFull> {
        let (room_endpoint, connection_endpoint) = connect(STATE_PACKETS_MAX);
        self.post(MailboxMessage::Control(RoomControl::Spectate(room_endpoint)))?;
        Ok(connection_endpoint)
    }

    /// Asks for some entities. The room sends them to `reply` before its next tick.
    pub fn inspect(&self, query: EntityQuery, reply: SyncSender<EntityPage>) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Control(RoomControl::Inspect(query, reply)))
    }

    /// Begins a recording of the running room, under the game's name. Its header and hash go to `reply`.
    pub fn start_recording(
        &self,
        game_name: impl Into<String>,
        channel: Arc<RecordingChannel>,
        reply: SyncSender<Result<StartedRecording, RecordingRefusal>>,
    ) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Control(RoomControl::StartRecording(game_name.into(), channel, reply)))
    }

    /// Ends the recording. False goes to `reply` if there is none.
    pub fn stop_recording(&self, reply: SyncSender<bool>) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Control(RoomControl::StopRecording(reply)))
    }

    /// Delivers the outcome of a journal entry. Outcomes must arrive in the order of the entries.
    pub fn committed(&self, number: EntryNumber, outcome: Result<(), String>) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Committed(number, outcome))
    }

    /// Ends the room at its next tick. A durable room publishes a checkpoint first.
    pub fn end(&self) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::End)
    }

    /// Ends the room at its next tick because another server took its lease. Nothing more of it is stored.
    pub fn lease_lost(&self) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::LeaseLost)
    }

    /// Returns true if the room still accepts messages: it has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.mailbox.closed.load(Ordering::SeqCst)
    }

    /// Returns the number of messages that wait for the next tick.
    #[must_use]
    pub fn mailbox_len(&self) -> usize {
        self.mailbox.messages.len()
    }

    /// Returns the stats as of the last tick.
    #[must_use]
    pub fn stats(&self) -> RoomStats {
        self.stats.read()
    }

    /// Returns the label.
    #[must_use]
    pub fn label(&self) -> Arc<str> {
        self.stats.label()
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &RoomSettings {
        &self.stats.settings
    }

    /// Returns the schema of the game.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.stats.schema
    }

    /// Takes the next request to the services.
    #[must_use]
    pub fn next_request(&self) -> Option<(RequestId, Request)> {
        self.mailbox.output.requests.pop()
    }

    /// Takes the next journal entry to store, in order.
    #[must_use]
    pub fn next_entry(&self) -> Option<(EntryNumber, Vec<u8>)> {
        self.mailbox.output.entries.pop()
    }

    /// Takes the newest checkpoint, if it was not taken yet.
    #[must_use]
    pub fn take_checkpoint(&self) -> Option<RoomCheckpoint> {
        self.mailbox.output.checkpoint.pop()
    }

    /// Takes the next player who left, with the reason.
    #[must_use]
    pub fn next_departure(&self) -> Option<(PlayerId, CloseReason)> {
        self.mailbox.output.departures.pop()
    }

    /// Returns true if the room ended for good: its stored state can be deleted.
    #[must_use]
    pub fn has_ended_for_good(&self) -> bool {
        self.mailbox.output.ended_for_good.load(Ordering::SeqCst)
    }

    /// Registers a waker. It is woken when there is output to take or the room has ended.
    pub fn register_waker(&self, waker: &Waker) {
        self.mailbox.output.register_waker(waker);
    }

    /// Returns true if there is a request, entry, checkpoint or departure to take, or the room has ended.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.mailbox.output.has_output()
    }

    fn post(&self, message: MailboxMessage) -> Result<(), MailboxFull> {
        self.mailbox.messages.push(message).map_err(|_| MailboxFull)?;
        self.mailbox.empty_if_closed();
        Ok(())
    }
}
