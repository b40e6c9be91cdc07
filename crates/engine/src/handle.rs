//! Reaching a room from outside.

use crate::bounded::BoundedQueue;
use crate::connection::{ConnectionEndpoint, RoomEndpoint, connect};
use crate::durable::{EntryNumber, RoomCheckpoint, RoomOutput};
use crate::figures::{RoomStats, SharedStats};
use crate::game::JoinRequest;
use crate::request::{Answer, Request};
use crate::settings::RoomSettings;
use aether_bits::Schema;
use aether_replication::DeliveryOrder;
use aether_wire::{CloseReason, PlayerId, RequestId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::task::Waker;

/// Joins, signals and answers that wait for a room's next tick.
pub const MAILBOX_MAX: usize = 1_024;

/// Reaches a room from any thread.
#[derive(Clone)]
pub struct RoomHandle {
    mailbox: Arc<Mailbox>,
    board: Arc<SharedStats>,
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
    pub letters: BoundedQueue<MailboxMessage>,
    outlet: Arc<RoomOutput>,
    /// Set when nobody opens letters any more.
    closed: AtomicBool,
}

impl Mailbox {
    pub fn new(outlet: Arc<RoomOutput>) -> Self {
        Mailbox { letters: BoundedQueue::new(MAILBOX_MAX), outlet, closed: AtomicBool::new(false) }
    }

    /// From now on letters are not opened, and whoever waits for an answer is told.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.empty_if_closed();
        self.outlet.closed.store(true, Ordering::SeqCst);
        self.outlet.wake();
    }

    /// Drops what waits, which tells those who wait for an answer.
    fn empty_if_closed(&self) {
        if self.closed.load(Ordering::SeqCst) {
            while self.letters.pop().is_some() {}
        }
    }
}

pub(crate) enum MailboxMessage {
    Join(JoinRequest, DeliveryOrder, RoomEndpoint),
    Resume(PlayerId, DeliveryOrder, RoomEndpoint),
    Answer(RequestId, Answer),
    /// The outcome of an entry: stored, or why not.
    Committed(EntryNumber, Result<(), String>),
    Signal(Vec<u8>, SyncSender<Vec<u8>>),
    End,
    /// Someone else has the room now.
    Lost,
}

impl RoomHandle {
    pub(crate) fn new(mailbox: &Arc<Mailbox>, board: &Arc<SharedStats>) -> Self {
        RoomHandle { mailbox: Arc::clone(mailbox), board: Arc::clone(board) }
    }

    /// Lets someone in at the next tick, if the game agrees; the link learns of it by [`ConnectionEndpoint::admission`].
    pub fn join(&self, joiner: JoinRequest, link: DeliveryOrder) -> Result<ConnectionEndpoint, MailboxFull> {
        let (room_end, link_end) = connect(self.board.settings.state_packets_max());
        self.post(MailboxMessage::Join(joiner, link, room_end))?;
        Ok(link_end)
    }

    /// Gives a player who lost the connection a new one.
    pub fn resume(&self, player: PlayerId, link: DeliveryOrder) -> Result<ConnectionEndpoint, MailboxFull> {
        let (room_end, link_end) = connect(self.board.settings.state_packets_max());
        self.post(MailboxMessage::Resume(player, link, room_end))?;
        Ok(link_end)
    }

    /// Hands in a service's answer.
    pub fn answer(&self, id: RequestId, answer: Answer) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Answer(id, answer))
    }

    /// Tells the game something; what it says goes to `reply`.
    pub fn signal(&self, data: Vec<u8>, reply: SyncSender<Vec<u8>>) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Signal(data, reply))
    }

    /// Tells what became of an entry; outcomes are told in the order of the entries.
    pub fn committed(&self, number: EntryNumber, outcome: Result<(), String>) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Committed(number, outcome))
    }

    /// Ends the room at its next tick; a durable one hands its state out before.
    pub fn end(&self) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::End)
    }

    /// Ends the room at its next tick because another server has it now: nothing more of it is stored.
    pub fn lease_lost(&self) -> Result<(), MailboxFull> {
        self.post(MailboxMessage::Lost)
    }

    /// Whether the room still takes letters; one that has ended does not.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.mailbox.closed.load(Ordering::SeqCst)
    }

    /// Joins, answers and signals that wait for the next tick.
    #[must_use]
    pub fn mailbox_len(&self) -> usize {
        self.mailbox.letters.len()
    }

    /// What the room shows of itself, as of its last tick.
    #[must_use]
    pub fn stats(&self) -> RoomStats {
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
        self.mailbox.outlet.requests.pop()
    }

    /// The next entry that is to be stored, in order.
    #[must_use]
    pub fn next_entry(&self) -> Option<(EntryNumber, Vec<u8>)> {
        self.mailbox.outlet.entries.pop()
    }

    /// The newest state that is to be stored, if there is one that was not taken yet.
    #[must_use]
    pub fn take_checkpoint(&self) -> Option<RoomCheckpoint> {
        self.mailbox.outlet.kept.pop()
    }

    /// The next player who left, and why.
    #[must_use]
    pub fn next_departure(&self) -> Option<(PlayerId, CloseReason)> {
        self.mailbox.outlet.departures.pop()
    }

    /// Whether the game has ended the room for good, so that nothing of it is to be kept.
    #[must_use]
    pub fn has_ended_for_good(&self) -> bool {
        self.mailbox.outlet.over.load(Ordering::SeqCst)
    }

    /// Has this waker called when there is a request, an entry, a state or a departure to be taken, or the room has ended.
    pub fn register_waker(&self, waker: &Waker) {
        self.mailbox.outlet.register_waker(waker);
    }

    /// Whether any of these is there. A room that has ended always has news.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.mailbox.outlet.has_output()
    }

    fn post(&self, letter: MailboxMessage) -> Result<(), MailboxFull> {
        self.mailbox.letters.push(letter).map_err(|_| MailboxFull)?;
        self.mailbox.empty_if_closed();
        Ok(())
    }
}
