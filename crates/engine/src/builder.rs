//! How a room comes to be.

use crate::bounded::BoundedQueue;
use crate::declaration::Declaration;
use crate::figures::Board;
use crate::game::{Game, Refusal};
use crate::handle::Mailbox;
use crate::observer::Counts;
use crate::overload::Overload;
use crate::random::Random;
use crate::recording::Recorder;
use crate::request::REQUESTS_MAX;
use crate::room::{Desk, RecordingSink, Room, RoomStatus, State};
use crate::seat::Seats;
use crate::settings::{RoomSettings, SettingsError};
use crate::stages::{Extraction, Sending};
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
    checkpoint: Option<Vec<u8>>,
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
            checkpoint: None,
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
            mailbox: Arc::new(Mailbox::new(Arc::clone(&requests))),
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
