//! Frames of one connection that wait for its window or for space in the ring.

use super::frame::{FrameHeader, FrameKind, MORE, UNRELIABLE};
use super::link::{Link, LinkSendError};
use super::mailbox::{Mailbox, append_parts, split_frame};
use super::{CHUNK_BYTES, CREDIT_BYTES};
use crate::buffers;
use crate::transport::TransportEnded;
use aether_wire::DeliveryPath;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Frames of one connection on their way to the other process.
pub(super) struct Outbox {
    link: Arc<Link>,
    mailbox: Arc<Mailbox>,
    connection: u64,
    /// Frames, each after its length. While empty, the buffer is in the thread's pool.
    frames: Vec<u8>,
    /// Number of bytes of `frames` that are sent.
    sent: usize,
    /// Handled bytes that the other side does not know of yet.
    handled: usize,
}

impl Outbox {
    pub fn new(link: Arc<Link>, mailbox: Arc<Mailbox>, connection: u64) -> Outbox {
        Outbox { link, mailbox, connection, frames: Vec::new(), sent: 0, handled: 0 }
    }

    /// Queues a frame of a kind.
    pub fn queue(&mut self, kind: FrameKind, body: &[u8]) {
        self.queue_frame(FrameHeader::new(kind, self.connection), body);
    }

    /// Queues a frame.
    pub fn queue_frame(&mut self, header: FrameHeader, body: &[u8]) {
        if self.frames.capacity() == 0 {
            self.frames = buffers::take();
        }
        append_parts(&mut self.frames, header, body);
    }

    /// Queues a message, in several frames if it is long.
    pub fn queue_message(&mut self, path: DeliveryPath, message: &[u8]) {
        let path = if path == DeliveryPath::Unreliable { UNRELIABLE } else { 0 };
        let header = |detail| FrameHeader { detail, ..FrameHeader::new(FrameKind::Message, self.connection) };
        let (more, last) = (header(path | MORE), header(path));
        let mut rest = message;
        while let Some((chunk, after)) = rest.split_at_checked(CHUNK_BYTES) {
            self.queue_frame(more, chunk);
            rest = after;
        }
        self.queue_frame(last, rest);
    }

    /// Bytes of frames that wait.
    pub fn waiting_bytes(&self) -> usize {
        self.frames.len() - self.sent
    }

    /// Sends the frames that wait, as far as the window and the ring allow. Ready when all are sent.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TransportEnded>> {
        while let Some((frame, _)) = split_frame(&self.frames[self.sent..]) {
            let is_counted = FrameHeader::read(frame).is_some_and(|(header, _)| header.is_counted());
            if is_counted && !self.mailbox.poll_window(cx) {
                return Poll::Pending;
            }
            match self.link.try_send(self.connection, &[frame], cx) {
                Ok(()) => {}
                Err(LinkSendError::Full) => return Poll::Pending,
                Err(LinkSendError::Gone) => return Poll::Ready(Err(TransportEnded::Lost)),
            }
            if is_counted {
                self.mailbox.note_sent(frame.len());
            }
            self.sent += size_of::<u32>() + frame.len();
        }
        if self.sent > 0 {
            self.sent = 0;
            buffers::give(std::mem::take(&mut self.frames));
        }
        Poll::Ready(Ok(()))
    }

    /// Notes that counted bytes of the other side were handled, and tells it from time to time.
    pub fn credit(&mut self, bytes: usize, cx: &mut Context<'_>) {
        self.handled += bytes;
        if self.handled < CREDIT_BYTES {
            return;
        }
        let value = u32::try_from(self.handled).unwrap_or(u32::MAX);
        let header = FrameHeader { value, ..FrameHeader::new(FrameKind::Credit, self.connection) };
        // If the ring is full, the task is woken and tries again with its next call.
        if self.link.try_send(self.connection, &[&header.to_bytes()], cx).is_ok() {
            self.handled = 0;
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        buffers::give(std::mem::take(&mut self.frames));
    }
}
