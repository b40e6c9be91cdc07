//! Unreliable and sequenced messages that wait for a packet.

use std::collections::VecDeque;

use super::byte_queue::ByteQueue;
use crate::frame::Frame;

/// Memory of a message besides its bytes, counted so that empty messages are bounded too.
const MESSAGE_OVERHEAD_BYTES: usize = size_of::<Waiting>();

/// Unreliable and sequenced messages that wait for a packet. A full queue drops the oldest.
#[derive(Default)]
pub(crate) struct UnreliableQueue {
    bytes: ByteQueue,
    messages: VecDeque<Waiting>,
    queued_bytes: usize,
    message_bytes: usize,
    dropped: u64,
}

struct Waiting {
    position: u64,
    length: u16,
    is_sequenced: bool,
}

impl UnreliableQueue {
    /// Queues a message.
    pub(crate) fn push(&mut self, message: &[u8], is_sequenced: bool, queue_bytes_max: usize) {
        let needed = message.len() + MESSAGE_OVERHEAD_BYTES;
        while self.queued_bytes + needed > queue_bytes_max && self.pop() {
            self.dropped += 1;
        }
        let position = self.bytes.push(message);
        self.messages.push_back(Waiting { position, length: message.len() as u16, is_sequenced });
        self.queued_bytes += needed;
        self.message_bytes += message.len();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Bytes of the messages that wait.
    pub(crate) fn message_bytes(&self) -> usize {
        self.message_bytes
    }

    /// Messages that were dropped from a full queue.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Writes messages into a packet until it has `end` bytes. Returns true if it wrote one.
    pub(crate) fn fill(&mut self, out: &mut Vec<u8>, end: usize) -> bool {
        let start = out.len();
        while let Some(message) = self.messages.front() {
            let bytes = self.bytes.get(message.position, message.length.into());
            let frame = if message.is_sequenced { Frame::Sequenced(bytes) } else { Frame::Unreliable(bytes) };
            if out.len() + frame.encoded_bytes() > end {
                break;
            }
            frame.write(out);
            self.pop();
        }
        out.len() > start
    }

    /// Frees memory that is not in use.
    pub(crate) fn release(&mut self) {
        if self.messages.is_empty() {
            self.bytes.release();
            self.messages = VecDeque::new();
        }
    }

    fn pop(&mut self) -> bool {
        let Some(message) = self.messages.pop_front() else { return false };
        let length = usize::from(message.length);
        self.bytes.remove_before(message.position + length as u64);
        self.queued_bytes -= length + MESSAGE_OVERHEAD_BYTES;
        self.message_bytes -= length;
        true
    }
}
