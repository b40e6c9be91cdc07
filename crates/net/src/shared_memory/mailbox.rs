//! Frames that have arrived for one connection.

use super::frame::FrameHeader;
use super::link::LinkError;
use super::{CHUNK_BYTES, WINDOW_BYTES};
use atomic_waker::AtomicWaker;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// Most bytes of frames that wait: the window, the one frame that may exceed it, and as much again for the few frames that
/// the window does not count.
const WAITING_BYTES_MAX: usize = 2 * (WINDOW_BYTES + CHUNK_BYTES);

/// Largest buffer that a connection keeps, in bytes; larger ones are freed.
const KEPT_BYTES_MAX: usize = 4_096;

/// Frames for one connection, written by the thread of the link and read by the task of the connection.
#[derive(Default)]
pub(super) struct Mailbox {
    state: Mutex<MailboxState>,
    task: AtomicWaker,
}

#[derive(Default)]
struct MailboxState {
    /// Frames, each after its length.
    frames: Vec<u8>,
    /// Bytes of counted frames that were sent, and that the other side has not handled.
    unhandled: usize,
    /// True if the other process is gone.
    is_gone: bool,
}

impl Mailbox {
    /// Adds a frame. Returns the task to wake.
    pub fn push(&self, frame: &[u8]) -> Result<Option<Waker>, LinkError> {
        let mut state = self.lock();
        if state.frames.len() + frame.len() > WAITING_BYTES_MAX {
            return Err(LinkError::Window);
        }
        append_frame(&mut state.frames, frame);
        drop(state);
        Ok(self.task.take())
    }

    /// Takes all frames, in exchange for an empty buffer. Pending if there is none. Returns false if the other process is
    /// gone and all its frames are taken.
    pub fn poll_take(&self, cx: &mut Context<'_>, frames: &mut Vec<u8>) -> Poll<bool> {
        self.task.register(cx.waker());
        let mut state = self.lock();
        if state.frames.is_empty() {
            return if state.is_gone { Poll::Ready(false) } else { Poll::Pending };
        }
        match frames.capacity() {
            0..=KEPT_BYTES_MAX => frames.clear(),
            _ => *frames = Vec::new(),
        }
        std::mem::swap(frames, &mut state.frames);
        Poll::Ready(true)
    }

    /// Notes that a counted frame was sent.
    pub fn note_sent(&self, bytes: usize) {
        self.lock().unhandled += bytes;
    }

    /// Notes that the other side has handled bytes. Returns the task to wake.
    pub fn note_handled(&self, bytes: u32) -> Option<Waker> {
        let mut state = self.lock();
        state.unhandled = state.unhandled.saturating_sub(bytes as usize);
        drop(state);
        self.task.take()
    }

    /// Returns true if the window is open. Otherwise the task is woken when that changes.
    pub fn poll_window(&self, cx: &mut Context<'_>) -> bool {
        self.task.register(cx.waker());
        let state = self.lock();
        state.unhandled < WINDOW_BYTES || state.is_gone
    }

    /// Notes that the other process is gone. Returns the task to wake.
    pub fn note_gone(&self) -> Option<Waker> {
        self.lock().is_gone = true;
        self.task.take()
    }

    fn lock(&self) -> MutexGuard<'_, MailboxState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Appends a frame after its length.
pub(super) fn append_frame(frames: &mut Vec<u8>, frame: &[u8]) {
    frames.extend_from_slice(&(frame.len() as u32).to_ne_bytes());
    frames.extend_from_slice(frame);
}

/// Appends a frame, given as header and body, after its length.
pub(super) fn append_parts(frames: &mut Vec<u8>, header: FrameHeader, body: &[u8]) {
    let header = header.to_bytes();
    frames.extend_from_slice(&((header.len() + body.len()) as u32).to_ne_bytes());
    frames.extend_from_slice(&header);
    frames.extend_from_slice(body);
}

/// Returns the first of the frames and the rest; none at the end.
pub(super) fn split_frame(frames: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = frames.split_first_chunk()?;
    rest.split_at_checked(u32::from_ne_bytes(*length) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_memory::frame::FrameKind;

    fn cx() -> Context<'static> {
        Context::from_waker(Waker::noop())
    }

    #[test]
    fn frames_are_taken_in_order_and_then_the_end() {
        let mailbox = Mailbox::default();
        let mut frames = Vec::new();
        assert_eq!(mailbox.poll_take(&mut cx(), &mut frames), Poll::Pending);
        mailbox.push(b"one").unwrap();
        mailbox.push(b"").unwrap();
        mailbox.note_gone();
        assert_eq!(mailbox.poll_take(&mut cx(), &mut frames), Poll::Ready(true));
        let (first, rest) = split_frame(&frames).unwrap();
        let (second, rest) = split_frame(rest).unwrap();
        assert_eq!((first, second), (b"one".as_slice(), b"".as_slice()));
        assert_eq!(split_frame(rest), None);
        assert_eq!(mailbox.poll_take(&mut cx(), &mut frames), Poll::Ready(false));
    }

    #[test]
    fn a_side_that_ignores_the_window_is_refused() {
        let mailbox = Mailbox::default();
        let frame = vec![0; CHUNK_BYTES];
        let mut frames = 0;
        while mailbox.push(&frame).is_ok() {
            frames += 1;
        }
        assert!((WINDOW_BYTES / CHUNK_BYTES..=2 * WINDOW_BYTES / CHUNK_BYTES + 2).contains(&frames), "{frames}");
    }

    #[test]
    fn the_window_closes_and_opens() {
        let mailbox = Mailbox::default();
        mailbox.note_sent(WINDOW_BYTES);
        assert!(!mailbox.poll_window(&mut cx()));
        assert!(mailbox.note_handled(1).is_some());
        assert!(mailbox.poll_window(&mut cx()));
        // More credit than was sent opens the window, and no further.
        mailbox.note_handled(u32::MAX);
        mailbox.note_sent(WINDOW_BYTES);
        assert!(!mailbox.poll_window(&mut cx()));
    }

    #[test]
    fn frames_in_parts_equal_whole_frames() {
        let header = FrameHeader::new(FrameKind::Probe, 7);
        let (mut whole, mut parts) = (Vec::new(), Vec::new());
        append_frame(&mut whole, &[&header.to_bytes()[..], b"x"].concat());
        append_parts(&mut parts, header, b"x");
        assert_eq!(whole, parts);
    }
}
