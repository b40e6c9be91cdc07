//! Messages that wait for one session, encoded once for all their receivers.

use super::limits::{OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX};
use super::match_batch::MatchBatch;
use aether_messages::prost::Message as _;
use aether_messages::realtime::Envelope;
use aether_messages::realtime::envelope::Message;
use aether_messages::socket::SocketFormat;
use aether_wire::CloseReason;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;

/// Text for a client that reads too slowly.
const OUTBOX_FULL: &str = "outgoing queue full: the client reads too slowly";

/// Envelope for any number of sessions. Each format is made once, by the first session that needs it.
#[derive(Debug)]
pub struct Outgoing {
    envelope: Envelope,
    /// Size as protobuf.
    bytes: usize,
    protobuf: OnceLock<Bytes>,
    json: OnceLock<Bytes>,
}

impl Outgoing {
    /// Creates a message that answers no request.
    #[must_use]
    pub fn new(message: Message) -> Arc<Outgoing> {
        Outgoing::of(Envelope { cid: String::new(), message: Some(message) })
    }

    /// Creates a message from an envelope.
    #[must_use]
    pub fn of(envelope: Envelope) -> Arc<Outgoing> {
        let bytes = envelope.encoded_len();
        Arc::new(Outgoing { envelope, bytes, protobuf: OnceLock::new(), json: OnceLock::new() })
    }

    /// The envelope.
    #[must_use]
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Returns the bytes of a frame; none if the envelope has no JSON form, which only times of the far future cause.
    #[must_use]
    pub fn frame(&self, format: SocketFormat) -> Option<&Bytes> {
        let frame = match format {
            SocketFormat::Protobuf => self.protobuf.get_or_init(|| self.envelope.encode_to_vec().into()),
            SocketFormat::Json => {
                self.json.get_or_init(|| serde_json::to_vec(&self.envelope).map(Bytes::from).unwrap_or_default())
            }
        };
        (!frame.is_empty() || self.bytes == 0).then_some(frame)
    }
}

/// Item of an outbox.
#[derive(Clone, Debug)]
pub enum OutboxItem {
    /// One message.
    Message(Arc<Outgoing>),
    /// Match data for a member of a match.
    Batch {
        /// Messages of all members.
        batch: Arc<MatchBatch>,
        /// Number of the member that reads it.
        member: u32,
    },
}

impl OutboxItem {
    /// Number of messages.
    pub(super) fn len(&self) -> usize {
        match self {
            OutboxItem::Message(_) => 1,
            OutboxItem::Batch { batch, .. } => batch.len(),
        }
    }

    /// Size as protobuf.
    fn bytes(&self) -> usize {
        match self {
            OutboxItem::Message(message) => message.bytes,
            OutboxItem::Batch { batch, .. } => batch.bytes(),
        }
    }

    /// Returns the message, if it is a single one.
    #[must_use]
    pub fn into_message(self) -> Option<Arc<Outgoing>> {
        match self {
            OutboxItem::Message(message) => Some(message),
            OutboxItem::Batch { .. } => None,
        }
    }
}

/// Messages that wait for one session. Its connection takes them.
#[derive(Debug, Default)]
pub struct Outbox {
    state: Mutex<OutboxState>,
}

#[derive(Debug, Default)]
struct OutboxState {
    items: VecDeque<OutboxItem>,
    /// Messages and bytes of the items.
    messages: usize,
    bytes: usize,
    closing: Option<SocketClosing>,
    waker: Option<Waker>,
}

/// Reason for which the server closes a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketClosing {
    /// Reason, for programs.
    pub reason: CloseReason,
    /// Text for people.
    pub text: String,
}

/// Outcome of adding a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PushOutcome {
    /// The message waits.
    Queued,
    /// The outbox was full: the session is closed, alone.
    Overflowed,
    /// The session is about to close and takes no more messages.
    Closed,
}

impl Outbox {
    /// Adds an item. The caller wakes the connection afterwards, with [`Outbox::wake`].
    pub(super) fn push(&self, item: OutboxItem) -> PushOutcome {
        let mut state = self.state();
        if state.closing.is_some() {
            return PushOutcome::Closed;
        }
        let (messages, bytes) = (state.messages + item.len(), state.bytes + item.bytes());
        if !state.items.is_empty() && (messages > OUTBOX_MESSAGES_MAX || bytes > OUTBOX_BYTES_MAX) {
            let closing = SocketClosing { reason: CloseReason::TooSlow, text: OUTBOX_FULL.to_owned() };
            *state = OutboxState { closing: Some(closing), waker: state.waker.take(), ..OutboxState::default() };
            return PushOutcome::Overflowed;
        }
        (state.messages, state.bytes) = (messages, bytes);
        state.items.push_back(item);
        PushOutcome::Queued
    }

    /// Closes the session after the messages that wait. Only the first call has an effect.
    pub(super) fn close(&self, closing: SocketClosing) {
        self.state().closing.get_or_insert(closing);
    }

    /// Wakes the connection.
    pub(super) fn wake(&self) {
        let waker = self.state().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Sets the waker of the connection, for new messages and for the end.
    pub fn wake_by(&self, waker: &Waker) {
        let mut state = self.state();
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }

    /// Takes the oldest item.
    #[must_use]
    pub fn take(&self) -> Option<OutboxItem> {
        let mut state = self.state();
        let item = state.items.pop_front()?;
        state.messages -= item.len();
        state.bytes -= item.bytes();
        Some(item)
    }

    /// Returns true if there is a message, or the session is about to close.
    #[must_use]
    pub fn has_output(&self) -> bool {
        let state = self.state();
        !state.items.is_empty() || state.closing.is_some()
    }

    /// Returns the reason for which the session closes, if it does.
    #[must_use]
    pub fn closing(&self) -> Option<SocketClosing> {
        self.state().closing.clone()
    }

    fn state(&self) -> MutexGuard<'_, OutboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
