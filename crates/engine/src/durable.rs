//! What outlasts a room: checkpoints of its game, and entries that are committed one by one.
//!
//! A durable room hands its state out about every second. What must not be lost within that second is an entry: the game
//! asks for it by [`crate::Context::commit`], and does it only when it is told that the entry is stored. A room is rebuilt
//! from the last state and the entries that came after it.

use crate::bounded::BoundedQueue;
use crate::game::JoinRequest;
use crate::request::{REQUESTS_MAX, Request};
use aether_wire::{CloseReason, CommandSeq, PlayerId, RequestId};
use atomic_waker::AtomicWaker;
use crossbeam_queue::ArrayQueue;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Entries of one room that wait for their commit; a further one is refused at once. A store that does not answer holds
/// up no more than this.
pub const ENTRIES_MAX: usize = 256;
/// Bytes of one entry. It says what happens, and is not the state itself.
pub const ENTRY_BYTES_MAX: usize = 4_096;
/// Departures that wait to be noted. Beyond, the history has gaps.
const DEPARTURES_MAX: usize = 4_096;

/// The number of an entry in its room. Numbers only grow, also when the room is rebuilt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryNumber(pub u64);

/// What a durable room hands out to be stored. A later one replaces an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomCheckpoint {
    /// What [`crate::Game::checkpoint`] gave.
    pub state: Arc<Vec<u8>>,
    /// Entries up to this one are in the state.
    pub applied: EntryNumber,
    /// The number of the player who came last.
    pub last_player: PlayerId,
    /// The room's label.
    pub label: String,
    /// How many players were in.
    pub players: u32,
    /// How many entities there were.
    pub entities: u32,
}

/// What a durable room is rebuilt from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreData {
    /// The state that was stored last; nothing if none was.
    pub state: Option<Vec<u8>>,
    /// Entries up to this one are in the state.
    pub applied: EntryNumber,
    /// The number of the player who came last.
    pub last_player: PlayerId,
    /// Those who were in, in the order of their numbers. They have a place, and time to come back to it.
    pub players: Vec<(PlayerId, JoinRequest)>,
    /// Entries that were committed after the state, in order.
    pub journal: Vec<(EntryNumber, Vec<u8>)>,
}

/// An entry that waits for its commit.
#[derive(Debug)]
pub(crate) struct PendingEntry {
    pub number: EntryNumber,
    pub entry: Vec<u8>,
    /// The command that is answered when the entry is committed.
    pub command: Option<(PlayerId, CommandSeq)>,
}

/// The entries of a room.
#[derive(Debug, Default)]
pub(crate) struct JournalEntries {
    /// In the order of their numbers.
    pub pending: VecDeque<PendingEntry>,
    pub last: EntryNumber,
    /// Entries up to this one are done or refused.
    pub applied: EntryNumber,
    /// Entries of a room that is not durable: they count as committed at the next tick.
    pub due: Vec<EntryNumber>,
    /// The command that is being handled.
    pub command: Option<(PlayerId, CommandSeq)>,
}

impl JournalEntries {
    /// Takes out an entry whose outcome is known.
    pub fn resolve(&mut self, number: EntryNumber) -> Option<PendingEntry> {
        let at = self.pending.iter().position(|pending| pending.number == number)?;
        self.applied = self.applied.max(number);
        self.pending.remove(at)
    }

    /// Whether a command still waits for a commit.
    pub fn awaits(&self, command: (PlayerId, CommandSeq)) -> bool {
        self.pending.iter().any(|pending| pending.command == Some(command))
    }

    /// A command has its answer; what it still waits for answers it no more.
    pub fn forget_command(&mut self, command: (PlayerId, CommandSeq)) {
        self.forget(|of| of == command);
    }

    /// A player has a new connection, which knows nothing of the commands of the old one.
    pub fn forget_commands_of(&mut self, player: PlayerId) {
        self.forget(|(of, _)| of == player);
    }

    fn forget(&mut self, is_meant: impl Fn((PlayerId, CommandSeq)) -> bool) {
        for pending in &mut self.pending {
            pending.command = pending.command.filter(|command| !is_meant(*command));
        }
    }
}

/// What a room has for those outside who are no clients: requests, entries, states and departures.
#[derive(Debug)]
pub(crate) struct RoomOutput {
    pub requests: BoundedQueue<(RequestId, Request)>,
    pub entries: BoundedQueue<(EntryNumber, Vec<u8>)>,
    /// The newest state only.
    pub kept: ArrayQueue<RoomCheckpoint>,
    pub departures: BoundedQueue<(PlayerId, CloseReason)>,
    /// Set when the room is over for good, and nothing of it is to be kept.
    pub over: AtomicBool,
    /// Set when nobody ticks the room any more.
    pub closed: AtomicBool,
    waker: AtomicWaker,
}

impl RoomOutput {
    pub fn new() -> Self {
        RoomOutput {
            requests: BoundedQueue::new(REQUESTS_MAX),
            entries: BoundedQueue::new(ENTRIES_MAX),
            kept: ArrayQueue::new(1),
            departures: BoundedQueue::new(DEPARTURES_MAX),
            over: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    pub fn register_waker(&self, waker: &std::task::Waker) {
        self.waker.register(waker);
    }

    pub fn wake(&self) {
        self.waker.wake();
    }

    pub fn has_output(&self) -> bool {
        !self.requests.is_empty()
            || !self.entries.is_empty()
            || !self.kept.is_empty()
            || !self.departures.is_empty()
            || self.closed.load(Ordering::SeqCst)
    }
}

/// When a durable room hands its state out.
#[derive(Debug)]
pub(crate) struct CheckpointTimer {
    every_ticks: u32,
    /// Ticks since the last time.
    since: u32,
    /// Someone came or went.
    wanted: bool,
    last: Option<RoomCheckpoint>,
}

impl CheckpointTimer {
    pub fn new(every_ticks: u32) -> Self {
        CheckpointTimer { every_ticks: every_ticks.max(1), since: 0, wanted: true, last: None }
    }

    /// Whether the state is to be handed out after this tick. Comings and goings bring it forward, but a crowd that comes
    /// at once does not make every tick pay for it.
    pub fn is_due(&mut self, someone_moved: bool) -> bool {
        self.since += 1;
        self.wanted |= someone_moved;
        let due = self.since >= self.every_ticks || self.wanted && self.since >= self.every_ticks.div_ceil(10);
        if due {
            self.since = 0;
            self.wanted = false;
        }
        due
    }

    /// The state, if it is not the one that was handed out last.
    pub fn changed(&mut self, kept: RoomCheckpoint) -> Option<RoomCheckpoint> {
        if self.last.as_ref() == Some(&kept) {
            return None;
        }
        self.last = Some(kept.clone());
        Some(kept)
    }
}
