//! Queue of messages to send.

use aether_wire::limits::{CLIENT_FRAGMENT_BYTES, CLIENT_FRAME_BYTES_DEFAULT};
use aether_wire::{ClientMessage, MessageId, fragment};

/// Largest number of queued messages, for a game that sends but does not advance.
const MESSAGES_MAX: usize = 1_024;

/// Message to send.
#[derive(Clone, Debug, PartialEq)]
pub struct OutgoingMessage {
    /// Content of the message.
    pub message: ClientMessage,
    /// True if the message must arrive, and in order. Otherwise it is sent as a datagram if the transport has them.
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

/// Messages in the order in which they are sent.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub messages: Vec<OutgoingMessage>,
    last_fragmented: MessageId,
    frame: Vec<u8>,
}

impl Outbox {
    /// Returns true if no more commands are accepted.
    pub fn is_full(&self) -> bool {
        self.messages.len() >= MESSAGES_MAX
    }

    /// Adds a message. Messages longer than a frame are fragmented, except a hello. Returns false if the message cannot
    /// be encoded.
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
