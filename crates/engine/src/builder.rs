//! [`RoomBuilder`].

use crate::durable::{CheckpointTimer, RestoreData, RoomOutput};
use crate::encode_pool::EncodePool;
use crate::game::{Game, Rejection};
use crate::handle::Mailbox;
use crate::observer::RoomCounts;
use crate::overload::OverloadLadder;
use crate::players::{RoomPlayer, RoomPlayers};
use crate::recording::{Recorder, RecordingChannel, RecordingHeader, RecordingStart, RecordingStream, RoomCapture};
use crate::room::{RecordingSink, Room, RoomState, RoomStatus, TickOutput};
use crate::schema::BuiltSchema;
use crate::settings::{RoomSettings, SettingsError};
use crate::spectators::Spectators;
use crate::stages::{Extraction, Sending};
use crate::stats::SharedStats;
use aether_bits::Random;
use aether_wire::PlayerId;
use std::collections::VecDeque;
use std::sync::Arc;

/// Builds a [`Room`]. Returned by [`Room::builder`].
pub struct RoomBuilder<G> {
    game: G,
    settings: RoomSettings,
    seed: u64,
    started_ms: u64,
    pool: Option<EncodePool>,
    restore: Option<RestoreData>,
    captured: Option<RoomCapture>,
    checkpoint_ticks: Option<u32>,
    record_as: Option<String>,
    recording_sink: Option<RecordingSink>,
    stream: Option<(String, Arc<RecordingChannel>)>,
    label: String,
}

impl<G: Game> RoomBuilder<G> {
    pub(crate) fn new(game: G, settings: RoomSettings) -> Self {
        RoomBuilder {
            game,
            settings,
            seed: 0,
            started_ms: 0,
            pool: None,
            restore: None,
            captured: None,
            checkpoint_ticks: None,
            record_as: None,
            recording_sink: None,
            stream: None,
            label: String::new(),
        }
    }

    /// Sets the seed of the room's random numbers. Default 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the wall clock of tick 0, in milliseconds since 1970. Default 0. The clock of the room counts from it.
    #[must_use]
    pub fn started_ms(mut self, started_ms: u64) -> Self {
        self.started_ms = started_ms;
        self
    }

    /// Sets the threads that share the encoding of a large room.
    #[must_use]
    pub fn pool(mut self, pool: EncodePool) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Starts from a checkpoint of [`Game::checkpoint`] instead of [`Game::init`].
    #[must_use]
    pub fn checkpoint(self, checkpoint: Vec<u8>) -> Self {
        self.restore(RestoreData { state: Some(checkpoint), ..RestoreData::default() })
    }

    /// Rebuilds a durable room from its checkpoint, players and journal.
    #[must_use]
    pub fn restore(mut self, restore: RestoreData) -> Self {
        self.restore = Some(restore);
        self
    }

    /// Starts from the exact state of another room.
    #[must_use]
    pub(crate) fn captured(mut self, capture: RoomCapture) -> Self {
        self.captured = Some(capture);
        self
    }

    /// Makes the room durable with a checkpoint every `ticks` ticks. The caller takes checkpoints and journal entries
    /// from the [`crate::RoomHandle`] and stores them.
    #[must_use]
    pub fn checkpoint_every(mut self, ticks: u32) -> Self {
        self.checkpoint_ticks = Some(ticks);
        self
    }

    /// Records everything that happens in the room, under the game's name, and passes it on in chunks.
    #[must_use]
    pub fn stream_recording(mut self, game_name: impl Into<String>, channel: Arc<RecordingChannel>) -> Self {
        self.stream = Some((game_name.into(), channel));
        self
    }

    /// Records everything that happens in the room in memory, under the game's name.
    #[must_use]
    pub fn record(mut self, game_name: impl Into<String>) -> Self {
        self.record_as = Some(game_name.into());
        self
    }

    /// Sets a callback that receives the recording when the room is dropped.
    #[must_use]
    pub fn recording_sink(mut self, sink: RecordingSink) -> Self {
        self.recording_sink = Some(sink);
        self
    }

    /// Sets the initial label. The game may change it.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Builds the room. The first tick is not run yet.
    pub fn build(mut self) -> Result<Room<G>, BuildError> {
        self.settings.validate().map_err(BuildError::Settings)?;
        self.settings.movement.bounds = self.settings.bounds;
        let RoomSettings { entities_max, rewind_ticks, bounds, .. } = self.settings;
        let schema_builder = self.game.schema_builder();
        let BuiltSchema { world, events, schema } =
            schema_builder.build(|world| world.entities_max(entities_max).rewind_ticks(rewind_ticks).bounds(bounds));
        let input_bits = schema.inputs.iter().map(|input| input.kind.bits_max()).max().unwrap_or(0);
        if input_bits as usize > 8 * aether_wire::limits::INPUT_BYTES_MAX {
            return Err(BuildError::InputTooLarge);
        }
        let room_output = Arc::new(RoomOutput::new());
        let mut room = Room {
            game: self.game,
            mailbox: Arc::new(Mailbox::new(Arc::clone(&room_output))),
            pending_joins: VecDeque::new(),
            replies: VecDeque::new(),
            next_player: PlayerId(0),
            spectators: Spectators::new(&self.settings),
            extraction: Extraction::new(&self.settings),
            sending: Sending::new(),
            overload: OverloadLadder::default(),
            pool: self.pool,
            recorder: None,
            stream: None,
            has_stepped: false,
            recording_sink: self.recording_sink,
            checkpoint_timer: self.checkpoint_ticks.map(CheckpointTimer::new),
            stats: Arc::new(SharedStats::new(self.settings.clone(), schema)),
            totals: RoomCounts::default(),
            status: RoomStatus::Running,
            state: RoomState {
                world,
                random: Random::new(self.seed),
                players: RoomPlayers::default(),
                output: TickOutput::new(room_output, self.label, self.checkpoint_ticks.is_some()),
                events,
                send: self.settings.send_settings(),
                settings: self.settings,
                started_ms: self.started_ms,
            },
        };
        let start = self.restore.clone().map_or(RecordingStart::New, RecordingStart::Restored);
        match &self.captured {
            Some(capture) => room.start_captured(capture)?,
            None => room.start(self.restore)?,
        }
        room.finish_start()?;
        let header = |game| RecordingHeader {
            game,
            seed: self.seed,
            tick_hz: room.state.settings.tick_hz,
            schema_hash: room.stats.schema.hash(),
            started_ms: self.started_ms,
            setup: room.game.setup(),
            start: start.clone(),
        };
        let recorder = self.record_as.map(|game| Recorder::new(header(game)));
        let stream = self.stream.map(|(game, channel)| {
            let header = header(game);
            RecordingStream::new(channel, &header, header.start.tick())
        });
        (room.recorder, room.stream) = (recorder, stream);
        if room.checkpoint_timer.is_some() && room.checkpoint().is_none() {
            return Err(BuildError::NoCheckpoint);
        }
        room.publish_stats();
        Ok(room)
    }
}

impl<G: Game> Room<G> {
    /// Starts the game anew, or from a checkpoint: restores the state, then the players, then the journal.
    fn start(&mut self, restore: Option<RestoreData>) -> Result<(), BuildError> {
        let RestoreData { tick, state, applied, last_player, players, journal } = restore.unwrap_or_default();
        self.state.world.start_at(tick);
        match state {
            Some(state) => {
                self.game.restore(&mut self.state.context(), &state).map_err(BuildError::Checkpoint)?;
            }
            None => self.game.init(&mut self.state.context()),
        }
        self.next_player = last_player;
        for (player, request) in players {
            // Player ids only grow. Skip entries of damaged data.
            let is_next = self.state.players.iter().last().is_none_or(|last| last.id < player);
            if !is_next || self.state.players.len() >= self.state.settings.players_max {
                continue;
            }
            self.next_player = self.next_player.max(player);
            self.state
                .players
                .push(RoomPlayer { detached_at: Some(self.now()), ..RoomPlayer::new(player, request, None) });
            self.game.rejoin(&mut self.state.context(), player);
        }
        let entries = &mut self.state.output.entries;
        (entries.applied, entries.last) = (applied, applied);
        for (number, entry) in journal {
            let entries = &mut self.state.output.entries;
            if number > entries.applied {
                (entries.applied, entries.last) = (number, number);
                self.game.committed(&mut self.state.context(), &entry);
            }
        }
        Ok(())
    }
}

impl<G: Game> Room<G> {
    /// Takes over the tick rate that the game set, and its failure.
    fn finish_start(&mut self) -> Result<(), BuildError> {
        let output = &mut self.state.output;
        output.is_starting = false;
        if let Some(text) = output.failure.take() {
            return Err(BuildError::Game(text));
        }
        let former = self.state.settings.tick_hz;
        let Some(tick_hz) = output.tick_hz.take().filter(|tick_hz| *tick_hz != former) else { return Ok(()) };
        let settings = self.state.settings.with_tick_hz(tick_hz);
        // The world was built before.
        let settings = RoomSettings { rewind_ticks: self.state.settings.rewind_ticks, ..settings };
        self.state.send = settings.send_settings();
        self.stats = Arc::new(SharedStats::new(settings.clone(), (*self.stats.schema).clone()));
        self.state.settings = settings;
        if let Some(timer) = &mut self.checkpoint_timer {
            timer.set_tick_hz(former, tick_hz);
        }
        Ok(())
    }
}

/// Error of [`RoomBuilder::build`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// A setting is invalid.
    Settings(SettingsError),
    /// An encoded input of the game can exceed [`aether_wire::limits::INPUT_BYTES_MAX`].
    InputTooLarge,
    /// The game rejected the checkpoint.
    Checkpoint(Rejection),
    /// The room is durable, but its game has no checkpoints.
    NoCheckpoint,
    /// The game could not be made, or failed before its first tick, with this text.
    Game(String),
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::Settings(error) => write!(f, "invalid room setting: {error}"),
            BuildError::InputTooLarge => {
                f.write_str("an input of the game can take more than 32 bytes: use fewer or coarser fields")
            }
            BuildError::NoCheckpoint => f.write_str(
                "the room is durable, but its game has no checkpoints: implement `checkpoint`, or remove `durable`",
            ),
            BuildError::Game(text) => f.write_str(text),
            BuildError::Checkpoint(rejection) => write!(f, "the game rejected the checkpoint: {}", rejection.message),
        }
    }
}

impl std::error::Error for BuildError {}
