//! Queue of a protocol's output.

use crate::buffers;
use crate::metrics::ConnectionMetrics;
use crate::transport::Transport;
use aether_framing::Framing;
use aether_replication::DeliveryOrder;
use aether_wire::{DeliveryPath, Encoding};

/// Queues and counts the output of a protocol; the driver writes it.
pub struct OutgoingMessages<'a, T> {
    metrics: &'a ConnectionMetrics,
    transport: &'a mut T,
}

impl<'a, T: Transport> OutgoingMessages<'a, T> {
    pub(super) fn new(metrics: &'a ConnectionMetrics, transport: &'a mut T) -> OutgoingMessages<'a, T> {
        OutgoingMessages { metrics, transport }
    }

    /// Order in which the client receives state.
    #[must_use]
    pub fn order(&self) -> DeliveryOrder {
        self.transport.order()
    }

    /// Encoding of the messages.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.transport.encoding()
    }

    /// Queues a message.
    pub fn queue(&mut self, path: DeliveryPath, message: &[u8]) {
        self.metrics.bytes_out.add(message.len() as u64);
        self.transport.queue(path, message);
    }

    /// Queues several messages. `bytes` is their size.
    pub fn queue_all<'m>(&mut self, path: DeliveryPath, messages: impl IntoIterator<Item = &'m [u8]>, bytes: usize) {
        self.metrics.bytes_out.add(bytes as u64);
        self.transport.queue_all(path, &mut messages.into_iter());
    }

    /// Queues the message that the closure appends to an empty buffer. If it fails, the error is counted and nothing is
    /// queued.
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
                self.metrics.encode_errors.inc();
                Err(error)
            }
        })
    }

    /// Framing of reliable messages, if other connections share it.
    #[must_use]
    pub fn shared_framing(&self) -> Option<Framing> {
        self.transport.shared_framing()
    }

    /// Queues messages that are already framed with [`OutgoingMessages::shared_framing`]. `message_bytes` is their size
    /// without frames.
    pub fn queue_framed(&mut self, frames: &[u8], message_bytes: usize) {
        self.metrics.bytes_out.add(message_bytes as u64);
        self.transport.queue_framed(frames);
    }

    /// Bytes that are queued and not written yet.
    #[must_use]
    pub fn backlog_bytes(&self) -> usize {
        self.transport.backlog_bytes()
    }
}
