//! A room: one world, one game, and the players in it.

use crate::bounded::BoundedQueue;
use crate::connection::{LinkEnd, RoomEnd, connect};
use crate::context::Context;
use crate::declaration::{Declaration, Events};
use crate::figures::{Board, RoomFigures};
use crate::game::{Game, Joiner, Refusal};
use crate::observer::{Counts, Observer};
use crate::overload::Overload;
use crate::random::Random;
use crate::recording::{Happening, Recorder, Recording};
use crate::request::{Answer, REQUESTS_MAX, Request};
use crate::seat::{Seats, closing};
use crate::settings::{RoomSettings, SettingsError};
use crate::stages::{Extraction, Sending};
use aether_bits::{Schema, StateHasher};
use aether_replication::{Ledger, Link, SendSettings};
use aether_wire::{CloseReason, PlayerId, RequestId, Tick};
use aether_world::World;
use rayon::ThreadPool;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// Joins, signals and answers that wait for a room's next tick.
pub const MAILBOX_MAX: usize = 1_024;

/// A room.
pub struct Room<G: Game> {
    pub(crate) game: G,
    pub(crate) state: State,
    pub(crate) mailbox: Arc<Mailbox>,
    /// What takes effect this tick, in order.
    pub(crate) agenda: Vec<Happening>,
    /// The connections of those who are about to join.
    pub(crate) arrivals: VecDeque<(PlayerId, Link, RoomEnd)>,
    /// Who waits for the answer to a signal, in the agenda's order.
    pub(crate) replies: VecDeque<SyncSender<Vec<u8>>>,
    pub(crate) next_player: PlayerId,
    pub(crate) extraction: Extraction,
    pub(crate) sending: Sending,
    pub(crate) overload: Overload,
    pub(crate) pool: Option<Arc<ThreadPool>>,
    recorder: Option<Recorder>,
    recording_sink: Option<RecordingSink>,
    board: Arc<Board>,
    totals: Counts,
    status: RoomStatus,
}

/// What a game can reach.
pub(crate) struct State {
    pub world: World,
    pub random: Random,
    pub seats: Seats,
    pub desk: Desk,
    pub events: Events,
    pub settings: RoomSettings,
    pub send: SendSettings,
}

/// What a tick leaves behind for the outside.
pub(crate) struct Desk {
    pub requests: Arc<BoundedQueue<(RequestId, Request)>>,
    pub next_request: RequestId,
    pub requests_waiting: usize,
    /// Requests that failed at once; they are answered at the next tick.
    pub requests_refused: Vec<RequestId>,
    pub counts: Counts,
    pub label: String,
    pub label_changed: bool,
    pub ending: bool,
}

/// What others hand to a room.
pub(crate) struct Mailbox {
    pub letters: BoundedQueue<Letter>,
    requests: Arc<BoundedQueue<(RequestId, Request)>>,
    /// Set when nobody opens letters any more.
    closed: AtomicBool,
}

impl Mailbox {
    /// Drops what waits, which tells those who wait for an answer.
    fn empty_if_closed(&self) {
        if self.closed.load(Ordering::SeqCst) {
            while self.letters.pop().is_some() {}
        }
    }
}

/// Takes the recording of a room that is over.
pub type RecordingSink = Box<dyn FnOnce(Recording) + Send>;

impl<G: Game> Drop for Room<G> {
    fn drop(&mut self) {
        if let (Some(recorder), Some(sink)) = (self.recorder.take(), self.recording_sink.take()) {
            sink(recorder.finish());
        }
        self.mailbox.closed.store(true, Ordering::SeqCst);
        self.mailbox.empty_if_closed();
    }
}

pub(crate) enum Letter {
    Join(Joiner, Link, RoomEnd),
    Resume(PlayerId, Link, RoomEnd),
    Answer(RequestId, Answer),
    Signal(Vec<u8>, SyncSender<Vec<u8>>),
    End,
}

/// Reaches a room from any thread.
#[derive(Clone)]
pub struct RoomHandle {
    mailbox: Arc<Mailbox>,
    board: Arc<Board>,
}

/// Whether a room goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomStatus {
    /// It ticks.
    Running,
    /// It has ended; a further tick does nothing.
    Ended,
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

/// Builds a room.
pub struct RoomBuilder<G> {
    game: G,
    settings: RoomSettings,
    seed: u64,
    pool: Option<Arc<ThreadPool>>,
    checkpoint: Option<Vec<u8>>,
    record_as: Option<String>,
    recording_sink: Option<RecordingSink>,
    label: String,
}

impl<G: Game> RoomBuilder<G> {
    /// The seed of the room's random numbers.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Threads that share the encoding of a large room.
    #[must_use]
    pub fn pool(mut self, pool: Arc<ThreadPool>) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Starts from what [`Game::checkpoint`] gave instead of afresh.
    #[must_use]
    pub fn checkpoint(mut self, checkpoint: Vec<u8>) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// Records everything that happens in the room, under the game's name.
    #[must_use]
    pub fn record(mut self, game_name: impl Into<String>) -> Self {
        self.record_as = Some(game_name.into());
        self
    }

    /// Hands the recording over when the room is over.
    #[must_use]
    pub fn recording_sink(mut self, sink: RecordingSink) -> Self {
        self.recording_sink = Some(sink);
        self
    }

    /// The label that the room begins with; the game may change it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The room, before its first tick.
    pub fn build(self) -> Result<Room<G>, BuildError> {
        self.settings.validate().map_err(BuildError::Settings)?;
        let RoomSettings { entities_max, rewind_ticks, .. } = self.settings;
        let (world, events, schema) = G::declare(Declaration::default())
            .build::<G::Input>(|world| world.entities_max(entities_max).rewind_ticks(rewind_ticks));
        let input_bits = schema.inputs.iter().map(|input| input.kind.bits_max()).max().unwrap_or(0);
        if input_bits as usize > 8 * aether_wire::limits::INPUT_BYTES_MAX {
            return Err(BuildError::InputTooLarge);
        }
        let recorder = self
            .record_as
            .map(|game| Recorder::new(game, self.seed, self.settings.tick_hz, schema.hash(), self.checkpoint.clone()));
        let requests = Arc::new(BoundedQueue::new(REQUESTS_MAX));
        let mut room = Room {
            game: self.game,
            mailbox: Arc::new(Mailbox {
                letters: BoundedQueue::new(MAILBOX_MAX),
                requests: Arc::clone(&requests),
                closed: AtomicBool::new(false),
            }),
            agenda: Vec::new(),
            arrivals: VecDeque::new(),
            replies: VecDeque::new(),
            next_player: PlayerId(0),
            extraction: Extraction::new(&self.settings),
            sending: Sending::new(),
            overload: Overload::default(),
            pool: self.pool,
            recorder,
            recording_sink: self.recording_sink,
            board: Arc::new(Board::new(self.settings.clone(), schema)),
            totals: Counts::default(),
            status: RoomStatus::Running,
            state: State {
                world,
                random: Random::new(self.seed),
                seats: Seats::default(),
                desk: Desk::new(requests, self.label),
                events,
                send: self.settings.send_settings(),
                settings: self.settings,
            },
        };
        match self.checkpoint {
            Some(checkpoint) => {
                room.game.restore(&mut room.state.context(), &checkpoint).map_err(BuildError::Checkpoint)?;
            }
            None => room.game.init(&mut room.state.context()),
        }
        room.show();
        Ok(room)
    }
}

/// Why a room could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// A setting is wrong.
    Settings(SettingsError),
    /// The game's input can take more bytes than a packet has for one.
    InputTooLarge,
    /// The game did not accept the checkpoint.
    Checkpoint(Refusal),
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::Settings(error) => write!(f, "a room setting is wrong: {error}"),
            BuildError::InputTooLarge => {
                f.write_str("the game's input can take more than 32 bytes: use fewer or coarser fields")
            }
            BuildError::Checkpoint(refusal) => write!(f, "the checkpoint was not accepted: {}", refusal.message),
        }
    }
}

impl std::error::Error for BuildError {}

impl<G: Game> Room<G> {
    /// Starts the building of a room.
    pub fn builder(game: G, settings: RoomSettings) -> RoomBuilder<G> {
        RoomBuilder {
            game,
            settings,
            seed: 0,
            pool: None,
            checkpoint: None,
            record_as: None,
            recording_sink: None,
            label: String::new(),
        }
    }

    /// One tick.
    pub fn tick(&mut self, observer: &mut impl Observer) -> RoomStatus {
        if self.status == RoomStatus::Ended {
            return self.status;
        }
        self.receive(observer);
        self.step(observer);
        self.extract(observer);
        self.send(observer);
        self.close(observer)
    }

    /// The part of a tick that decides the game's state: what is on the agenda, and then the game's own step.
    pub(crate) fn step(&mut self, observer: &mut impl Observer) {
        self.state.world.advance();
        self.apply(observer);
        self.simulate(observer);
        if let Some(recorder) = &mut self.recorder {
            let hash = state_hash(&self.game, &self.state);
            recorder.tick(self.state.world.tick(), &self.agenda, hash);
        }
    }

    /// Drops what the room asks of services: in a replay the answers are recorded.
    pub(crate) fn drop_requests(&mut self) {
        while self.state.desk.requests.pop().is_some() {}
        self.state.desk.requests_waiting = 0;
        self.state.desk.requests_refused.clear();
    }

    /// Reaches this room from any thread.
    #[must_use]
    pub fn handle(&self) -> RoomHandle {
        RoomHandle { mailbox: Arc::clone(&self.mailbox), board: Arc::clone(&self.board) }
    }

    /// The current tick.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.state.world.tick()
    }

    /// The game.
    #[must_use]
    pub fn game(&self) -> &G {
        &self.game
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.state.world
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &RoomSettings {
        &self.state.settings
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.state.desk.label
    }

    /// How many players are in.
    #[must_use]
    pub fn players(&self) -> usize {
        self.state.seats.len()
    }

    /// What is replicated.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.board.schema
    }

    /// What happened since the room began.
    #[must_use]
    pub fn totals(&self) -> &Counts {
        &self.totals
    }

    /// What each component cost in the last snapshot, over all clients.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        self.sending.ledger()
    }

    /// A hash of the world's components, the random numbers and what [`Game::hash`] adds, the same on every platform.
    #[must_use]
    pub fn hash(&self) -> u64 {
        state_hash(&self.game, &self.state)
    }

    /// What a player sees, as a hash over those entities: a client that has them all computes the same.
    #[must_use]
    pub fn hash_seen_by(&self, player: PlayerId) -> Option<u64> {
        let seat = self.state.seats.get(player)?;
        Some(self.state.world.hash_of(seat.view.visible().iter()))
    }

    /// The game's state, to be kept for later.
    #[must_use]
    pub fn checkpoint(&self) -> Option<Vec<u8>> {
        self.game.checkpoint(&self.state.world)
    }

    /// The recording so far, if the room is recorded.
    #[must_use]
    pub fn recording(&self) -> Option<&Recording> {
        self.recorder.as_ref().map(Recorder::recording)
    }

    /// Tells the room how much of its tick budget it took lately, so that it can shed load.
    pub fn set_load(&mut self, share: f32) {
        if self.overload.update(share) {
            self.extraction.set_nearest_max(&self.state.settings, self.overload.nearest_max(&self.state.settings));
        }
    }

    /// The rungs of the overload ladder that this room is on.
    #[must_use]
    pub fn overload(&self) -> &Overload {
        &self.overload
    }

    fn close(&mut self, observer: &mut impl Observer) -> RoomStatus {
        let counts = std::mem::take(&mut self.state.desk.counts);
        self.totals.add(&counts);
        self.show();
        observer.ticked(self.now(), &counts);
        if self.state.desk.ending {
            self.end(CloseReason::RoomEnded);
        }
        self.status
    }

    /// Writes the room's figures where everyone can read them.
    fn show(&mut self) {
        self.board.write(&RoomFigures {
            tick: self.now(),
            players: self.state.seats.len() as u32,
            entities: self.state.world.len() as u32,
            overload: u32::from(self.overload.rung()),
            tick_time: Duration::ZERO,
        });
        if std::mem::take(&mut self.state.desk.label_changed) {
            self.board.set_label(&self.state.desk.label);
        }
    }

    /// Wakes every link that has something to send. It may take system calls, so it is no part of the tick.
    pub fn wake_links(&self) {
        for connection in self.state.seats.iter().filter_map(|seat| seat.connection.as_ref()) {
            connection.wake();
        }
    }

    /// Shows what a tick took lately; only whoever has a clock knows.
    pub fn show_tick_time(&self, time: Duration) {
        self.board.write_tick_time(time);
    }

    /// Ends the room: the game is told, and every connection closed with a reason.
    pub(crate) fn end(&mut self, reason: CloseReason) {
        self.game.terminate(&mut self.state.context());
        self.abandon(reason);
    }

    /// Closes every connection without asking the game, which may have failed.
    pub(crate) fn abandon(&mut self, reason: CloseReason) {
        for seat in self.state.seats.iter_mut() {
            if let Some(connection) = &seat.connection {
                connection.close(closing(reason));
            }
        }
        self.arrivals.clear();
        self.mailbox.closed.store(true, Ordering::SeqCst);
        self.mailbox.empty_if_closed();
        self.status = RoomStatus::Ended;
    }
}

impl State {
    pub fn context(&mut self) -> Context<'_> {
        Context {
            world: &mut self.world,
            random: &mut self.random,
            seats: &mut self.seats,
            desk: &mut self.desk,
            events: &self.events,
            settings: &self.settings,
        }
    }
}

impl Desk {
    fn new(requests: Arc<BoundedQueue<(RequestId, Request)>>, label: String) -> Self {
        Desk {
            requests,
            next_request: RequestId(0),
            requests_waiting: 0,
            requests_refused: Vec::new(),
            counts: Counts::default(),
            label,
            label_changed: true,
            ending: false,
        }
    }
}

fn state_hash<G: Game>(game: &G, state: &State) -> u64 {
    let mut hasher = StateHasher::new(u64::from(state.world.tick().0));
    hasher.word(state.world.hash());
    hasher.word(state.random.state());
    game.hash(&mut hasher);
    hasher.finish()
}

impl RoomHandle {
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
