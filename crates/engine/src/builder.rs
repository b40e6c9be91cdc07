//! How a room comes to be.

use crate::durable::{CheckpointTimer, RestoreData, RoomOutput};
use crate::figures::SharedStats;
use crate::game::{Game, Rejection};
use crate::handle::Mailbox;
use crate::observer::RoomCounts;
use crate::overload::OverloadLadder;
use crate::recording::Recorder;
use crate::room::{RecordingSink, Room, RoomState, RoomStatus, TickOutput};
use crate::seat::{RoomPlayer, RoomPlayers};
use crate::settings::{RoomSettings, SettingsError};
use crate::stages::{Extraction, Sending};
use aether_bits::Random;
use aether_wire::PlayerId;
use rayon::ThreadPool;
use std::collections::VecDeque;
use std::sync::Arc;

/// Builds a room.
pub struct RoomBuilder<G> {
    game: G,
    settings: RoomSettings,
    seed: u64,
    pool: Option<Arc<ThreadPool>>,
    restore: Option<RestoreData>,
    keep_ticks: Option<u32>,
    record_as: Option<String>,
    recording_sink: Option<RecordingSink>,
    label: String,
}

impl<G: Game> RoomBuilder<G> {
    pub(crate) fn new(game: G, settings: RoomSettings) -> Self {
        RoomBuilder {
            game,
            settings,
            seed: 0,
            pool: None,
            restore: None,
            keep_ticks: None,
            record_as: None,
            recording_sink: None,
            label: String::new(),
        }
    }

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
    pub fn checkpoint(self, checkpoint: Vec<u8>) -> Self {
        self.restore(RestoreData { state: Some(checkpoint), ..RestoreData::default() })
    }

    /// Rebuilds a durable room: its game's state, those who were in it, and what was committed since.
    #[must_use]
    pub fn restore(mut self, restore: RestoreData) -> Self {
        self.restore = Some(restore);
        self
    }

    /// Makes the room durable: it hands its state out every so many ticks, and what the game commits is stored by whoever
    /// takes it from the [`crate::RoomHandle`].
    #[must_use]
    pub fn checkpoint_every(mut self, ticks: u32) -> Self {
        self.keep_ticks = Some(ticks);
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
        let declaration = self.game.schema_builder();
        let (world, events, schema) =
            declaration.build(|world| world.entities_max(entities_max).rewind_ticks(rewind_ticks));
        let input_bits = schema.inputs.iter().map(|input| input.kind.bits_max()).max().unwrap_or(0);
        if input_bits as usize > 8 * aether_wire::limits::INPUT_BYTES_MAX {
            return Err(BuildError::InputTooLarge);
        }
        let recorder = self
            .record_as
            .map(|game| Recorder::new(game, self.seed, self.settings.tick_hz, schema.hash(), self.restore.clone()));
        let outlet = Arc::new(RoomOutput::new());
        let mut room = Room {
            game: self.game,
            mailbox: Arc::new(Mailbox::new(Arc::clone(&outlet))),
            agenda: Vec::new(),
            arrivals: VecDeque::new(),
            replies: VecDeque::new(),
            next_player: PlayerId(0),
            extraction: Extraction::new(&self.settings),
            sending: Sending::new(),
            overload: OverloadLadder::default(),
            pool: self.pool,
            recorder,
            recording_sink: self.recording_sink,
            keeping: self.keep_ticks.map(CheckpointTimer::new),
            board: Arc::new(SharedStats::new(self.settings.clone(), schema)),
            totals: RoomCounts::default(),
            status: RoomStatus::Running,
            state: RoomState {
                world,
                random: Random::new(self.seed),
                seats: RoomPlayers::default(),
                desk: TickOutput::new(outlet, self.label, self.keep_ticks.is_some()),
                events,
                send: self.settings.send_settings(),
                settings: self.settings,
            },
        };
        room.begin(self.restore)?;
        if room.keeping.is_some() && room.checkpoint().is_none() {
            return Err(BuildError::NoCheckpoint);
        }
        room.show();
        Ok(room)
    }
}

impl<G: Game> Room<G> {
    /// Begins afresh, or from what was kept: the state, then those who were in, then what was committed since.
    fn begin(&mut self, restore: Option<RestoreData>) -> Result<(), BuildError> {
        let RestoreData { state, applied, last_player, players, journal } = restore.unwrap_or_default();
        match state {
            Some(state) => {
                self.game.restore(&mut self.state.context(), &state).map_err(BuildError::Checkpoint)?;
            }
            None => self.game.init(&mut self.state.context()),
        }
        self.next_player = last_player;
        for (player, joiner) in players {
            // Numbers only grow; what says otherwise is damaged.
            let is_next = self.state.seats.iter().last().is_none_or(|last| last.id < player);
            if !is_next || self.state.seats.len() >= self.state.settings.players_max {
                continue;
            }
            self.next_player = self.next_player.max(player);
            self.state
                .seats
                .push(RoomPlayer { detached_at: Some(self.now()), ..RoomPlayer::new(player, joiner, None) });
            self.game.rejoin(&mut self.state.context(), player);
        }
        let entries = &mut self.state.desk.entries;
        (entries.applied, entries.last) = (applied, applied);
        for (number, entry) in journal {
            let entries = &mut self.state.desk.entries;
            if number > entries.applied {
                (entries.applied, entries.last) = (number, number);
                self.game.committed(&mut self.state.context(), &entry);
            }
        }
        Ok(())
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
    Checkpoint(Rejection),
    /// The room is to be durable, and its game keeps no checkpoints.
    NoCheckpoint,
}

impl std::fmt::Display for BuildError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BuildError::Settings(error) => write!(f, "a room setting is wrong: {error}"),
            BuildError::InputTooLarge => {
                f.write_str("the game's input can take more than 32 bytes: use fewer or coarser fields")
            }
            BuildError::NoCheckpoint => f.write_str(
                "the room is to be durable, but its game keeps no checkpoints: implement them, or take out `durable`",
            ),
            BuildError::Checkpoint(refusal) => write!(f, "the checkpoint was not accepted: {}", refusal.message),
        }
    }
}

impl std::error::Error for BuildError {}
