//! Interface of transports.

use aether_framing::{Framing, FramingError};
use aether_replication::DeliveryOrder;
use aether_wire::{Closing, DeliveryPath, Encoding};
use std::fmt;
use std::task::{Context, Poll};

/// A link to one client that carries whole messages.
///
/// It is driven by polling, so that a connection that waits holds no buffers: what came is decoded from memory that the
/// whole thread shares, and what goes out is written at once, as many messages in one system call as are ready.
pub trait Transport: Send + 'static {
    /// Kind of link: ordered if state packets arrive in order and for sure.
    fn link(&self) -> DeliveryOrder;

    /// Encoding of the messages.
    fn encoding(&self) -> Encoding;

    /// A short name for logs and for a metric's label.
    fn name(&self) -> &'static str;

    /// Takes in what has come and hands each whole message to `take`; pending until something comes. It takes in a bounded
    /// amount at a time, and is to be called again until it is pending.
    fn poll_receive(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>>;

    /// Adds a message to what is to be written. An unreliable one may be dropped if the link is busy.
    fn queue(&mut self, path: DeliveryPath, message: &[u8]);

    /// Framing of reliable messages, if it is the same for other connections too: then a message for many is framed once.
    fn shared_framing(&self) -> Option<Framing> {
        None
    }

    /// Adds reliable messages that are framed already, as [`Transport::shared_framing`] says. It is not called where that
    /// is nothing.
    fn queue_framed(&mut self, _frames: &[u8]) {}

    /// Writes what is queued; ready when the system has taken all of it.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>>;

    /// Bytes that are queued and that the system has not taken yet.
    fn backlog_bytes(&self) -> usize;

    /// Sets the upper bound of messages of the client, in bytes.
    fn set_message_bytes_max(&mut self, bytes: usize);

    /// Returns true if the transport itself notices when the other side is gone, however quiet both are.
    fn notices_silence(&self) -> bool {
        false
    }

    /// Asks the other side for a sign of life.
    fn queue_probe(&mut self);

    /// Adds the transport's own goodbye after everything that is queued.
    fn queue_close(&mut self, end: &CloseNotice<'_>);

    /// After the goodbye: waits until the other side has closed too. Whoever closes first and still has unread bytes would
    /// make the system throw away what was sent last.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

/// Takes each message with the path it came by.
pub type MessageSink<'a> = &'a mut dyn FnMut(DeliveryPath, ReceiveOutcome<'_>);

/// Input from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveOutcome<'a> {
    /// A message.
    Message(&'a [u8]),
    /// A sign of life of the transport itself. It counts against the client's rate.
    Probe,
}

/// End of a connection, as a transport tells it.
#[derive(Clone, Copy, Debug)]
pub enum CloseNotice<'a> {
    /// For a reason of the protocol; the client was told by a message too.
    Closing(&'a Closing),
    /// The bytes of the client were no messages.
    Violation(FramingError),
}

/// The link has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportEnded {
    /// The other side closed it.
    Closed,
    /// It broke.
    Lost,
    /// The other side's bytes made no sense to the transport.
    Violation(FramingError),
}

impl fmt::Display for TransportEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransportEnded::Closed => f.write_str("closed by the client"),
            TransportEnded::Lost => f.write_str("lost"),
            TransportEnded::Violation(violation) => write!(f, "violation: {violation}"),
        }
    }
}
