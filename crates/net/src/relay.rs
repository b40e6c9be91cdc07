//! A room that only passes messages on: no world, no tick.
//!
//! What its members say is framed once, collected for a few milliseconds, and handed to all others together: each of them
//! then writes it in one system call, which is what a small message costs most.

use aether_engine::Refusal;
use aether_framing::websocket::codec::{Opcode, frame};
use aether_wire::limits::LABEL_BYTES_MAX;
use aether_wire::{CloseReason, Closing, ErrorCode, Event, GameBody, PlayerId, ServerMessage, Tick};
use atomic_waker::AtomicWaker;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;
use tokio::runtime::Handle;

/// The code of the event that tells that a member came; its payload is the member's name. A newcomer gets one for each
/// member who is there.
pub const RELAY_JOINED: u16 = 65_534;
/// The code of the event that tells that a member left.
pub const RELAY_LEFT: u16 = 65_535;

/// Batches that wait for a member. At the default interval that is most of a second; who is slower is closed.
const BATCHES_MAX: usize = 64;
/// Bytes that are collected before they are passed on, however early.
const BATCH_BYTES_MAX: usize = 65_536;

/// What a relay room sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelaySettings {
    /// The most members. Default 100.
    pub members_max: usize,
    /// For how long messages are collected. Default 10 ms: longer saves time, and costs it.
    pub flush: Duration,
}

impl Default for RelaySettings {
    fn default() -> Self {
        RelaySettings { members_max: 100, flush: Duration::from_millis(10) }
    }
}

/// A relay room.
pub struct Relay {
    settings: RelaySettings,
    state: Mutex<State>,
    me: Weak<Relay>,
}

#[derive(Default)]
struct State {
    members: Vec<Member>,
    next_player: u32,
    /// What was said since the last flush.
    batch: Batch,
    flush_is_due: bool,
    closed: bool,
}

struct Member {
    player: PlayerId,
    name: String,
    outbox: Arc<Outbox>,
}

/// What members said, framed once for all.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    frames: Vec<u8>,
    entries: Vec<Said>,
}

/// One message of a batch.
#[derive(Clone, Copy, Debug)]
struct Said {
    sender: PlayerId,
    start: usize,
    /// Where the message itself begins, after its WebSocket header.
    message: usize,
    end: usize,
}

/// What waits for one member.
struct Outbox {
    batches: Mutex<VecDeque<Arc<Batch>>>,
    waker: AtomicWaker,
    closing: OnceLock<Closing>,
}

/// A member's place. Dropping it tells the others that the member left.
pub struct RelaySeat {
    relay: Arc<Relay>,
    player: PlayerId,
    outbox: Arc<Outbox>,
}

impl Relay {
    /// An empty room.
    #[must_use]
    pub fn new(settings: RelaySettings) -> Arc<Relay> {
        Arc::new_cyclic(|me| Relay { settings, state: Mutex::default(), me: Weak::clone(me) })
    }

    /// Lets someone in.
    pub fn join(&self, name: &str) -> Result<RelaySeat, Refusal> {
        let relay = self.me.upgrade().ok_or_else(ended)?;
        let mut state = self.state();
        if state.closed {
            return Err(ended());
        }
        if state.members.len() >= self.settings.members_max {
            return Err(Refusal::new(ErrorCode::RoomFull, "the room has no place left"));
        }
        state.next_player += 1;
        let player = PlayerId(state.next_player);
        let outbox =
            Arc::new(Outbox { batches: Mutex::default(), waker: AtomicWaker::new(), closing: OnceLock::new() });
        let name: String = name.chars().take(LABEL_BYTES_MAX / 4).collect();
        let mut roster = Batch::default();
        for member in &state.members {
            roster.say(member.player, RELAY_JOINED, member.name.as_bytes());
        }
        outbox.push(Arc::new(roster));
        state.batch.say(player, RELAY_JOINED, name.as_bytes());
        state.members.push(Member { player, name, outbox: Arc::clone(&outbox) });
        self.flush_soon(state);
        Ok(RelaySeat { relay, player, outbox })
    }

    /// How many members there are.
    #[must_use]
    pub fn members(&self) -> usize {
        self.state().members.len()
    }

    /// Ends the room and tells every member why.
    pub fn end(&self, closing: &Closing) {
        let mut state = self.state();
        state.closed = true;
        for member in &state.members {
            let _ = member.outbox.closing.set(closing.clone());
            member.outbox.waker.wake();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that what was said is passed on in a while, or now if it is much.
    fn flush_soon(&self, mut state: MutexGuard<'_, State>) {
        if state.batch.frames.len() >= BATCH_BYTES_MAX {
            return state.flush();
        }
        if !std::mem::replace(&mut state.flush_is_due, true) {
            drop(state);
            let (me, after) = (Weak::clone(&self.me), self.settings.flush);
            // While the runtime goes down nobody is left to be told.
            let Ok(runtime) = Handle::try_current() else { return };
            runtime.spawn(async move {
                tokio::time::sleep(after).await;
                if let Some(relay) = me.upgrade() {
                    let mut state = relay.state();
                    state.flush_is_due = false;
                    state.flush();
                }
            });
        }
    }
}

impl State {
    fn flush(&mut self) {
        if self.batch.entries.is_empty() {
            return;
        }
        let batch = Arc::new(std::mem::take(&mut self.batch));
        // The next one is likely to be as long.
        self.batch.frames.reserve(batch.frames.len());
        for member in &self.members {
            member.outbox.push(Arc::clone(&batch));
        }
    }
}

impl Outbox {
    fn push(&self, batch: Arc<Batch>) {
        let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        if batches.len() < BATCHES_MAX {
            batches.push_back(batch);
        } else {
            let _ = self.closing.set(aether_engine::closing(CloseReason::TooSlow));
        }
        drop(batches);
        self.waker.wake();
    }
}

impl Batch {
    fn say(&mut self, sender: PlayerId, code: u16, payload: &[u8]) {
        let body = GameBody::Packed { code, payload: payload.to_vec() };
        let event = ServerMessage::Event(Event { tick: Tick::ZERO, sender: Some(sender), body });
        let start = self.frames.len();
        let mut length = 0;
        frame(&mut self.frames, Opcode::Binary, |out| {
            let before = out.len();
            // What a client may say always fits what a server may: the limits of both are the same.
            let _ = event.encode(out);
            length = out.len() - before;
        });
        let end = self.frames.len();
        self.entries.push(Said { sender, start, message: end - length, end });
    }

    /// The messages of everyone but this member: runs of them, framed.
    pub fn framed_runs(&self, except: PlayerId) -> impl Iterator<Item = &[u8]> {
        self.entries.chunk_by(move |a, b| (a.sender == except) == (b.sender == except)).filter_map(move |run| {
            let (first, last) = (run.first()?, run.last()?);
            (first.sender != except).then(|| &self.frames[first.start..last.end])
        })
    }

    /// The messages of everyone but this member, one by one and without a frame.
    pub fn messages(&self, except: PlayerId) -> impl Iterator<Item = &[u8]> {
        let others = self.entries.iter().filter(move |said| said.sender != except);
        others.map(|said| &self.frames[said.message..said.end])
    }

    /// How many messages are from others.
    pub fn count(&self, except: PlayerId) -> usize {
        self.entries.iter().filter(|said| said.sender != except).count()
    }
}

impl RelaySeat {
    /// The member's number.
    #[must_use]
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// The room.
    #[must_use]
    pub fn relay(&self) -> &Arc<Relay> {
        &self.relay
    }

    /// Says something to all others. The codes of the room itself are taken.
    pub fn say(&self, code: u16, payload: &[u8]) -> Result<(), Refusal> {
        if code >= RELAY_JOINED {
            return Err(Refusal::new(ErrorCode::BadValue, "the codes 65534 and 65535 belong to the room"));
        }
        let mut state = self.relay.state();
        state.batch.say(self.player, code, payload);
        self.relay.flush_soon(state);
        Ok(())
    }

    pub(crate) fn wake_by(&self, waker: &Waker) {
        self.outbox.waker.register(waker);
    }

    pub(crate) fn has_news(&self) -> bool {
        self.closing().is_some() || !self.outbox.batches.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    pub(crate) fn next_batch(&self) -> Option<Arc<Batch>> {
        self.outbox.batches.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn closing(&self) -> Option<&Closing> {
        self.outbox.closing.get()
    }
}

impl Drop for RelaySeat {
    fn drop(&mut self) {
        let mut state = self.relay.state();
        state.members.retain(|member| member.player != self.player);
        if !state.closed && !state.members.is_empty() {
            state.batch.say(self.player, RELAY_LEFT, &[]);
            self.relay.flush_soon(state);
        }
    }
}

fn ended() -> Refusal {
    Refusal::new(ErrorCode::RoomNotFound, "the room has ended")
}
