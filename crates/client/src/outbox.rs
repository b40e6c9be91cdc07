//! What waits to be sent.

use aether_wire::limits::{CLIENT_FRAGMENT_BYTES, CLIENT_FRAME_BYTES_DEFAULT};
use aether_wire::{ClientMessage, MessageId, fragment};

/// Messages that wait, while the game speaks and does not advance.
const MESSAGES_MAX: usize = 1_024;

/// A message to send.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingMessage {
    /// The message.
    pub message: ClientMessage,
    /// Whether it has to arrive, and in order. Otherwise it goes as a datagram, where the transport has them.
    pub reliable: bool,
}

impl OutgoingMessage {
    pub(crate) fn reliable(message: ClientMessage) -> Self {
        OutgoingMessage { message, reliable: true }
    }

    pub(crate) fn unreliable(message: ClientMessage) -> Self {
        OutgoingMessage { message, reliable: false }
    }
}

/// Messages in the order in which they go out.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub messages: Vec<OutgoingMessage>,
    last_fragmented: MessageId,
    frame: Vec<u8>,
}

impl Outbox {
    /// Whether too much waits already.
    pub fn is_full(&self) -> bool {
        self.messages.len() >= MESSAGES_MAX
    }

    /// Adds a message. One that is longer than a frame goes in parts; only a hello may be longer. False if it cannot be
    /// written at all.
    pub fn send(&mut self, outgoing: OutgoingMessage) -> bool {
        self.frame.clear();
        if outgoing.message.encode(&mut self.frame).is_err() {
            return false;
        }
        let is_hello = matches!(outgoing.message, ClientMessage::Hello(_));
        if is_hello || self.frame.len() <= CLIENT_FRAME_BYTES_DEFAULT {
            self.messages.push(outgoing);
            return true;
        }
        self.last_fragmented = MessageId(self.last_fragmented.0.wrapping_add(1));
        let parts = fragment(self.last_fragmented, &self.frame, CLIENT_FRAGMENT_BYTES);
        let Ok(parts) = parts else { return false };
        self.messages.extend(parts.map(|part| OutgoingMessage::reliable(ClientMessage::Fragment(part))));
        true
    }
}
