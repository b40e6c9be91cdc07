//! Messages that wait for one session, encoded once for all their receivers.

use super::limits::{OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX};
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

/// Messages that wait for one session. Its connection takes them.
#[derive(Debug, Default)]
pub struct Outbox {
    state: Mutex<OutboxState>,
}

#[derive(Debug, Default)]
struct OutboxState {
    messages: VecDeque<Arc<Outgoing>>,
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
    /// Adds a message. The caller wakes the connection afterwards, with [`Outbox::wake`].
    pub(super) fn push(&self, message: &Arc<Outgoing>) -> PushOutcome {
        let mut state = self.state();
        if state.closing.is_some() {
            return PushOutcome::Closed;
        }
        if state.messages.len() >= OUTBOX_MESSAGES_MAX || state.bytes + message.bytes > OUTBOX_BYTES_MAX {
            let closing = SocketClosing { reason: CloseReason::TooSlow, text: OUTBOX_FULL.to_owned() };
            state.messages.clear();
            state.bytes = 0;
            state.closing = Some(closing);
            return PushOutcome::Overflowed;
        }
        state.bytes += message.bytes;
        state.messages.push_back(Arc::clone(message));
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

    /// Takes the oldest message.
    #[must_use]
    pub fn take(&self) -> Option<Arc<Outgoing>> {
        let mut state = self.state();
        let message = state.messages.pop_front()?;
        state.bytes -= message.bytes;
        Some(message)
    }

    /// Returns true if there is a message, or the session is about to close.
    #[must_use]
    pub fn has_output(&self) -> bool {
        let state = self.state();
        !state.messages.is_empty() || state.closing.is_some()
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
