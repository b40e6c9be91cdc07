//! Durable rooms: checkpoints and the journal.
//!
//! A durable room publishes a checkpoint about every second. Changes that must not be lost in between are journal
//! entries: the game calls [`crate::Context::commit`] and carries the entry out when it is stored. A room is rebuilt
//! from its last checkpoint and the entries after it.

use crate::bounded::BoundedQueue;
use crate::game::JoinRequest;
use crate::request::{REQUESTS_MAX, Request};
use aether_wire::{CloseReason, CommandSeq, PlayerId, RequestId, Tick};
use atomic_waker::AtomicWaker;
use crossbeam_queue::ArrayQueue;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of pending entries of a room. Further commits fail, so a store that does not answer delays no more
/// than this.
pub const ENTRIES_MAX: usize = 256;
/// Maximum bytes of an entry. An entry describes an action, not the whole state.
pub const ENTRY_BYTES_MAX: usize = 4_096;
/// Departures that wait to be taken. Beyond it, the history has gaps.
const DEPARTURES_MAX: usize = 4_096;

/// Number of an entry in its room. Numbers only grow, also across rebuilds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryNumber(pub u64);

/// State of a durable room to store. A newer checkpoint replaces an older one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomCheckpoint {
    /// Tick of the state.
    pub tick: Tick,
    /// State from [`crate::Game::checkpoint`].
    pub state: Arc<Vec<u8>>,
    /// Last journal entry that the state includes.
    pub applied: EntryNumber,
    /// Id of the newest player.
    pub last_player: PlayerId,
    /// Label of the room.
    pub label: String,
    /// Number of players.
    pub players: u32,
    /// Number of entities.
    pub entities: u32,
}

/// Data from which a durable room is rebuilt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreData {
    /// Last tick of the room before. Ticks continue after it.
    pub tick: Tick,
    /// Last stored state, if there is one.
    pub state: Option<Vec<u8>>,
    /// Last journal entry that the state includes.
    pub applied: EntryNumber,
    /// Id of the newest player.
    pub last_player: PlayerId,
    /// Players of the room, ordered by id. They have no connection and may resume.
    pub players: Vec<(PlayerId, JoinRequest)>,
    /// Journal entries after the state, in order.
    pub journal: Vec<(EntryNumber, Vec<u8>)>,
}

/// An entry that is not stored yet.
#[derive(Debug)]
pub(crate) struct PendingEntry {
    pub number: EntryNumber,
    pub entry: Vec<u8>,
    /// Command whose answer waits for this entry.
    pub command: Option<(PlayerId, CommandSeq)>,
}

/// Journal entries of a room.
#[derive(Debug, Default)]
pub(crate) struct JournalEntries {
    /// Ordered by number.
    pub pending: VecDeque<PendingEntry>,
    pub last: EntryNumber,
    /// Last entry with a known outcome.
    pub applied: EntryNumber,
    /// Entries of a room that is not durable. They count as committed at the next tick.
    pub due: Vec<EntryNumber>,
    /// Command that is being handled.
    pub command: Option<(PlayerId, CommandSeq)>,
}

impl JournalEntries {
    /// Removes an entry whose outcome is known.
    pub fn resolve(&mut self, number: EntryNumber) -> Option<PendingEntry> {
        let index = self.pending.iter().position(|pending| pending.number == number)?;
        self.applied = self.applied.max(number);
        self.pending.remove(index)
    }

    /// Returns true if a command still waits for an entry.
    pub fn has_pending(&self, command: (PlayerId, CommandSeq)) -> bool {
        self.pending.iter().any(|pending| pending.command == Some(command))
    }

    /// Detaches pending entries from a command that was answered.
    pub fn forget_command(&mut self, command: (PlayerId, CommandSeq)) {
        self.forget(|of| of == command);
    }

    /// Detaches pending entries from a player's commands: a new connection does not know the commands of the old one.
    pub fn forget_commands_of(&mut self, player: PlayerId) {
        self.forget(|(of, _)| of == player);
    }

    fn forget(&mut self, is_meant: impl Fn((PlayerId, CommandSeq)) -> bool) {
        for pending in &mut self.pending {
            pending.command = pending.command.filter(|command| !is_meant(*command));
        }
    }
}

/// Output of a room other than to clients: requests, entries, checkpoints and departures.
#[derive(Debug)]
pub(crate) struct RoomOutput {
    pub requests: BoundedQueue<(RequestId, Request)>,
    pub entries: BoundedQueue<(EntryNumber, Vec<u8>)>,
    /// Newest checkpoint only.
    pub checkpoint: ArrayQueue<RoomCheckpoint>,
    pub departures: BoundedQueue<(PlayerId, CloseReason)>,
    /// True if the room ended for good: nothing of it needs to be stored.
    pub ended_for_good: AtomicBool,
    /// True if the room has ended or was dropped.
    pub closed: AtomicBool,
    waker: AtomicWaker,
}

impl RoomOutput {
    pub fn new() -> Self {
        RoomOutput {
            requests: BoundedQueue::new(REQUESTS_MAX),
            entries: BoundedQueue::new(ENTRIES_MAX),
            checkpoint: ArrayQueue::new(1),
            departures: BoundedQueue::new(DEPARTURES_MAX),
            ended_for_good: AtomicBool::new(false),
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
            || !self.checkpoint.is_empty()
            || !self.departures.is_empty()
            || self.closed.load(Ordering::SeqCst)
    }
}

/// Decides when a durable room publishes a checkpoint.
#[derive(Debug)]
pub(crate) struct CheckpointTimer {
    every_ticks: u32,
    /// Ticks since the last checkpoint.
    ticks_since: u32,
    /// True if a player joined or left since.
    is_requested: bool,
    last: Option<RoomCheckpoint>,
}

impl CheckpointTimer {
    pub fn new(every_ticks: u32) -> Self {
        CheckpointTimer { every_ticks: every_ticks.max(1), ticks_since: 0, is_requested: true, last: None }
    }

    /// Keeps the interval at another tick rate.
    pub fn set_tick_hz(&mut self, former: u32, tick_hz: u32) {
        let every = (u64::from(self.every_ticks) * u64::from(tick_hz)).div_ceil(u64::from(former));
        self.every_ticks = u32::try_from(every).unwrap_or(u32::MAX).max(1);
    }

    /// Returns true if a checkpoint is due after this tick. Joins and leaves make it due earlier, but at most every
    /// tenth of the interval, so that a crowd does not cause one per tick.
    pub fn is_due(&mut self, players_changed: bool) -> bool {
        self.ticks_since += 1;
        self.is_requested |= players_changed;
        let due = self.ticks_since >= self.every_ticks
            || self.is_requested && self.ticks_since >= self.every_ticks.div_ceil(10);
        if due {
            self.ticks_since = 0;
            self.is_requested = false;
        }
        due
    }

    /// Returns the checkpoint if it differs from the last one in more than its tick.
    pub fn changed(&mut self, checkpoint: RoomCheckpoint) -> Option<RoomCheckpoint> {
        if self.last.as_ref().is_some_and(|last| RoomCheckpoint { tick: last.tick, ..checkpoint.clone() } == *last) {
            return None;
        }
        self.last = Some(checkpoint.clone());
        Some(checkpoint)
    }
}
