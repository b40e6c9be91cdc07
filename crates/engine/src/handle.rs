//! Reaching a room from outside.

use crate::bounded::BoundedQueue;
use crate::connection::{LinkEnd, RoomEnd, connect};
use crate::figures::{Board, RoomFigures};
use crate::game::Joiner;
use crate::request::{Answer, Request};
use crate::settings::RoomSettings;
use aether_bits::Schema;
use aether_replication::Link;
use aether_wire::{PlayerId, RequestId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;

/// Joins, signals and answers that wait for a room's next tick.
pub const MAILBOX_MAX: usize = 1_024;

/// Reaches a room from any thread.
#[derive(Clone)]
pub struct RoomHandle {
    mailbox: Arc<Mailbox>,
    board: Arc<Board>,
}

/// The room's mailbox is full: it does not keep up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxFull;

impl std::fmt::Display for MailboxFull {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the room's mailbox is full: it does not keep up")
    }
}

impl std::error::Error for MailboxFull {}

/// What others hand to a room.
pub(crate) struct Mailbox {
    pub letters: BoundedQueue<Letter>,
    requests: Arc<BoundedQueue<(RequestId, Request)>>,
    /// Set when nobody opens letters any more.
    closed: AtomicBool,
}

impl Mailbox {
    pub fn new(requests: Arc<BoundedQueue<(RequestId, Request)>>) -> Self {
        Mailbox { letters: BoundedQueue::new(MAILBOX_MAX), requests, closed: AtomicBool::new(false) }
    }

    /// From now on letters are not opened, and whoever waits for an answer is told.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.empty_if_closed();
    }

    /// Drops what waits, which tells those who wait for an answer.
    fn empty_if_closed(&self) {
        if self.closed.load(Ordering::SeqCst) {
            while self.letters.pop().is_some() {}
        }
    }
}

pub(crate) enum Letter {
    Join(Joiner, Link, RoomEnd),
    Resume(PlayerId, Link, RoomEnd),
    Answer(RequestId, Answer),
    Signal(Vec<u8>, SyncSender<Vec<u8>>),
    End,
}

impl RoomHandle {
    pub(crate) fn new(mailbox: &Arc<Mailbox>, board: &Arc<Board>) -> Self {
        RoomHandle { mailbox: Arc::clone(mailbox), board: Arc::clone(board) }
    }

    /// Lets someone in at the next tick, if the game agrees; the link learns of it by [`LinkEnd::admission`].
    pub fn join(&self, joiner: Joiner, link: Link) -> Result<LinkEnd, MailboxFull> {
        let (room_end, link_end) = connect(self.board.settings.state_packets_max());
        self.post(Letter::Join(joiner, link, room_end))?;
        Ok(link_end)
    }

    /// Gives a player who lost the connection a new one.
    pub fn resume(&self, player: PlayerId, link: Link) -> Result<LinkEnd, MailboxFull> {
        let (room_end, link_end) = connect(self.board.settings.state_packets_max());
        self.post(Letter::Resume(player, link, room_end))?;
        Ok(link_end)
    }

    /// Hands in a service's answer.
    pub fn answer(&self, id: RequestId, answer: Answer) -> Result<(), MailboxFull> {
        self.post(Letter::Answer(id, answer))
    }

    /// Tells the game something; what it says goes to `reply`.
    pub fn signal(&self, data: Vec<u8>, reply: SyncSender<Vec<u8>>) -> Result<(), MailboxFull> {
        self.post(Letter::Signal(data, reply))
    }

    /// Ends the room at its next tick.
    pub fn end(&self) -> Result<(), MailboxFull> {
        self.post(Letter::End)
    }

    /// Whether the room still takes letters; one that has ended does not.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.mailbox.closed.load(Ordering::SeqCst)
    }

    /// Joins, answers and signals that wait for the next tick.
    #[must_use]
    pub fn letters(&self) -> usize {
        self.mailbox.letters.len()
    }

    /// What the room shows of itself, as of its last tick.
    #[must_use]
    pub fn figures(&self) -> RoomFigures {
        self.board.read()
    }

    /// The room's label.
    #[must_use]
    pub fn label(&self) -> Arc<str> {
        self.board.label()
    }

    /// The room's settings.
    #[must_use]
    pub fn settings(&self) -> &RoomSettings {
        &self.board.settings
    }

    /// What the room replicates.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        &self.board.schema
    }

    /// The room's next request to a service.
    #[must_use]
    pub fn next_request(&self) -> Option<(RequestId, Request)> {
        self.mailbox.requests.pop()
    }

    fn post(&self, letter: Letter) -> Result<(), MailboxFull> {
        self.mailbox.letters.push(letter).map_err(|_| MailboxFull)?;
        self.mailbox.empty_if_closed();
        Ok(())
    }
}
