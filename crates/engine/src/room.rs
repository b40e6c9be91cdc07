//! A room: one world, one game, and the players in it.

use crate::builder::RoomBuilder;
use crate::connection::RoomEndpoint;
use crate::context::Context;
use crate::declaration::EventRegistry;
use crate::durable::{CheckpointTimer, JournalEntries, RoomCheckpoint, RoomOutput};
use crate::figures::{RoomStats, SharedStats};
use crate::game::Game;
use crate::handle::{Mailbox, RoomHandle};
use crate::observer::{Observer, RoomCounts, TickStage};
use crate::overload::OverloadLadder;
use crate::recording::{Recorder, Recording, TickInput};
use crate::seat::{RoomPlayers, closing};
use crate::settings::RoomSettings;
use crate::stages::{ApplyStage, ExtractStage, Extraction, ReceiveStage, SendStage, Sending, simulate};
use aether_bits::{Random, Schema, StateHasher};
use aether_replication::{ComponentBits, DeliveryOrder, SendSettings};
use aether_wire::{CloseReason, Closing, PlayerId, RequestId, Tick};
use aether_world::World;
use rayon::ThreadPool;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

/// A room.
pub struct Room<G: Game> {
    pub(crate) game: G,
    pub(crate) state: RoomState,
    pub(crate) mailbox: Arc<Mailbox>,
    /// What takes effect this tick, in order.
    pub(crate) agenda: Vec<TickInput>,
    /// The connections of those who are about to join.
    pub(crate) arrivals: VecDeque<(PlayerId, DeliveryOrder, RoomEndpoint)>,
    /// Who waits for the answer to a signal, in the agenda's order.
    pub(crate) replies: VecDeque<SyncSender<Vec<u8>>>,
    pub(crate) next_player: PlayerId,
    pub(crate) extraction: Extraction,
    pub(crate) sending: Sending,
    pub(crate) overload: OverloadLadder,
    pub(crate) pool: Option<Arc<ThreadPool>>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) recording_sink: Option<RecordingSink>,
    /// Set if the room is durable.
    pub(crate) keeping: Option<CheckpointTimer>,
    pub(crate) board: Arc<SharedStats>,
    pub(crate) totals: RoomCounts,
    pub(crate) status: RoomStatus,
}

/// What a game can reach.
pub(crate) struct RoomState {
    pub world: World,
    pub random: Random,
    pub seats: RoomPlayers,
    pub desk: TickOutput,
    pub events: EventRegistry,
    pub settings: RoomSettings,
    pub send: SendSettings,
}

/// What a tick leaves behind for the outside.
pub(crate) struct TickOutput {
    pub outlet: Arc<RoomOutput>,
    /// Whether something was put there in this tick.
    pub news: bool,
    pub entries: JournalEntries,
    pub is_durable: bool,
    pub next_request: RequestId,
    pub requests_waiting: usize,
    /// Requests that failed at once; they are answered at the next tick.
    pub requests_refused: Vec<RequestId>,
    pub counts: RoomCounts,
    pub label: String,
    pub label_changed: bool,
    pub ending: bool,
    /// Set when the room is to be there again later, although it ends now.
    pub parks: bool,
    /// Set when another server has the room.
    pub lost: bool,
}

/// Takes the recording of a room that is over.
pub type RecordingSink = Box<dyn FnOnce(Recording) + Send>;

impl<G: Game> Drop for Room<G> {
    fn drop(&mut self) {
        if let (Some(recorder), Some(sink)) = (self.recorder.take(), self.recording_sink.take()) {
            sink(recorder.finish());
        }
        self.mailbox.close();
    }
}

/// Whether a room goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomStatus {
    /// It ticks.
    Running,
    /// It has ended; a further tick does nothing.
    Ended,
}

impl<G: Game> Room<G> {
    /// Starts the building of a room.
    pub fn builder(game: G, settings: RoomSettings) -> RoomBuilder<G> {
        RoomBuilder::new(game, settings)
    }

    /// One tick.
    pub fn tick(&mut self, observer: &mut impl Observer) -> RoomStatus {
        if self.status == RoomStatus::Ended {
            return self.status;
        }
        self.board.write_ticking(true);
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

    /// Stage one: fills the agenda.
    fn receive(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now().next(), TickStage::Receive);
        let stage = ReceiveStage {
            mailbox: &self.mailbox,
            settings: &self.state.settings,
            tick: self.state.world.tick(),
            is_durable: self.keeping.is_some(),
            seats: &mut self.state.seats,
            desk: &mut self.state.desk,
            agenda: &mut self.agenda,
            arrivals: &mut self.arrivals,
            replies: &mut self.replies,
            next_player: &mut self.next_player,
        };
        stage.run();
    }

    /// Stage two: works the agenda off.
    fn apply(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Apply);
        let Room { game, state, arrivals, replies, .. } = self;
        ApplyStage { game, state, arrivals, replies }.run(&self.agenda, observer);
    }

    /// Stage three: one step of the game.
    fn simulate(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Simulate);
        simulate(&mut self.game, &mut self.state);
    }

    /// Stage four: notes what changed, and who sees it.
    fn extract(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Extract);
        let RoomState { world, settings, seats, .. } = &mut self.state;
        ExtractStage { game: &self.game, world, settings }.run(&mut self.extraction, seats);
    }

    /// Stage five: builds the packets.
    fn send(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Send);
        let RoomState { world, settings, send, seats, desk, .. } = &mut self.state;
        let (ring_stretch, pool) = (self.overload.ring_stretch(), self.pool.as_deref());
        let stage = SendStage { world, settings, send, ring_stretch, pool };
        stage.run(&mut self.sending, &mut self.extraction.changed, seats, &mut desk.counts);
    }

    /// Drops what the room asks of services: in a replay the answers are recorded.
    pub(crate) fn drop_requests(&mut self) {
        while self.state.desk.outlet.requests.pop().is_some() {}
        self.state.desk.entries.due.clear();
        self.state.desk.requests_waiting = 0;
        self.state.desk.requests_refused.clear();
    }

    /// Reaches this room from any thread.
    #[must_use]
    pub fn handle(&self) -> RoomHandle {
        RoomHandle::new(&self.mailbox, &self.board)
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
    pub fn totals(&self) -> &RoomCounts {
        &self.totals
    }

    /// What each component cost in the last snapshot, over all clients.
    #[must_use]
    pub fn component_bits(&self) -> &ComponentBits {
        self.sending.component_bits()
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
    pub fn overload(&self) -> &OverloadLadder {
        &self.overload
    }

    fn close(&mut self, observer: &mut impl Observer) -> RoomStatus {
        let counts = std::mem::take(&mut self.state.desk.counts);
        self.totals.add(&counts);
        let goes_on = !self.state.desk.lost && !self.state.desk.ending;
        let someone_moved = counts.joins + counts.leaves > 0;
        if goes_on && self.keeping.as_mut().is_some_and(|keeping| keeping.is_due(someone_moved)) {
            observer.checkpoint_started();
            self.keep();
            observer.checkpoint_finished();
        }
        self.show();
        self.board.write_ticking(false);
        observer.tick_finished(self.now(), &counts);
        if self.state.desk.lost {
            self.abandon(CloseReason::Moved);
        } else if self.state.desk.ending {
            self.end(CloseReason::RoomEnded);
        }
        self.status
    }

    /// Hands the state out to be stored, unless it is the same as before.
    fn keep(&mut self) {
        if self.keeping.is_none() {
            return;
        }
        let Some(state) = self.game.checkpoint(&self.state.world) else { return };
        let Some(keeping) = &mut self.keeping else { return };
        let desk = &mut self.state.desk;
        let kept = RoomCheckpoint {
            state: Arc::new(state),
            applied: desk.entries.applied,
            last_player: self.next_player,
            label: desk.label.clone(),
            players: self.state.seats.len() as u32,
            entities: self.state.world.len() as u32,
        };
        if let Some(kept) = keeping.changed(kept) {
            desk.outlet.kept.force_push(kept);
            desk.news = true;
        }
    }

    /// Writes the room's figures where everyone can read them.
    pub(crate) fn show(&mut self) {
        self.board.write(&RoomStats {
            tick: self.now(),
            players: self.state.seats.len() as u32,
            entities: self.state.world.len() as u32,
            overload: u32::from(self.overload.rung()),
            ..RoomStats::default()
        });
        if std::mem::take(&mut self.state.desk.label_changed) {
            self.board.set_label(&self.state.desk.label);
        }
    }

    /// Wakes every link that has something to send. It may take system calls, so it is no part of the tick.
    pub fn wake_connections(&mut self) {
        if std::mem::take(&mut self.state.desk.news) {
            self.state.desk.outlet.wake();
        }
        for connection in self.state.seats.iter().filter_map(|seat| seat.connection.as_ref()) {
            connection.wake();
        }
    }

    /// Shows what a tick took lately; only whoever has a clock knows.
    pub fn publish_tick_time(&self, time: Duration) {
        self.board.write_tick_time(time);
    }

    /// Ends the room: the game is told, and every connection closed with a reason. A durable room that is to be there again
    /// hands its state out before.
    pub(crate) fn end(&mut self, reason: CloseReason) {
        if self.state.desk.parks || reason == CloseReason::Shutdown {
            self.keep();
        } else {
            self.state.desk.outlet.over.store(true, Ordering::SeqCst);
        }
        self.game.terminate(&mut self.state.context());
        self.abandon(reason);
    }

    /// Closes every connection without asking the game, which may have failed.
    pub(crate) fn abandon(&mut self, reason: CloseReason) {
        // Whoever is in a durable room when the server stops has a place in it when it is there again.
        let stay = self.keeping.is_some() && reason == CloseReason::Shutdown;
        for seat in self.state.seats.iter_mut() {
            if !stay {
                let _ = self.state.desk.outlet.departures.push((seat.id, reason));
            }
            if let Some(connection) = &seat.connection {
                connection.close(Closing { may_resume: stay, ..closing(reason) });
            }
        }
        self.arrivals.clear();
        self.mailbox.close();
        self.status = RoomStatus::Ended;
    }
}

impl RoomState {
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

impl TickOutput {
    pub fn new(outlet: Arc<RoomOutput>, label: String, is_durable: bool) -> Self {
        TickOutput {
            outlet,
            news: false,
            entries: JournalEntries::default(),
            is_durable,
            next_request: RequestId(0),
            requests_waiting: 0,
            requests_refused: Vec::new(),
            counts: RoomCounts::default(),
            label,
            label_changed: true,
            ending: false,
            parks: false,
            lost: false,
        }
    }
}

fn state_hash<G: Game>(game: &G, state: &RoomState) -> u64 {
    let mut hasher = StateHasher::new(u64::from(state.world.tick().0));
    hasher.word(state.world.hash());
    hasher.word(state.random.state());
    game.hash(&mut hasher);
    hasher.finish()
}
