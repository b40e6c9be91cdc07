//! Pump of a client: passes messages between its transport and the game.

use super::frame::{CloseBody, FrameHeader, FrameKind, MORE, OpenBody, violation};
use super::link::Link;
use super::mailbox::{Mailbox, split_frame};
use super::outbox::Outbox;
use super::{MESSAGE_BYTES_MAX, WINDOW_BYTES};
use crate::transport::{CloseNotice, ReceiveOutcome, Transport, TransportEnded};
use aether_wire::{CloseReason, Closing, DeliveryPath, ServerMessage};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;

/// Longest time for each step of a close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// Most reads per turn, so that a client that sends continuously does not starve others.
const READS_PER_TURN: usize = 4;

/// Passes messages between one client and the game.
pub(super) struct Pump<T> {
    link: Arc<Link>,
    connection: u64,
    mailbox: Arc<Mailbox>,
    transport: T,
    outbox: Outbox,
    /// Frames taken from the mailbox.
    frames: Vec<u8>,
    /// First frames of a message whose rest follows.
    partial: Vec<u8>,
    /// Bytes of counted frames that are queued in the transport, and not known to be written.
    unwritten: usize,
    /// End that the game is told when the pump is dropped.
    notifies: Option<TransportEnded>,
}

/// End of a pump.
enum PumpEnd {
    /// The client is gone.
    Client(TransportEnded),
    /// The game closes the connection.
    Close(CloseBody),
    /// The game has dropped the connection.
    Dropped,
    /// The game process has ended.
    GameGone,
}

impl<T: Transport> Pump<T> {
    /// Opens the connection; none if there are too many.
    pub fn new(link: Arc<Link>, connection: u64, transport: T, open: &OpenBody) -> Option<Pump<T>> {
        let mailbox = link.open(connection)?;
        let mut outbox = Outbox::new(Arc::clone(&link), Arc::clone(&mailbox), connection);
        outbox.queue(FrameKind::Open, &serde_json::to_vec(open).ok()?);
        Some(Pump {
            link,
            connection,
            mailbox,
            transport,
            outbox,
            frames: Vec::new(),
            partial: Vec::new(),
            unwritten: 0,
            notifies: Some(TransportEnded::Lost),
        })
    }

    /// Passes messages until one side ends, and then closes the other.
    pub async fn run(mut self) {
        let end = poll_fn(|cx| self.turn(cx)).await;
        self.notifies = match &end {
            PumpEnd::Client(ended) => Some(*ended),
            PumpEnd::Close(_) => Some(TransportEnded::Closed),
            PumpEnd::Dropped | PumpEnd::GameGone => None,
        };
        self.close(&end).await;
        // What the client sent before its end comes first.
        let _ = timeout(CLOSE_TIMEOUT, poll_fn(|cx| self.outbox.poll_flush(cx))).await;
    }

    /// Passes on what is there, without waiting.
    fn turn(&mut self, cx: &mut Context<'_>) -> Poll<PumpEnd> {
        if let Poll::Ready(end) = self.take_frames(cx) {
            return Poll::Ready(end);
        }
        match self.transport.poll_flush(cx) {
            Poll::Ready(Ok(())) => self.outbox.credit(std::mem::take(&mut self.unwritten), cx),
            Poll::Ready(Err(ended)) => return Poll::Ready(PumpEnd::Client(ended)),
            Poll::Pending => {}
        }
        self.read(cx)
    }

    /// Queues messages of the game in the transport, unless the client is too slow for those before.
    fn take_frames(&mut self, cx: &mut Context<'_>) -> Poll<PumpEnd> {
        while self.transport.backlog_bytes() < WINDOW_BYTES {
            match self.mailbox.poll_take(cx, &mut self.frames) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(false) => return Poll::Ready(PumpEnd::GameGone),
                Poll::Ready(true) => {}
            }
            let frames = std::mem::take(&mut self.frames);
            let mut rest = frames.as_slice();
            while let Some((frame, after)) = split_frame(rest) {
                rest = after;
                if let Some(end) = self.handle(frame) {
                    return Poll::Ready(end);
                }
            }
            self.frames = frames;
        }
        Poll::Pending
    }

    fn handle(&mut self, frame: &[u8]) -> Option<PumpEnd> {
        let (header, body) = FrameHeader::read(frame)?;
        if header.is_counted() {
            self.unwritten += frame.len();
        }
        match header.kind {
            FrameKind::Message => self.queue_message(header, body),
            FrameKind::Probe => self.transport.queue_probe(),
            FrameKind::Limit => self.transport.set_message_bytes_max(header.value as usize),
            FrameKind::Close => {
                let body = serde_json::from_slice(body).unwrap_or(CloseBody::Violation(0));
                return Some(PumpEnd::Close(body));
            }
            FrameKind::Closed => return Some(PumpEnd::Dropped),
            FrameKind::Open | FrameKind::Credit | FrameKind::Offer => {}
        }
        None
    }

    fn queue_message(&mut self, header: FrameHeader, body: &[u8]) {
        let has_more = header.detail & MORE != 0;
        if !has_more && self.partial.is_empty() {
            return self.transport.queue(header.path(), body);
        }
        if self.partial.len() + body.len() <= MESSAGE_BYTES_MAX {
            self.partial.extend_from_slice(body);
        }
        if !has_more {
            self.transport.queue(header.path(), &std::mem::take(&mut self.partial));
        }
    }

    /// Passes messages of the client on, as far as its window and the ring allow.
    fn read(&mut self, cx: &mut Context<'_>) -> Poll<PumpEnd> {
        for _ in 0..READS_PER_TURN {
            match self.outbox.poll_flush(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(PumpEnd::GameGone),
                Poll::Pending => return Poll::Pending,
            }
            if !self.mailbox.poll_window(cx) {
                return Poll::Pending;
            }
            let outbox = &mut self.outbox;
            let received = self.transport.poll_receive(cx, &mut |path, received| match received {
                ReceiveOutcome::Message(message) => outbox.queue_message(path, message),
                ReceiveOutcome::Probe => outbox.queue(FrameKind::Probe, &[]),
            });
            match received {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(ended)) => return Poll::Ready(PumpEnd::Client(ended)),
                Poll::Pending if self.outbox.waiting_bytes() == 0 => return Poll::Pending,
                Poll::Pending => {}
            }
        }
        // Other tasks run before the next turn.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Writes queued messages and the close notice, if the client still reads.
    async fn close(&mut self, end: &PumpEnd) {
        match end {
            PumpEnd::Client(TransportEnded::Violation(error)) => {
                self.transport.queue_close(&CloseNotice::Violation(*error));
            }
            // The transport may have to answer the client's close notice.
            PumpEnd::Client(_) | PumpEnd::Dropped => {
                let _ = timeout(CLOSE_TIMEOUT, poll_fn(|cx| self.transport.poll_flush(cx))).await;
                return;
            }
            PumpEnd::Close(CloseBody::Closing(closing)) => self.transport.queue_close(&CloseNotice::Closing(closing)),
            PumpEnd::Close(CloseBody::Violation(number)) => {
                self.transport.queue_close(&CloseNotice::Violation(violation(*number)));
            }
            PumpEnd::GameGone => self.queue_game_gone(),
        }
        let flushed = timeout(CLOSE_TIMEOUT, poll_fn(|cx| self.transport.poll_flush(cx))).await;
        if matches!(flushed, Ok(Ok(()))) {
            let _ = timeout(CLOSE_TIMEOUT, poll_fn(|cx| self.transport.poll_closed(cx))).await;
        }
    }

    /// Tells the client, as the game would, that it may connect again and resume.
    fn queue_game_gone(&mut self) {
        let closing = Closing {
            reason: CloseReason::Shutdown,
            text: "The connection to the game has ended. Connect again.".to_owned(),
            deadline_ms: 0,
            may_resume: true,
        };
        let mut message = Vec::new();
        if self.transport.encoding().encode(&ServerMessage::Closing(closing.clone()), &mut message).is_ok() {
            self.transport.queue(DeliveryPath::Reliable, &message);
        }
        self.transport.queue_close(&CloseNotice::Closing(&closing));
    }
}

impl<T> Drop for Pump<T> {
    fn drop(&mut self) {
        self.link.remove(self.connection, self.notifies);
    }
}
