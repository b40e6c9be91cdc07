//! A room that only passes messages on: no world, no tick.
//!
//! Messages of its members are collected for a few milliseconds, framed once for all connections that frame in the same way,
//! and handed to all others together: each of them then writes it in one system call, which is what a small message costs
//! most.

use aether_engine::Rejection;
use aether_framing::Framing;
use aether_wire::limits::LABEL_BYTES_MAX;
use aether_wire::{CloseReason, Closing, ErrorCode, Event, GameBody, PlayerId, ServerMessage, Tick};
use atomic_waker::AtomicWaker;
use std::collections::VecDeque;
use std::ops::Range;
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
/// Bytes that framing adds to most messages.
const FRAME_BYTES_USUAL: usize = 4;

/// Settings of a relay room.
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
    /// Messages since the last flush.
    batch: Batch,
    flush_is_due: bool,
    closed: bool,
}

struct Member {
    player: PlayerId,
    name: String,
    outbox: Arc<Outbox>,
}

/// Messages of members, encoded once for all.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The messages, one after the other.
    bytes: Vec<u8>,
    entries: Vec<Said>,
    /// The same in each framing, made when the first member asks for it.
    framed: [OnceLock<Framed>; Framing::ALL.len()],
}

/// The messages of a batch in one framing.
#[derive(Debug)]
struct Framed {
    bytes: Vec<u8>,
    /// End of each message.
    ends: Vec<usize>,
}

/// One message of a batch.
#[derive(Clone, Copy, Debug)]
struct Said {
    sender: PlayerId,
    /// End of the message; it begins where the one before ends.
    end: usize,
}

/// Batches that wait for one member.
struct Outbox {
    batches: Mutex<VecDeque<Arc<Batch>>>,
    waker: AtomicWaker,
    closing: OnceLock<Closing>,
}

/// A member's place. Dropping it tells the others that the member left.
pub struct RelayMember {
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
    pub fn join(&self, name: &str) -> Result<RelayMember, Rejection> {
        let relay = self.me.upgrade().ok_or_else(ended)?;
        let mut state = self.state();
        if state.closed {
            return Err(ended());
        }
        if state.members.len() >= self.settings.members_max {
            return Err(Rejection::new(ErrorCode::RoomFull, "the room has no place left"));
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
        Ok(RelayMember { relay, player, outbox })
    }

    /// Number of members.
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
        if state.batch.bytes.len() >= BATCH_BYTES_MAX {
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
        self.batch.bytes.reserve(batch.bytes.len());
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
        // What a client may say always fits what a server may: the limits of both are the same.
        let _ = event.encode(&mut self.bytes);
        self.entries.push(Said { sender, end: self.bytes.len() });
    }

    /// The messages of everyone but this member, as runs of their numbers.
    pub fn runs(&self, except: PlayerId) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        let of_one_side = move |a: &Said, b: &Said| (a.sender == except) == (b.sender == except);
        self.entries.chunk_by(of_one_side).filter_map(move |run| {
            let numbers = start..start + run.len();
            start = numbers.end;
            run.first().filter(|first| first.sender != except).map(|_| numbers)
        })
    }

    /// A run of messages in a framing.
    pub fn framed(&self, framing: Framing, run: &Range<usize>) -> &[u8] {
        let Framed { bytes, ends } = self.framed[framing.number()].get_or_init(|| self.frame(framing));
        let start = run.start.checked_sub(1).map_or(0, |before| ends[before]);
        run.end.checked_sub(1).map_or(&[], |last| &bytes[start..ends[last]])
    }

    /// The messages of a run, one by one and without a frame.
    pub fn messages(&self, run: Range<usize>) -> impl Iterator<Item = &[u8]> {
        run.map(|number| self.message(number))
    }

    /// Bytes of a run without frames.
    pub fn bytes(&self, run: &Range<usize>) -> usize {
        run.end.checked_sub(1).map_or(0, |last| self.entries[last].end - self.start(run.start))
    }

    fn frame(&self, framing: Framing) -> Framed {
        let mut framed = Framed {
            bytes: Vec::with_capacity(self.bytes.len() + FRAME_BYTES_USUAL * self.entries.len()),
            ends: Vec::with_capacity(self.entries.len()),
        };
        for number in 0..self.entries.len() {
            framing.append(&mut framed.bytes, self.message(number));
            framed.ends.push(framed.bytes.len());
        }
        framed
    }

    fn message(&self, number: usize) -> &[u8] {
        &self.bytes[self.start(number)..self.entries[number].end]
    }

    fn start(&self, number: usize) -> usize {
        number.checked_sub(1).map_or(0, |before| self.entries[before].end)
    }
}

impl RelayMember {
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
    pub fn say(&self, code: u16, payload: &[u8]) -> Result<(), Rejection> {
        if code >= RELAY_JOINED {
            return Err(Rejection::new(ErrorCode::BadValue, "the codes 65534 and 65535 belong to the room"));
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

impl Drop for RelayMember {
    fn drop(&mut self) {
        let mut state = self.relay.state();
        state.members.retain(|member| member.player != self.player);
        if !state.closed && !state.members.is_empty() {
            state.batch.say(self.player, RELAY_LEFT, &[]);
            self.relay.flush_soon(state);
        }
    }
}

fn ended() -> Rejection {
    Rejection::new(ErrorCode::RoomNotFound, "the room has ended")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(senders: &[u32]) -> Batch {
        let mut batch = Batch::default();
        for (number, sender) in senders.iter().enumerate() {
            // Some are short and some are long, so that their frames have headers of different lengths.
            batch.say(PlayerId(*sender), 7, &vec![number as u8; 1 + 150 * (number % 2)]);
        }
        batch
    }

    #[test]
    fn a_member_gets_the_messages_of_the_others_in_runs() {
        let batch = batch(&[1, 1, 2, 3, 1, 2]);
        let runs = |player| batch.runs(PlayerId(player)).collect::<Vec<_>>();
        assert_eq!(runs(1), [2..4, 5..6]);
        assert_eq!(runs(2), [0..2, 3..5]);
        assert_eq!(runs(4), vec![0..6], "whoever said nothing gets all");
        assert!(Batch::default().runs(PlayerId(1)).next().is_none());
    }

    #[test]
    fn a_run_is_framed_as_its_messages_one_by_one() {
        let batch = batch(&[1, 1, 2, 3, 1, 2]);
        for framing in Framing::ALL {
            for run in batch.runs(PlayerId(1)).chain(batch.runs(PlayerId(4))) {
                let mut expected = Vec::new();
                batch.messages(run.clone()).for_each(|message| framing.append(&mut expected, message));
                assert_eq!(batch.framed(framing, &run), expected);
                assert_eq!(batch.bytes(&run), batch.messages(run).map(<[u8]>::len).sum::<usize>());
            }
        }
    }

    #[test]
    fn a_framing_is_made_once_and_only_if_someone_asks_for_it() {
        let batch = batch(&[1, 2]);
        let first = batch.framed(Framing::Stream, &(0..2)).as_ptr();
        assert_eq!(batch.framed(Framing::Stream, &(0..2)).as_ptr(), first);
        assert!(batch.framed[Framing::WebSocketBinary.number()].get().is_none());
    }
}
