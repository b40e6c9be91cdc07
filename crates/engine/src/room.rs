//! [`Room`]: one world, one game and its players.

use crate::builder::RoomBuilder;
use crate::connection::RoomEndpoint;
use crate::context::Context;
use crate::control::RoomControl;
use crate::durable::{CheckpointTimer, JournalEntries, RoomCheckpoint, RoomOutput};
use crate::encode_pool::EncodePool;
use crate::game::Game;
use crate::handle::{Mailbox, RoomHandle};
use crate::observer::{Observer, RoomCounts, TickStage};
use crate::overload::OverloadLadder;
use crate::players::{RoomPlayers, closing};
use crate::recording::{Recorder, Recording, RecordingStream, TickInput};
use crate::schema::EventRegistry;
use crate::scratch::TickScratch;
use crate::settings::RoomSettings;
use crate::spectators::Spectators;
use crate::stages::{ApplyStage, ExtractStage, Extraction, ReceiveStage, SendStage, Sending, simulate};
use crate::stats::{RoomStats, SharedStats};
use crate::waking::{ConnectionWaking, WakeEach};
use aether_bits::{Random, Schema, StateHasher};
use aether_replication::{ComponentBits, DeliveryOrder, SendSettings};
use aether_wire::{CloseReason, Closing, PlayerId, RequestId, Tick};
use aether_world::World;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::task::Waker;
use std::time::Duration;

/// A room: runs a game tick by tick.
///
/// ```
/// # use aether_bits::Replicate;
/// # use aether_engine::{Context, Game, GameSchemaBuilder, NoObserver, Room, RoomSettings};
/// # use aether_wire::PlayerId;
/// # #[derive(Clone, Replicate)]
/// # struct Input { jump: bool }
/// # struct MyGame;
/// # impl Game for MyGame {
/// #     type Input = Input;
/// #     fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder { schema }
/// #     fn join(&mut self, _: &mut Context<'_>, _: PlayerId) {}
/// #     fn input(&mut self, _: &mut Context<'_>, _: PlayerId, _: &Input) {}
/// #     fn tick(&mut self, _: &mut Context<'_>) {}
/// # }
/// let mut room = Room::builder(MyGame, RoomSettings::default()).seed(1).build()?;
/// room.tick(&mut NoObserver);
/// assert_eq!(room.now().0, 1);
/// # Ok::<(), aether_engine::BuildError>(())
/// ```
pub struct Room<G: Game> {
    pub(crate) game: G,
    pub(crate) state: RoomState,
    pub(crate) mailbox: Arc<Mailbox>,
    /// Endpoints of the joins among the tick inputs.
    pub(crate) pending_joins: VecDeque<(PlayerId, DeliveryOrder, RoomEndpoint)>,
    /// Senders for the replies to the signals among the tick inputs.
    pub(crate) replies: VecDeque<SyncSender<Vec<u8>>>,
    pub(crate) next_player: PlayerId,
    pub(crate) spectators: Spectators,
    pub(crate) extraction: Extraction,
    pub(crate) sending: Sending,
    pub(crate) overload: OverloadLadder,
    pub(crate) pool: Option<EncodePool>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) stream: Option<RecordingStream>,
    /// True after the first tick.
    pub(crate) has_stepped: bool,
    pub(crate) recording_sink: Option<RecordingSink>,
    /// Some if the room is durable.
    pub(crate) checkpoint_timer: Option<CheckpointTimer>,
    pub(crate) stats: Arc<SharedStats>,
    pub(crate) totals: RoomCounts,
    pub(crate) status: RoomStatus,
}

/// Parts of the room that a game can reach through its [`Context`].
pub(crate) struct RoomState {
    pub world: World,
    pub random: Random,
    pub players: RoomPlayers,
    pub output: TickOutput,
    pub events: EventRegistry,
    pub settings: RoomSettings,
    /// Wall clock of tick 0, in milliseconds since 1970.
    pub started_ms: u64,
    pub send: SendSettings,
}

/// Output of a tick.
pub(crate) struct TickOutput {
    pub shared: Arc<RoomOutput>,
    /// True if `shared` has something new to wake the reader for.
    pub wake_pending: bool,
    pub entries: JournalEntries,
    pub is_durable: bool,
    pub next_request: RequestId,
    pub requests_waiting: usize,
    /// Requests beyond the limit. They fail at the next tick.
    pub requests_refused: Vec<RequestId>,
    pub counts: RoomCounts,
    pub label: String,
    pub label_changed: bool,
    /// Requests of operators, served before the next step.
    pub controls: Vec<RoomControl>,
    pub is_ending: bool,
    /// True if the room is unloaded and may be rebuilt later.
    pub is_unloading: bool,
    /// True if another server took the lease of the room.
    pub lease_lost: bool,
    /// Text of a game that failed. The room ends after the tick.
    pub failure: Option<String>,
    /// True until the room is built: the game may set the tick rate.
    pub is_starting: bool,
    /// Tick rate that the game wants.
    pub tick_hz: Option<u32>,
}

/// Receives the recording of a room that ended.
pub type RecordingSink = Box<dyn FnOnce(Recording) + Send>;

impl<G: Game> Drop for Room<G> {
    fn drop(&mut self) {
        if let (Some(recorder), Some(sink)) = (self.recorder.take(), self.recording_sink.take()) {
            sink(recorder.finish());
        }
        self.mailbox.close();
    }
}

/// Status of a room after a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoomStatus {
    /// The room runs.
    Running,
    /// The room has ended. Further ticks do nothing.
    Ended,
}

impl<G: Game> Room<G> {
    /// Returns a builder for a room.
    pub fn builder(game: G, settings: RoomSettings) -> RoomBuilder<G> {
        RoomBuilder::new(game, settings)
    }

    /// Runs one tick.
    pub fn tick(&mut self, observer: &mut impl Observer) -> RoomStatus {
        if self.status == RoomStatus::Ended {
            return self.status;
        }
        self.stats.write_ticking(true);
        let mut scratch = TickScratch::take();
        self.receive(&mut scratch.tick_inputs, observer);
        self.serve_controls();
        self.step(&scratch.tick_inputs, observer);
        self.extract(observer);
        self.send(&mut scratch, observer);
        scratch.give_back();
        self.finish_tick(observer)
    }

    /// Advances the world, applies the tick inputs and steps the game: the part of a tick that decides the state.
    pub(crate) fn step(&mut self, tick_inputs: &[TickInput], observer: &mut impl Observer) {
        self.state.world.advance();
        self.apply(tick_inputs, observer);
        self.simulate(observer);
        self.has_stepped = true;
        if self.recorder.is_some() || self.stream.is_some() {
            self.record_tick(tick_inputs);
        }
    }

    fn record_tick(&mut self, tick_inputs: &[TickInput]) {
        let hash = state_hash(&self.game, &self.state);
        if let Some(recorder) = &mut self.recorder {
            recorder.tick(tick_inputs, hash);
        }
        let tick = self.state.world.tick();
        if self.stream.as_mut().is_some_and(|stream| !stream.tick(tick, tick_inputs, hash)) {
            self.stream = None;
        }
    }

    /// Stage 1: collects the tick inputs.
    fn receive(&mut self, tick_inputs: &mut Vec<TickInput>, observer: &mut impl Observer) {
        observer.stage(self.now().next(), TickStage::Receive);
        let stage = ReceiveStage {
            mailbox: &self.mailbox,
            settings: &self.state.settings,
            tick: self.state.world.tick(),
            is_durable: self.checkpoint_timer.is_some(),
            players: &mut self.state.players,
            output: &mut self.state.output,
            tick_inputs,
            pending_joins: &mut self.pending_joins,
            replies: &mut self.replies,
            next_player: &mut self.next_player,
        };
        stage.run();
        self.spectators.receive();
    }

    /// Stage 2: applies the tick inputs.
    fn apply(&mut self, tick_inputs: &[TickInput], observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Apply);
        let Room { game, state, pending_joins, replies, .. } = self;
        ApplyStage { game, state, pending_joins, replies }.run(tick_inputs, observer);
    }

    /// Stage 3: steps the game.
    fn simulate(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Simulate);
        simulate(&mut self.game, &mut self.state);
    }

    /// Stage 4: collects what changed and updates what each player sees.
    fn extract(&mut self, observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Extract);
        let RoomState { world, settings, players, output, .. } = &mut self.state;
        let stage = ExtractStage { game: &self.game, world, settings };
        stage.run(&mut self.extraction, players, &mut self.spectators, &mut output.counts);
    }

    /// Stage 5: builds the packets.
    fn send(&mut self, scratch: &mut TickScratch, observer: &mut impl Observer) {
        observer.stage(self.now(), TickStage::Send);
        let RoomState { world, settings, send, players, output, .. } = &mut self.state;
        let (ring_stretch, pool) = (self.overload.ring_stretch(), self.pool.as_deref());
        let stage = SendStage { world, settings, send, ring_stretch, pool };
        let viewers = (players, &mut self.spectators);
        stage.run(scratch, &mut self.sending, &mut self.extraction.changed, viewers, &mut output.counts);
    }

    /// Drops requests and journal entries. A replay takes the answers from the recording.
    pub(crate) fn drop_requests(&mut self) {
        while self.state.output.shared.requests.pop().is_some() {}
        self.state.output.entries.due.clear();
        self.state.output.requests_waiting = 0;
        self.state.output.requests_refused.clear();
    }

    /// Returns a handle that reaches the room from any thread.
    #[must_use]
    pub fn handle(&self) -> RoomHandle {
        RoomHandle::new(&self.mailbox, &self.stats)
    }

    /// Returns the current tick.
    #[must_use]
    pub fn now(&self) -> Tick {
        self.state.world.tick()
    }

    /// Returns the game.
    #[must_use]
    pub fn game(&self) -> &G {
        &self.game
    }

    /// Returns the world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.state.world
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &RoomSettings {
        &self.state.settings
    }

    /// Returns the label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.state.output.label
    }

    /// Returns the wall clock of tick 0, in milliseconds since 1970.
    #[must_use]
    pub fn started_ms(&self) -> u64 {
        self.state.started_ms
    }

    /// Returns the text of a game that failed with [`Context::fail`].
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        self.state.output.failure.as_deref()
    }

    /// Returns the number of players in the room.
    #[must_use]
    pub fn players(&self) -> usize {
        self.state.players.len()
    }

    /// Returns the schema of the game.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.stats.schema
    }

    /// Returns the counts since the room was built.
    #[must_use]
    pub fn totals(&self) -> &RoomCounts {
        &self.totals
    }

    /// Returns the bits of each component in the last snapshot, over all clients.
    #[must_use]
    pub fn component_bits(&self) -> &ComponentBits {
        self.sending.component_bits()
    }

    /// Returns a hash of the world's components, the random numbers and the state that [`Game::hash`] adds. It is the
    /// same on every platform.
    #[must_use]
    pub fn hash(&self) -> u64 {
        state_hash(&self.game, &self.state)
    }

    /// Returns a hash of the entities that a player sees. A client that has all of them computes the same hash.
    #[must_use]
    pub fn hash_seen_by(&self, player: PlayerId) -> Option<u64> {
        let room_player = self.state.players.get(player)?;
        Some(self.state.world.hash_of(room_player.view.visible().iter()))
    }

    /// Returns a checkpoint of the game's state.
    #[must_use]
    pub fn checkpoint(&self) -> Option<Vec<u8>> {
        self.game.checkpoint(&self.state.world)
    }

    /// Returns the recording up to now, if the room is recorded.
    #[must_use]
    pub fn recording(&self) -> Option<&Recording> {
        self.recorder.as_ref().map(Recorder::recording)
    }

    /// Reports the share of its tick budget that the room used recently, so that it can shed load.
    pub fn set_load(&mut self, share: f32) {
        if self.overload.update(share) {
            self.extraction.set_nearest_max(&self.state.settings, self.overload.nearest_max(&self.state.settings));
        }
    }

    /// Returns the overload ladder.
    #[must_use]
    pub fn overload(&self) -> &OverloadLadder {
        &self.overload
    }

    /// Publishes checkpoint and stats, and ends the room if it is due.
    fn finish_tick(&mut self, observer: &mut impl Observer) -> RoomStatus {
        let counts = std::mem::take(&mut self.state.output.counts);
        self.totals.add(&counts);
        let has_failed = self.state.output.failure.is_some();
        let continues = !self.state.output.lease_lost && !self.state.output.is_ending && !has_failed;
        let players_changed = counts.joins + counts.leaves > 0;
        if continues
            && self.checkpoint_timer.as_mut().is_some_and(|checkpoint_timer| checkpoint_timer.is_due(players_changed))
        {
            observer.checkpoint_started();
            self.publish_checkpoint();
            observer.checkpoint_finished();
        }
        self.publish_stats();
        self.stats.write_ticking(false);
        observer.tick_finished(self.now(), &counts);
        if self.state.output.lease_lost {
            self.close_connections(CloseReason::Moved);
        } else if has_failed {
            self.close_connections(CloseReason::RoomFailed);
        } else if self.state.output.is_ending {
            self.end(CloseReason::RoomEnded);
        }
        self.status
    }

    /// Publishes a checkpoint, unless it equals the last one.
    fn publish_checkpoint(&mut self) {
        if self.checkpoint_timer.is_none() {
            return;
        }
        let Some(state) = self.game.checkpoint(&self.state.world) else { return };
        let Some(checkpoint_timer) = &mut self.checkpoint_timer else { return };
        let output = &mut self.state.output;
        let checkpoint = RoomCheckpoint {
            tick: self.state.world.tick(),
            state: Arc::new(state),
            applied: output.entries.applied,
            last_player: self.next_player,
            label: output.label.clone(),
            players: self.state.players.len() as u32,
            entities: self.state.world.len() as u32,
        };
        if let Some(checkpoint) = checkpoint_timer.changed(checkpoint) {
            output.shared.checkpoint.force_push(checkpoint);
            output.wake_pending = true;
        }
    }

    /// Publishes the stats.
    pub(crate) fn publish_stats(&mut self) {
        self.stats.write(&RoomStats {
            tick: self.now(),
            players: self.state.players.len() as u32,
            entities: self.state.world.len() as u32,
            overload: u32::from(self.overload.rung()),
            ..RoomStats::default()
        });
        if std::mem::take(&mut self.state.output.label_changed) {
            self.stats.set_label(&self.state.output.label);
        }
    }

    /// Wakes the reader of the room's output, and adds the wakers of the connections with new output to `wakers`. The
    /// caller wakes them. This may take system calls, so it is not part of the tick.
    pub fn take_wakers(&mut self, wakers: &mut Vec<Waker>) {
        if std::mem::take(&mut self.state.output.wake_pending) {
            self.state.output.shared.wake();
        }
        let connections = self.state.players.iter().filter_map(|player| player.connection.as_ref());
        wakers.extend(connections.filter_map(RoomEndpoint::take_waker));
        self.spectators.take_wakers(wakers);
    }

    /// Wakes every connection with new output, one after the other.
    pub fn wake_connections(&mut self) {
        let mut wakers = Vec::new();
        self.take_wakers(&mut wakers);
        WakeEach.wake(&mut wakers);
    }

    /// Publishes the recent duration of a tick. The caller measures it because the room has no clock.
    pub fn publish_tick_time(&self, time: Duration) {
        self.stats.write_tick_time(time);
    }

    /// Ends the room: calls [`Game::terminate`] and closes every connection. A durable room that is unloaded publishes
    /// a checkpoint first.
    pub(crate) fn end(&mut self, reason: CloseReason) {
        if self.state.output.is_unloading || reason == CloseReason::Shutdown {
            self.publish_checkpoint();
        } else {
            self.state.output.shared.ended_for_good.store(true, Ordering::SeqCst);
        }
        self.game.terminate(&mut self.state.context());
        self.close_connections(reason);
    }

    /// Closes every connection without calling the game, which may have failed.
    pub(crate) fn close_connections(&mut self, reason: CloseReason) {
        // Players of a durable room may resume after the server has restarted.
        let may_resume = self.checkpoint_timer.is_some() && reason == CloseReason::Shutdown;
        for player in self.state.players.iter_mut() {
            if !may_resume {
                let _ = self.state.output.shared.departures.push((player.id, reason));
            }
            if let Some(connection) = &player.connection {
                connection.close(Closing { may_resume, ..closing(reason) });
            }
        }
        self.spectators.close(reason);
        self.pending_joins.clear();
        self.mailbox.close();
        self.status = RoomStatus::Ended;
    }
}

impl RoomState {
    pub fn context(&mut self) -> Context<'_> {
        Context {
            world: &mut self.world,
            random: &mut self.random,
            players: &mut self.players,
            output: &mut self.output,
            events: &self.events,
            settings: &self.settings,
            started_ms: self.started_ms,
        }
    }
}

impl TickOutput {
    pub fn new(shared: Arc<RoomOutput>, label: String, is_durable: bool) -> Self {
        TickOutput {
            shared,
            wake_pending: false,
            entries: JournalEntries::default(),
            is_durable,
            next_request: RequestId(0),
            requests_waiting: 0,
            requests_refused: Vec::new(),
            counts: RoomCounts::default(),
            label,
            label_changed: true,
            controls: Vec::new(),
            is_ending: false,
            is_unloading: false,
            lease_lost: false,
            failure: None,
            is_starting: true,
            tick_hz: None,
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
