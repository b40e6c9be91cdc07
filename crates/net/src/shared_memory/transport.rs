//! Game's end of a client's connection through a driver.

use super::frame::{CloseBody, FrameHeader, FrameKind, HEADER_BYTES, MORE, violation_number};
use super::link::Link;
use super::mailbox::{Mailbox, split_frame};
use super::outbox::Outbox;
use super::{CHUNK_BYTES, frame};
use crate::transport::{CloseNotice, MessageSink, ReceiveOutcome, Transport, TransportEnded};
use aether_framing::FramingError;
use aether_replication::DeliveryOrder;
use aether_wire::limits::HELLO_BYTES_MAX;
use aether_wire::{DeliveryPath, Encoding};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Most bytes of frames that are handled at once.
const READ_BYTES: usize = 16_384;

/// Connection to a client whose socket a driver owns.
pub struct SharedMemoryTransport {
    link: Arc<Link>,
    mailbox: Arc<Mailbox>,
    connection: u64,
    properties: TransportProperties,
    outbox: Outbox,
    /// Frames taken from the mailbox.
    frames: Vec<u8>,
    /// Number of bytes of `frames` that are handled.
    handled: usize,
    /// First frames of a message whose rest follows.
    partial: Vec<u8>,
    message_bytes_max: usize,
    ended: Option<TransportEnded>,
}

/// Properties of the transport between client and driver.
#[derive(Clone, Copy)]
pub(super) struct TransportProperties {
    pub order: DeliveryOrder,
    pub encoding: Encoding,
    pub name: &'static str,
    pub detects_silence: bool,
}

impl SharedMemoryTransport {
    pub(super) fn new(
        link: Arc<Link>,
        mailbox: Arc<Mailbox>,
        connection: u64,
        properties: TransportProperties,
    ) -> SharedMemoryTransport {
        SharedMemoryTransport {
            outbox: Outbox::new(Arc::clone(&link), Arc::clone(&mailbox), connection),
            link,
            mailbox,
            connection,
            properties,
            frames: Vec::new(),
            handled: 0,
            partial: Vec::new(),
            message_bytes_max: HELLO_BYTES_MAX,
            ended: None,
        }
    }

    /// Takes frames from the mailbox, if none are left.
    fn poll_frames(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        if let Some(ended) = self.ended {
            return Poll::Ready(Err(ended));
        }
        if self.handled == self.frames.len() {
            self.handled = 0;
            self.frames.clear();
            if !ready!(self.mailbox.poll_take(cx, &mut self.frames)) {
                self.ended = Some(TransportEnded::Lost);
                return Poll::Ready(Err(TransportEnded::Lost));
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Handles frames until enough are handled, or the connection has ended. Returns the bytes of counted frames.
    fn handle_frames(&mut self, take: MessageSink<'_>) -> usize {
        let (start, mut counted) = (self.handled, 0);
        let frames = std::mem::take(&mut self.frames);
        while self.handled - start < READ_BYTES
            && self.ended.is_none()
            && let Some((bytes, _)) = split_frame(&frames[self.handled..])
        {
            self.handled += size_of::<u32>() + bytes.len();
            let Some((header, body)) = FrameHeader::read(bytes) else { continue };
            if header.is_counted() {
                counted += bytes.len();
            }
            self.ended = self.handle(header, body, take).err();
        }
        self.frames = frames;
        counted
    }

    fn handle(&mut self, header: FrameHeader, body: &[u8], take: MessageSink<'_>) -> Result<(), TransportEnded> {
        match header.kind {
            FrameKind::Message => {
                if self.partial.len() + body.len() > self.message_bytes_max {
                    let violation = FramingError::Oversized("the message is too large");
                    return Err(TransportEnded::Violation(violation));
                }
                if header.detail & MORE != 0 {
                    self.partial.extend_from_slice(body);
                } else if self.partial.is_empty() {
                    take(header.path(), ReceiveOutcome::Message(body));
                } else {
                    self.partial.extend_from_slice(body);
                    take(header.path(), ReceiveOutcome::Message(&self.partial));
                    self.partial = Vec::new();
                }
                Ok(())
            }
            FrameKind::Probe => {
                take(DeliveryPath::Reliable, ReceiveOutcome::Probe);
                Ok(())
            }
            FrameKind::Closed => Err(header.end()),
            // Frames that a driver does not send for a connection.
            _ => Ok(()),
        }
    }
}

impl Transport for SharedMemoryTransport {
    fn order(&self) -> DeliveryOrder {
        self.properties.order
    }

    fn encoding(&self) -> Encoding {
        self.properties.encoding
    }

    /// Name of the transport between client and driver.
    fn name(&self) -> &'static str {
        self.properties.name
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, take: MessageSink<'_>) -> Poll<Result<(), TransportEnded>> {
        // Tries again if the ring was full.
        self.outbox.credit(0, cx);
        ready!(self.poll_frames(cx))?;
        let counted = self.handle_frames(take);
        self.outbox.credit(counted, cx);
        Poll::Ready(Ok(()))
    }

    fn queue(&mut self, path: DeliveryPath, message: &[u8]) {
        self.outbox.queue_message(path, message);
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        self.outbox.poll_flush(cx)
    }

    fn backlog_bytes(&self) -> usize {
        self.outbox.waiting_bytes()
    }

    fn set_message_bytes_max(&mut self, bytes: usize) {
        self.message_bytes_max = bytes;
        let value = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.outbox.queue_frame(FrameHeader { value, ..FrameHeader::new(FrameKind::Limit, self.connection) }, &[]);
    }

    fn detects_silence(&self) -> bool {
        self.properties.detects_silence
    }

    fn queue_probe(&mut self) {
        self.outbox.queue(FrameKind::Probe, &[]);
    }

    fn queue_close(&mut self, notice: &CloseNotice<'_>) {
        self.outbox.queue(FrameKind::Close, &close_body(notice));
    }

    fn poll_closed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Further messages are discarded.
        while ready!(self.poll_frames(cx)).is_ok() {
            let counted = self.handle_frames(&mut |_, _| {});
            self.outbox.credit(counted, cx);
        }
        Poll::Ready(())
    }
}

impl Drop for SharedMemoryTransport {
    fn drop(&mut self) {
        // After a violation that the game noticed, the driver still has the connection; a frame too many does no harm.
        let is_known = matches!(self.ended, Some(TransportEnded::Closed | TransportEnded::Lost));
        self.link.remove(self.connection, (!is_known).then_some(TransportEnded::Closed));
    }
}

/// Body of a close frame. A text that would not fit a frame is left out.
fn close_body(notice: &CloseNotice<'_>) -> Vec<u8> {
    let body = match notice {
        CloseNotice::Closing(closing) => CloseBody::Closing((*closing).clone()),
        CloseNotice::Violation(error) => CloseBody::Violation(violation_number(*error)),
    };
    match (serde_json::to_vec(&body), body) {
        (Ok(bytes), _) if bytes.len() <= CHUNK_BYTES - HEADER_BYTES => bytes,
        (_, CloseBody::Closing(closing)) => {
            let closing = aether_wire::Closing { text: String::new(), ..closing };
            serde_json::to_vec(&frame::CloseBody::Closing(closing)).unwrap_or_default()
        }
        (..) => Vec::new(),
    }
}
