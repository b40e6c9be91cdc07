//! One region, as one of the two processes sees it.

use super::CONNECTIONS_MAX;
use super::frame::{FrameHeader, FrameKind};
use super::mailbox::Mailbox;
use crate::transport::TransportEnded;
use crate::waking::WakeTask;
use aether_engine::ConnectionWaking;
use aether_rings::{Bell, BellEvent, RingEndpoint, RingError, RingReceiver, RingSender, TrySendError};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use tokio::sync::watch;

/// Frames that are read before the tasks that they are for are woken.
const FRAMES_PER_TURN: usize = 256;

/// Rings of a region, shared by the connections that use it.
pub(super) struct Link {
    output: Mutex<LinkOutput>,
    mailboxes: Mutex<HashMap<u64, Arc<Mailbox>>>,
    /// True if a task waits for space, or a frame was put off.
    is_blocked: AtomicBool,
    bell: Arc<Bell>,
    waking: Arc<WakeTask>,
    end: watch::Sender<Option<LinkError>>,
}

struct LinkOutput {
    sender: RingSender,
    /// Tasks that wait for space, by connection.
    waiting: HashMap<u64, Waker>,
    /// Connections whose last frame found no space. Nobody waits for it, so the thread sends it later.
    put_off: Vec<u64>,
}

/// Handles frames that belong to no known connection.
pub(super) trait LinkFrames: Send + 'static {
    /// Handles an open or offer frame.
    fn handle(&mut self, link: &Arc<Link>, header: FrameHeader, body: &[u8]) -> Result<(), LinkError>;
}

/// Reason why a link has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkError {
    /// The other process has ended or has closed the region.
    Gone,
    /// It violated the rules of the rings.
    Ring(RingError),
    /// It sent a frame that is wrong.
    Frame(&'static str),
    /// It sent more than a window allows.
    Window,
}

/// Reason why a frame was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkSendError {
    /// The ring is full. The task is woken when there is space.
    Full,
    /// The link has ended.
    Gone,
}

impl Link {
    /// Starts the thread that reads the ring.
    pub fn start(endpoint: RingEndpoint, waking: Arc<WakeTask>, mut frames: impl LinkFrames) -> io::Result<Arc<Link>> {
        let RingEndpoint { sender, mut receiver } = endpoint;
        let link = Arc::new(Link {
            bell: Arc::clone(sender.bell()),
            output: Mutex::new(LinkOutput { sender, waiting: HashMap::new(), put_off: Vec::new() }),
            mailboxes: Mutex::default(),
            is_blocked: AtomicBool::new(false),
            waking,
            end: watch::Sender::new(None),
        });
        let reading = Arc::clone(&link);
        std::thread::Builder::new().name("shared-memory".into()).spawn(move || {
            let error = reading.read(&mut receiver, &mut frames);
            drop(frames);
            reading.finish(error);
        })?;
        Ok(link)
    }

    /// Adds a connection; none if the number is taken or there are too many.
    pub fn open(&self, connection: u64) -> Option<Arc<Mailbox>> {
        let mut mailboxes = self.mailboxes();
        if mailboxes.len() >= CONNECTIONS_MAX || mailboxes.contains_key(&connection) {
            return None;
        }
        let mailbox = Arc::<Mailbox>::default();
        mailboxes.insert(connection, Arc::clone(&mailbox));
        drop(mailboxes);
        if self.error().is_some() {
            mailbox.note_gone();
        }
        Some(mailbox)
    }

    /// Removes a connection. With `notifies`, the other side is told that it has ended.
    pub fn remove(&self, connection: u64, notifies: Option<TransportEnded>) {
        self.mailboxes().remove(&connection);
        let Some(ended) = notifies else { return };
        let mut output = self.output();
        if output.try_send(&[&FrameHeader::closed(connection, ended).to_bytes()], &self.is_blocked)
            == Err(TrySendError::Full)
        {
            output.put_off.push(connection);
        }
    }

    /// Sends a frame. If the ring is full, the task of the connection is woken when there is space.
    pub fn try_send(&self, connection: u64, parts: &[&[u8]], cx: &mut Context<'_>) -> Result<(), LinkSendError> {
        let mut output = self.output();
        let sent = match output.put_off.is_empty() {
            true => output.try_send(parts, &self.is_blocked),
            false => Err(TrySendError::Full),
        };
        match sent {
            Ok(()) => Ok(()),
            Err(TrySendError::Full) if self.error().is_none() => {
                output.waiting.insert(connection, cx.waker().clone());
                Err(LinkSendError::Full)
            }
            Err(_) => {
                drop(output);
                // After a violation by the other process, its thread notices that the socket is closed.
                self.close();
                Err(LinkSendError::Gone)
            }
        }
    }

    /// Closes the region for both processes.
    pub fn close(&self) {
        self.bell.close();
    }

    /// Reason for which the link has ended, if it has.
    pub fn error(&self) -> Option<LinkError> {
        *self.end.borrow()
    }

    /// Waits until the link has ended.
    pub async fn ended(&self) -> LinkError {
        let mut end = self.end.subscribe();
        match end.wait_for(Option::is_some).await {
            Ok(end) => end.unwrap_or(LinkError::Gone),
            Err(_) => LinkError::Gone,
        }
    }

    /// Reads frames until the link ends.
    fn read(self: &Arc<Self>, receiver: &mut RingReceiver, frames: &mut dyn LinkFrames) -> LinkError {
        let (mut message, mut wakers) = (Vec::new(), Vec::new());
        loop {
            let result = self.turn(receiver, frames, &mut message, &mut wakers);
            self.waking.wake(&mut wakers);
            match result {
                Ok(BellEvent::Rung | BellEvent::TimedOut) => {}
                Ok(BellEvent::Gone) => return LinkError::Gone,
                Err(error) => return error,
            }
        }
    }

    /// Reads the frames that are there, or waits for the first.
    fn turn(
        self: &Arc<Self>,
        receiver: &mut RingReceiver,
        frames: &mut dyn LinkFrames,
        message: &mut Vec<u8>,
        wakers: &mut Vec<Waker>,
    ) -> Result<BellEvent, LinkError> {
        let event = receiver.wait(None)?;
        if self.is_blocked.swap(false, Ordering::AcqRel) {
            self.unblock(wakers);
        }
        let mut count = 0;
        // After the end of the other process, everything that it has sent is read.
        while (count < FRAMES_PER_TURN || event == BellEvent::Gone) && receiver.receive(message)? {
            count += 1;
            let (header, body) = FrameHeader::read(message).ok_or(LinkError::Frame("kind"))?;
            match header.kind {
                FrameKind::Open | FrameKind::Offer => frames.handle(self, header, body)?,
                kind => {
                    // A frame for a connection that has just ended is dropped.
                    let Some(mailbox) = self.mailboxes().get(&header.connection).cloned() else { continue };
                    wakers.extend(match kind {
                        FrameKind::Credit => mailbox.note_handled(header.value),
                        _ => mailbox.push(message)?,
                    });
                }
            }
        }
        Ok(event)
    }

    /// Sends frames that were put off, and wakes tasks that wait for space.
    fn unblock(&self, wakers: &mut Vec<Waker>) {
        let mut output = self.output();
        while let Some(connection) = output.put_off.pop() {
            let closed = FrameHeader::closed(connection, TransportEnded::Closed).to_bytes();
            if output.try_send(&[&closed], &self.is_blocked) == Err(TrySendError::Full) {
                return output.put_off.push(connection);
            }
        }
        wakers.extend(output.waiting.drain().map(|(_, waker)| waker));
    }

    /// Ends all connections.
    fn finish(&self, error: LinkError) {
        self.bell.close();
        self.end.send_replace(Some(error));
        let mut wakers: Vec<Waker> = self.output().waiting.drain().map(|(_, waker)| waker).collect();
        wakers.extend(self.mailboxes().values().filter_map(|mailbox| mailbox.note_gone()));
        self.waking.wake(&mut wakers);
    }

    fn output(&self) -> MutexGuard<'_, LinkOutput> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mailboxes(&self) -> MutexGuard<'_, HashMap<u64, Arc<Mailbox>>> {
        self.mailboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkOutput {
    /// Sends a frame. If the ring is full, the other process rings when it has read something, and the thread then finds
    /// `is_blocked` set: it is set before the other process is asked.
    fn try_send(&mut self, parts: &[&[u8]], is_blocked: &AtomicBool) -> Result<(), TrySendError> {
        let bytes = parts.iter().map(|part| part.len()).sum();
        loop {
            match self.sender.try_send(parts) {
                Err(TrySendError::Full) => is_blocked.store(true, Ordering::Release),
                result => return result,
            }
            if self.sender.wait_for_space(bytes)? {
                return Err(TrySendError::Full);
            }
        }
    }
}

impl From<RingError> for LinkError {
    fn from(error: RingError) -> LinkError {
        LinkError::Ring(error)
    }
}

impl LinkError {
    /// Labels of all errors.
    pub const LABELS: [&'static str; 5] = ["gone", "cursor", "length", "frame", "window"];

    /// Short name for logs and metric labels.
    pub fn label(self) -> &'static str {
        match self {
            LinkError::Gone => "gone",
            LinkError::Ring(error) => error.label(),
            LinkError::Frame(_) => "frame",
            LinkError::Window => "window",
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Gone => f.write_str("the other process has ended"),
            LinkError::Ring(error) => error.fmt(f),
            LinkError::Frame(part) => write!(f, "the other process sent a frame with a wrong {part}"),
            LinkError::Window => f.write_str("the other process sent more than the window of a connection allows"),
        }
    }
}
