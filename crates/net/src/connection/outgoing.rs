//! Output of a protocol.

use crate::buffers;
use crate::counters::ConnectionMetrics;
use crate::transport::Transport;
use aether_framing::Framing;
use aether_wire::{DeliveryPath, Encoding};

/// Takes what a protocol has to say and counts it; the driver writes it.
pub struct OutgoingMessages<'a, T> {
    counters: &'a ConnectionMetrics,
    transport: &'a mut T,
}

impl<'a, T: Transport> OutgoingMessages<'a, T> {
    pub(super) fn new(counters: &'a ConnectionMetrics, transport: &'a mut T) -> OutgoingMessages<'a, T> {
        OutgoingMessages { counters, transport }
    }

    /// Encoding of the messages.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.transport.encoding()
    }

    /// Queues a message.
    pub fn queue(&mut self, path: DeliveryPath, message: &[u8]) {
        self.counters.bytes_out.add(message.len() as u64);
        self.transport.queue(path, message);
    }

    /// Queues the message that the closure appends to an empty buffer. One that cannot be written is counted, and nothing
    /// of it is queued.
    pub fn write<E>(
        &mut self,
        path: DeliveryPath,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        buffers::with_scratch(|scratch| match encode(scratch) {
            Ok(()) => {
                self.queue(path, scratch);
                Ok(())
            }
            Err(error) => {
                self.counters.encode_errors.inc();
                Err(error)
            }
        })
    }

    /// Framing of reliable messages, if it is the same for other connections too.
    #[must_use]
    pub fn shared_framing(&self) -> Option<Framing> {
        self.transport.shared_framing()
    }

    /// Queues messages of so many bytes that are framed already, as [`OutgoingMessages::shared_framing`] says.
    pub fn queue_framed(&mut self, frames: &[u8], message_bytes: usize) {
        self.counters.bytes_out.add(message_bytes as u64);
        self.transport.queue_framed(frames);
    }

    /// Bytes that are queued and not written yet.
    #[must_use]
    pub fn backlog_bytes(&self) -> usize {
        self.transport.backlog_bytes()
    }
}
