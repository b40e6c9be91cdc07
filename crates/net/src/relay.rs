//! Relay rooms, which only pass messages on: no world, no tick.
//!
//! Messages of the members are collected into a batch for a few milliseconds and framed once per framing. Each member's
//! connection then writes the batch in one system call, which is the main cost of a small message.

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
use tokio::time::Instant;

/// Code of the event that a member joined; its payload is the member's name. A new member gets one for each existing
/// member.
pub const RELAY_JOINED: u16 = 65_534;
/// Code of the event that a member left.
pub const RELAY_LEFT: u16 = 65_535;

/// Most batches in the outbox of a member: most of a second at the default interval. Slower members are closed.
const BATCHES_MAX: usize = 64;
/// Size of a batch in bytes at which it is flushed at once.
const BATCH_BYTES_MAX: usize = 65_536;
/// Seconds of the fan-out limit that a member may use at once after a pause. The longest message to 100 members fits.
const FAN_OUT_BURST_SECONDS: u64 = 4;
/// Usual frame overhead of a message, in bytes.
const FRAME_BYTES_USUAL: usize = 4;

/// Settings of a relay room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelaySettings {
    /// Most members. Default 100.
    pub members_max: usize,
    /// Time for which messages are collected. Default 10 ms. A longer time saves CPU and adds latency.
    pub flush: Duration,
    /// True for private rooms, which are joined by id or code. Default false.
    pub private: bool,
    /// Names of the message encodings that members may use. Default empty: every encoding.
    pub encodings: Vec<String>,
    /// Most members of one network. Default 0: no limit.
    pub network_members_max: usize,
    /// Most bytes per second that the room sends for one member: the size of its messages times their receivers. Default
    /// 1,000,000, which is 100 messages of 100 bytes per second to 100 members.
    pub fan_out_bytes_per_second: u32,
}

impl Default for RelaySettings {
    fn default() -> Self {
        RelaySettings {
            members_max: 100,
            flush: Duration::from_millis(10),
            private: false,
            encodings: Vec::new(),
            network_members_max: 0,
            fan_out_bytes_per_second: 1_000_000,
        }
    }
}

/// A relay room.
pub struct Relay {
    settings: RelaySettings,
    state: Mutex<State>,
    tap: OnceLock<Weak<dyn RelayTap>>,
    me: Weak<Relay>,
}

/// Takes the messages of a relay for its tapped members: those without a connection of this crate. The relay calls it
/// under its lock, so it must not call the relay.
pub trait RelayTap: Send + Sync {
    /// Adds a message to the current batch.
    fn add(&self, message: &RelayMessage<'_>);

    /// Delivers the current batch.
    fn flush(&self);
}

/// A message of a member to others.
#[derive(Clone, Copy, Debug)]
pub struct RelayMessage<'a> {
    /// Member that sent it, who does not get it.
    pub sender: PlayerId,
    /// Code. Members with a connection get codes below [`RELAY_JOINED`] only.
    pub code: i64,
    /// Contents.
    pub payload: &'a [u8],
    /// Members that get it; all if there is none.
    pub receivers: Option<&'a [PlayerId]>,
    /// True if the sender asked for reliable delivery. All messages are delivered reliably.
    pub is_reliable: bool,
}

#[derive(Default)]
struct State {
    members: Vec<Member>,
    next_player: u32,
    /// Messages since the last flush.
    batch: Batch,
    flush_is_due: bool,
    closed: bool,
    /// Members that the tap delivers to.
    tapped: usize,
}

struct Member {
    player: PlayerId,
    name: String,
    /// None if the tap delivers to the member.
    outbox: Option<Arc<Outbox>>,
    fan_out: FanOut,
}

/// Bytes that the room may still send for a member. The last message may exceed them; then the member waits until the excess
/// is paid.
#[derive(Clone, Copy, Debug)]
struct FanOut {
    bytes: i64,
    at: Instant,
}

/// Messages of members, encoded once for all.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The messages, one after the other.
    bytes: Vec<u8>,
    entries: Vec<BatchEntry>,
    /// Members that joined meanwhile, with the number of messages before, which they do not get.
    newcomers: Vec<(PlayerId, usize)>,
    /// Framed messages, created per framing on first use.
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
#[derive(Clone, Debug)]
struct BatchEntry {
    sender: PlayerId,
    /// Members that get it; all if there is none.
    receivers: Option<Box<[PlayerId]>>,
    /// End of the message; it starts at the end of the previous one.
    end: usize,
}

impl BatchEntry {
    fn is_for(&self, player: PlayerId) -> bool {
        self.sender != player && self.receivers.as_ref().is_none_or(|receivers| receivers.contains(&player))
    }
}

/// Batches that wait for one member.
#[derive(Default)]
struct Outbox {
    batches: Mutex<VecDeque<Arc<Batch>>>,
    waker: AtomicWaker,
    closing: OnceLock<Closing>,
}

/// Membership of a relay. Dropping it announces to the others that the member left.
pub struct RelayMember {
    relay: Arc<Relay>,
    player: PlayerId,
    /// None if the tap delivers to the member.
    outbox: Option<Arc<Outbox>>,
}

impl Relay {
    /// Creates an empty room.
    #[must_use]
    pub fn new(settings: RelaySettings) -> Arc<Relay> {
        Arc::new_cyclic(|me| Relay { settings, state: Mutex::default(), tap: OnceLock::new(), me: Weak::clone(me) })
    }

    /// Adds a member.
    pub fn join(&self, name: &str) -> Result<RelayMember, Rejection> {
        self.add(name, Some(Outbox::default()))
    }

    /// Adds a member that a tap delivers to. All such members of a relay have the same tap.
    pub fn join_tapped(&self, name: &str, tap: &Weak<dyn RelayTap>) -> Result<RelayMember, Rejection> {
        self.tap.get_or_init(|| Weak::clone(tap));
        self.add(name, None)
    }

    fn add(&self, name: &str, outbox: Option<Outbox>) -> Result<RelayMember, Rejection> {
        let relay = self.me.upgrade().ok_or_else(ended)?;
        let mut state = self.state();
        if state.closed {
            return Err(ended());
        }
        if state.members.len() >= self.settings.members_max {
            return Err(Rejection::new(ErrorCode::RoomFull, "the room is full; join another one"));
        }
        state.next_player += 1;
        let player = PlayerId(state.next_player);
        let outbox = outbox.map(Arc::new);
        let name: String = name.chars().take(LABEL_BYTES_MAX / 4).collect();
        if let Some(outbox) = &outbox {
            let mut roster = Batch::default();
            for member in &state.members {
                roster.add(member.player, RELAY_JOINED, member.name.as_bytes(), None);
            }
            outbox.push(Arc::new(roster));
        }
        state.batch.add_newcomer(player);
        state.announce(player, RELAY_JOINED, name.as_bytes());
        state.tapped += usize::from(outbox.is_none());
        let fan_out = FanOut { bytes: self.settings.fan_out_burst(), at: Instant::now() };
        state.members.push(Member { player, name, outbox: outbox.clone(), fan_out });
        self.flush_soon(state);
        Ok(RelayMember { relay, player, outbox })
    }

    /// Number of members.
    #[must_use]
    pub fn members(&self) -> usize {
        self.state().members.len()
    }

    /// Ends the room and closes the members' connections with a reason.
    pub fn end(&self, closing: &Closing) {
        let mut state = self.state();
        state.closed = true;
        for outbox in state.members.iter().filter_map(|member| member.outbox.as_ref()) {
            outbox.close(closing.clone());
        }
    }

    /// Closes the connection of a member. A tapped member has none.
    pub fn kick(&self, player: PlayerId, closing: &Closing) {
        let state = self.state();
        let member = state.members.iter().find(|member| member.player == player);
        if let Some(outbox) = member.and_then(|member| member.outbox.as_ref()) {
            outbox.close(closing.clone());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Schedules a flush, or flushes at once if the batch is large.
    fn flush_soon(&self, mut state: MutexGuard<'_, State>) {
        if state.batch.bytes.len() >= BATCH_BYTES_MAX {
            return self.flush(&mut state);
        }
        if !std::mem::replace(&mut state.flush_is_due, true) {
            drop(state);
            let (me, after) = (Weak::clone(&self.me), self.settings.flush);
            // Without a runtime the server is shutting down, and no member is left.
            let Ok(runtime) = Handle::try_current() else { return };
            runtime.spawn(async move {
                tokio::time::sleep(after).await;
                if let Some(relay) = me.upgrade() {
                    let mut state = relay.state();
                    state.flush_is_due = false;
                    relay.flush(&mut state);
                }
            });
        }
    }

    /// Delivers the batch to all members.
    fn flush(&self, state: &mut State) {
        state.flush();
        if state.tapped > 0
            && let Some(tap) = self.tap.get().and_then(Weak::upgrade)
        {
            tap.flush();
        }
    }

    /// Adds a message to the batch of members with a connection, and to that of the tap.
    fn add_message(&self, state: &mut State, message: &RelayMessage<'_>) {
        if state.members.len() > state.tapped
            && let Ok(code) = u16::try_from(message.code)
            && code < RELAY_JOINED
        {
            state.batch.add(message.sender, code, message.payload, message.receivers);
        }
        if state.tapped > 0
            && let Some(tap) = self.tap.get().and_then(Weak::upgrade)
        {
            tap.add(message);
        }
    }
}

impl RelaySettings {
    fn fan_out_burst(&self) -> i64 {
        i64::from(self.fan_out_bytes_per_second) * FAN_OUT_BURST_SECONDS as i64
    }
}

impl FanOut {
    /// Pays for a message. Returns false if an earlier one is not paid yet.
    fn take(&mut self, cost: i64, settings: &RelaySettings, now: Instant) -> bool {
        let passed_us = i64::try_from(now.saturating_duration_since(self.at).as_micros()).unwrap_or(i64::MAX);
        let earned = i64::from(settings.fan_out_bytes_per_second).saturating_mul(passed_us) / 1_000_000;
        // A part of a byte is not lost: the time of it counts for the next message.
        if earned > 0 {
            self.bytes = self.bytes.saturating_add(earned).min(settings.fan_out_burst());
            self.at = now;
        }
        let is_paid = self.bytes > 0;
        if is_paid {
            self.bytes = self.bytes.saturating_sub(cost);
        }
        is_paid
    }
}

impl State {
    /// Pays for a message of a member to all others.
    fn take_fan_out(&mut self, message: &RelayMessage<'_>, settings: &RelaySettings) -> bool {
        let others = self.members.len().saturating_sub(1);
        let receivers = message.receivers.map_or(others, |receivers| receivers.len().min(others));
        let bytes = message.payload.len() + FRAME_BYTES_USUAL;
        let cost = i64::try_from(bytes.saturating_mul(receivers)).unwrap_or(i64::MAX);
        let member = self.members.iter_mut().find(|member| member.player == message.sender);
        member.is_some_and(|member| member.fan_out.take(cost, settings, Instant::now()))
    }

    /// Adds an event of the room, for members with a connection. Others learn it from their own service.
    fn announce(&mut self, player: PlayerId, code: u16, payload: &[u8]) {
        if self.members.len() > self.tapped {
            self.batch.add(player, code, payload, None);
        }
    }

    fn flush(&mut self) {
        if self.batch.entries.is_empty() {
            return;
        }
        let batch = Arc::new(std::mem::take(&mut self.batch));
        // The next batch is likely to have the same size.
        self.batch.bytes.reserve(batch.bytes.len());
        for outbox in self.members.iter().filter_map(|member| member.outbox.as_ref()) {
            outbox.push(Arc::clone(&batch));
        }
    }
}

impl Outbox {
    fn batches(&self) -> MutexGuard<'_, VecDeque<Arc<Batch>>> {
        self.batches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self, closing: Closing) {
        let _ = self.closing.set(closing);
        self.waker.wake();
    }

    fn push(&self, batch: Arc<Batch>) {
        let mut batches = self.batches();
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
    fn add(&mut self, sender: PlayerId, code: u16, payload: &[u8], receivers: Option<&[PlayerId]>) {
        let body = GameBody::Packed { code, payload: payload.to_vec() };
        let event = ServerMessage::Event(Event { tick: Tick::ZERO, sender: Some(sender), body });
        // Encoding cannot fail: the limits of client and server messages are the same.
        let _ = event.encode(&mut self.bytes);
        self.entries.push(BatchEntry { sender, receivers: receivers.map(Box::from), end: self.bytes.len() });
    }

    fn add_newcomer(&mut self, player: PlayerId) {
        if !self.entries.is_empty() {
            self.newcomers.push((player, self.entries.len()));
        }
    }

    /// Returns the messages for a member, as runs of message indexes.
    pub fn runs(&self, player: PlayerId) -> impl Iterator<Item = Range<usize>> {
        let newcomer = self.newcomers.iter().find(|(newcomer, _)| *newcomer == player);
        let mut start = newcomer.map_or(0, |(_, before)| *before);
        let is_same_side = move |a: &BatchEntry, b: &BatchEntry| a.is_for(player) == b.is_for(player);
        self.entries[start..].chunk_by(is_same_side).filter_map(move |run| {
            let numbers = start..start + run.len();
            start = numbers.end;
            run.first().filter(|first| first.is_for(player)).map(|_| numbers)
        })
    }

    /// Returns a run of messages in a framing.
    pub fn framed(&self, framing: Framing, run: &Range<usize>) -> &[u8] {
        let Framed { bytes, ends } = self.framed[framing.number()].get_or_init(|| self.frame(framing));
        let start = run.start.checked_sub(1).map_or(0, |before| ends[before]);
        run.end.checked_sub(1).map_or(&[], |last| &bytes[start..ends[last]])
    }

    /// Returns the messages of a run, without frames.
    pub fn messages(&self, run: Range<usize>) -> impl Iterator<Item = &[u8]> {
        run.map(|number| self.message(number))
    }

    /// Size of a run in bytes, without frames.
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
    /// Player id of the member.
    #[must_use]
    pub fn player(&self) -> PlayerId {
        self.player
    }

    /// Room of the member.
    #[must_use]
    pub fn relay(&self) -> &Arc<Relay> {
        &self.relay
    }

    /// Sends a message to all other members. The codes of the room's own events are rejected, and so are messages beyond the
    /// fan-out limit.
    pub fn send(&self, code: u16, payload: &[u8]) -> Result<(), Rejection> {
        if code >= RELAY_JOINED {
            return Err(Rejection::new(
                ErrorCode::BadValue,
                "codes 65534 and 65535 are reserved for the room; use a lower one",
            ));
        }
        let (sender, code) = (self.player, i64::from(code));
        self.send_message(&RelayMessage { sender, code, payload, receivers: None, is_reliable: true })
    }

    /// Sends a message of this member to some or all others. Messages beyond the fan-out limit are rejected.
    pub fn send_message(&self, message: &RelayMessage<'_>) -> Result<(), Rejection> {
        let mut state = self.relay.state();
        if !state.take_fan_out(message, &self.relay.settings) {
            return Err(Rejection::new(
                ErrorCode::RateLimited,
                "the room sends too many bytes for you; send smaller or fewer messages",
            ));
        }
        self.relay.add_message(&mut state, message);
        self.relay.flush_soon(state);
        Ok(())
    }

    pub(crate) fn wake_by(&self, waker: &Waker) {
        if let Some(outbox) = &self.outbox {
            outbox.waker.register(waker);
        }
    }

    pub(crate) fn has_output(&self) -> bool {
        self.outbox.as_ref().is_some_and(|outbox| outbox.closing.get().is_some() || !outbox.batches().is_empty())
    }

    pub(crate) fn next_batch(&self) -> Option<Arc<Batch>> {
        self.outbox.as_ref()?.batches().pop_front()
    }

    pub(crate) fn closing(&self) -> Option<&Closing> {
        self.outbox.as_ref()?.closing.get()
    }
}

impl Drop for RelayMember {
    fn drop(&mut self) {
        let mut state = self.relay.state();
        state.members.retain(|member| member.player != self.player);
        state.tapped -= usize::from(self.outbox.is_none());
        if !state.closed && !state.members.is_empty() {
            state.announce(self.player, RELAY_LEFT, &[]);
            self.relay.flush_soon(state);
        }
    }
}

fn ended() -> Rejection {
    Rejection::new(ErrorCode::RoomNotFound, "the room has ended; join another one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(senders: &[u32]) -> Batch {
        let mut batch = Batch::default();
        for (number, sender) in senders.iter().enumerate() {
            // Short and long messages have frame headers of different lengths.
            batch.add(PlayerId(*sender), 7, &vec![number as u8; 1 + 150 * (number % 2)], None);
        }
        batch
    }

    #[test]
    fn a_member_gets_the_messages_of_the_others_in_runs() {
        let batch = batch(&[1, 1, 2, 3, 1, 2]);
        let runs = |player| batch.runs(PlayerId(player)).collect::<Vec<_>>();
        assert_eq!(runs(1), [2..4, 5..6]);
        assert_eq!(runs(2), [0..2, 3..5]);
        assert_eq!(runs(4), vec![0..6], "a member that sent nothing gets all messages");
        assert!(Batch::default().runs(PlayerId(1)).next().is_none());
    }

    #[test]
    fn a_new_member_gets_no_message_from_before_its_join() {
        let mut batch = batch(&[1, 2]);
        batch.add_newcomer(PlayerId(3));
        batch.add(PlayerId(1), 7, b"later", None);
        let numbers = |player| batch.runs(PlayerId(player)).map(|run| (run.start, run.end)).collect::<Vec<_>>();
        assert_eq!((numbers(2), numbers(3)), (vec![(0, 1), (2, 3)], vec![(2, 3)]));
    }

    #[test]
    fn a_message_to_some_reaches_only_these() {
        let mut batch = batch(&[1, 2]);
        batch.add(PlayerId(1), 7, b"to three", Some(&[PlayerId(3)]));
        let numbers = |player| batch.runs(PlayerId(player)).map(|run| (run.start, run.end)).collect::<Vec<_>>();
        assert_eq!((numbers(1), numbers(2), numbers(3)), (vec![(1, 2)], vec![(0, 1)], vec![(0, 3)]));
    }

    #[test]
    fn a_framed_run_is_the_sequence_of_its_framed_messages() {
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
    fn a_framing_is_created_once_on_first_use() {
        let batch = batch(&[1, 2]);
        let first = batch.framed(Framing::Stream, &(0..2)).as_ptr();
        assert_eq!(batch.framed(Framing::Stream, &(0..2)).as_ptr(), first);
        assert!(batch.framed[Framing::WebSocketBinary.number()].get().is_none());
    }
}
