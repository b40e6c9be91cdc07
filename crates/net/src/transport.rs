//! Interface of transports.

use aether_framing::{Framing, FramingError};
use aether_replication::DeliveryOrder;
use aether_wire::{Closing, DeliveryPath, Encoding};
use std::fmt;
use std::task::{Context, Poll};

/// A connection to one client that carries whole messages.
///
/// It is driven by polling, so that an idle connection holds no buffers: input is decoded from a buffer of the thread,
/// and all ready output is written in one system call.
pub trait Transport: Send + 'static {
    /// Delivery order of state packets: ordered if they arrive in order and without loss.
    fn order(&self) -> DeliveryOrder;

    /// Encoding of the messages.
    fn encoding(&self) -> Encoding;

    /// Short name for logs and metric labels.
    fn name(&self) -> &'static str;

    /// Reads a bounded amount of input and passes each whole message to `take`. Pending if there is no input. Call it
    /// until it is pending.
    fn poll_receive(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>>;

    /// Queues a message. An unreliable one may be dropped if the transport is busy.
    fn queue(&mut self, path: DeliveryPath, message: &[u8]);

    /// Queues several messages of one path.
    fn queue_all(&mut self, path: DeliveryPath, messages: &mut dyn Iterator<Item = &[u8]>) {
        messages.for_each(|message| self.queue(path, message));
    }

    /// Framing of reliable messages, if other connections share it: then a message for many clients is framed once.
    fn shared_framing(&self) -> Option<Framing> {
        None
    }

    /// Queues reliable messages that are already framed with [`Transport::shared_framing`]. It is not called if that is
    /// `None`.
    fn queue_framed(&mut self, _frames: &[u8]) {}

    /// Writes queued messages. Ready when the system has taken all of them.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>>;

    /// Bytes that are queued and not yet taken by the system.
    fn backlog_bytes(&self) -> usize;

    /// Sets the upper bound of the client's messages, in bytes.
    fn set_message_bytes_max(&mut self, bytes: usize);

    /// Returns true if the transport itself detects a lost peer, even without traffic.
    fn detects_silence(&self) -> bool {
        false
    }

    /// Queues a probe, which the peer answers.
    fn queue_probe(&mut self);

    /// Queues the transport's close notice after all queued messages.
    fn queue_close(&mut self, notice: &CloseNotice<'_>);

    /// Waits until the peer has closed too, after the close notice. Closing a socket with unread bytes would make the
    /// system discard the last messages.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// Receives each message with its delivery path.
pub type MessageSink<'a> = &'a mut dyn FnMut(DeliveryPath, ReceiveOutcome<'_>);

/// Input from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome<'a> {
    /// A message.
    Message(&'a [u8]),
    /// A probe, or an answer to one. It counts against the client's rate.
    Probe,
}

/// Content of a transport's close notice.
#[derive(Clone, Copy, Debug)]
pub enum CloseNotice<'a> {
    /// Close reason of the protocol. The client has also got it as a message.
    Closing(&'a Closing),
    /// Framing error of the client.
    Violation(FramingError),
}

/// Reason why a transport has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportEnded {
    /// The peer closed it.
    Closed,
    /// The connection was lost.
    Lost,
    /// The peer violated the framing of the transport.
    Violation(FramingError),
}

impl fmt::Display for TransportEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransportEnded::Closed => f.write_str("closed by the client"),
            TransportEnded::Lost => f.write_str("lost"),
            TransportEnded::Violation(violation) => write!(f, "framing error: {violation}"),
        }
    }
}
