//! UDP transport.

use super::metrics::UdpMetrics;
use super::peer::Peer;
use crate::transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
use crate::webtransport::CODE_VIOLATION_FIRST;
use aether_framing::FramingError;
use aether_framing::websocket::codec::violation_code;
use aether_replication::DeliveryOrder;
use aether_rudp::{Channel, SendError};
use aether_wire::limits::HELLO_BYTES_MAX;
use aether_wire::{CloseReason, DeliveryPath, Encoding};
use std::sync::Arc;
use std::task::{Context, Poll};

/// A connection over reliable UDP with one client.
///
/// Reliable messages use the reliable ordered channel, unreliable ones the unreliable channel. Close codes are those of
/// WebTransport: the number of a [`CloseReason`], or [`CODE_VIOLATION_FIRST`] plus the code of a framing error.
pub struct UdpTransport {
    peer: Arc<Peer>,
    metrics: Arc<UdpMetrics>,
    message_bytes_max: usize,
    /// Unsent bytes: as of the last flush, and what was queued since.
    backlog: usize,
    /// True if something was queued since the last flush.
    has_queued: bool,
    /// Close code, once there is a close notice.
    close_code: u16,
    /// Set by a reliable message that cannot be sent: the connection cannot continue without it.
    ended: Option<TransportEnded>,
}

impl UdpTransport {
    pub(super) fn new(peer: Arc<Peer>, metrics: Arc<UdpMetrics>) -> UdpTransport {
        UdpTransport {
            peer,
            metrics,
            message_bytes_max: HELLO_BYTES_MAX,
            backlog: 0,
            has_queued: false,
            close_code: 0,
            ended: None,
        }
    }

    fn close(&mut self, code: u16) {
        self.peer.state().connection.close(code);
        self.peer.queue_output();
    }

    /// Handles an error of a message. An unreliable one is dropped.
    fn handle_unsent(&mut self, path: DeliveryPath, error: SendError) {
        self.metrics.messages_unsent.inc();
        if path == DeliveryPath::Reliable && error != SendError::Closed {
            self.ended = Some(TransportEnded::Lost);
            self.close(close_code(CloseReason::TooSlow));
        }
    }
}

impl Transport for UdpTransport {
    fn order(&self) -> DeliveryOrder {
        DeliveryOrder::Unordered
    }

    fn encoding(&self) -> Encoding {
        Encoding::Protobuf
    }

    fn name(&self) -> &'static str {
        "udp"
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        let mut state = self.peer.state();
        if state.inbox.is_empty() {
            if let Some(ended) = self.ended.or_else(|| state.ended()) {
                return Poll::Ready(Err(ended));
            }
            state.wake_for_input(cx);
            return Poll::Pending;
        }
        let inbox = state.inbox.take();
        // Messages are handled without the lock, so that the socket task never waits for them.
        drop(state);
        let mut is_oversized = false;
        inbox.drain(|path, message| {
            let fits = message.len() <= self.message_bytes_max;
            match path {
                _ if is_oversized => {}
                _ if fits => take(path, ReceiveOutcome::Message(message)),
                DeliveryPath::Reliable => is_oversized = true,
                DeliveryPath::Unreliable => self.metrics.messages_too_long.inc(),
            }
        });
        if is_oversized {
            self.metrics.messages_too_long.inc();
            let violation = FramingError::Oversized("the message is too large");
            return Poll::Ready(Err(TransportEnded::Violation(violation)));
        }
        Poll::Ready(Ok(()))
    }

    fn queue(&mut self, path: DeliveryPath, message: &[u8]) {
        self.queue_all(path, &mut std::iter::once(message));
    }

    /// Takes the lock once for all messages.
    fn queue_all(&mut self, path: DeliveryPath, messages: &mut dyn Iterator<Item = &[u8]>) {
        let channel = match path {
            DeliveryPath::Reliable => Channel::ReliableOrdered,
            DeliveryPath::Unreliable => Channel::Unreliable,
        };
        let mut failed = None;
        let mut state = self.peer.state();
        for message in messages {
            match state.connection.send(channel, message) {
                Ok(()) => self.backlog += message.len(),
                Err(error) => failed = Some(error),
            }
        }
        drop(state);
        self.has_queued = true;
        if let Some(error) = failed {
            self.handle_unsent(path, error);
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        if self.backlog == 0 && !self.has_queued {
            return Poll::Ready(Ok(()));
        }
        let mut state = self.peer.state();
        if let Some(ended) = self.ended.or_else(|| state.ended()) {
            return Poll::Ready(Err(ended));
        }
        let is_flushed = state.is_flushed();
        self.backlog = if is_flushed { 0 } else { state.connection.backlog_bytes() };
        if !is_flushed {
            state.wake_when_flushed(cx);
        }
        drop(state);
        if std::mem::take(&mut self.has_queued) {
            self.peer.queue_output();
        }
        if is_flushed { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn backlog_bytes(&self) -> usize {
        self.backlog
    }

    fn set_message_bytes_max(&mut self, bytes: usize) {
        self.message_bytes_max = bytes;
    }

    /// The connection sends keep-alive packets and has its own idle timeout.
    fn detects_silence(&self) -> bool {
        true
    }

    fn queue_probe(&mut self) {}

    fn queue_close(&mut self, notice: &CloseNotice<'_>) {
        self.close_code = match notice {
            CloseNotice::Closing(closing) => close_code(closing.reason),
            CloseNotice::Violation(violation) => violation_close_code(*violation),
        };
    }

    /// Waits until the client has the last message, and then closes. The socket task repeats the close packet.
    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.peer.state();
        if state.ended().is_none() && !state.is_delivered() {
            // Further messages are discarded, so that the client's acknowledgements arrive.
            state.inbox.take().drain(|_, _| {});
            state.wake_when_delivered(cx);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Drop for UdpTransport {
    fn drop(&mut self) {
        let code = self.close_code;
        // Has no effect if the connection is closed.
        self.close(code);
    }
}

/// Returns the close code of a reason.
fn close_code(reason: CloseReason) -> u16 {
    // Numbers of reasons are small.
    u16::try_from(reason.number()).unwrap_or(0)
}

/// Returns the close code of a framing error.
fn violation_close_code(violation: FramingError) -> u16 {
    u16::try_from(CODE_VIOLATION_FIRST).unwrap_or(0).saturating_add(violation_code(violation))
}
