//! [`Replay`]: runs a recorded room again.

use super::{Recording, RecordingError, RecordingStart, TickInput, Ticks};
use crate::builder::BuildError;
use crate::game::Game;
use crate::observer::NoObserver;
use crate::room::Room;
use crate::settings::RoomSettings;
use aether_wire::Tick;
use std::fmt;

/// A room that runs over a recording.
pub struct Replay<'a, G: Game> {
    room: Room<G>,
    ticks: Ticks<'a>,
    /// Tick inputs of the current tick, in order.
    tick_inputs: Vec<TickInput>,
}

/// Error of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError {
    /// The recording cannot be read.
    Recording(RecordingError),
    /// The room cannot be built.
    Room(BuildError),
    /// The recorded game has another schema.
    OtherSchema,
    /// The state differs from the recorded one.
    Diverged {
        /// First tick with a difference.
        tick: Tick,
        /// Recorded hash.
        recorded: u64,
        /// Hash of the replay.
        found: u64,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReplayError::Recording(error) => error.fmt(f),
            ReplayError::Room(error) => error.fmt(f),
            ReplayError::OtherSchema => {
                f.write_str("the recording was made by a version of the game with another schema")
            }
            ReplayError::Diverged { tick, recorded, found } => write!(
                f,
                "the replay diverged at tick {tick}: recorded {recorded:016x}, found {found:016x}; \
                 look for state that depends on anything but inputs and the room's random numbers"
            ),
        }
    }
}

impl std::error::Error for ReplayError {}

impl<'a, G: Game> Replay<'a, G> {
    /// Returns a replay before its first tick. Game and settings must be those of the recorded room.
    pub fn new(game: G, mut settings: RoomSettings, recording: &'a Recording) -> Result<Self, ReplayError> {
        settings.tick_hz = recording.tick_hz;
        settings.snapshot_hz = recording.tick_hz;
        let mut builder = Room::builder(game, settings).seed(recording.seed).started_ms(recording.started_ms);
        match &recording.start {
            RecordingStart::New => {}
            RecordingStart::Restored(restore) => builder = builder.restore(restore.clone()),
            RecordingStart::Captured(capture) => builder = builder.captured((**capture).clone()),
        }
        let room = builder.build().map_err(ReplayError::Room)?;
        if room.schema().hash() != recording.schema_hash {
            return Err(ReplayError::OtherSchema);
        }
        Ok(Replay { room, ticks: recording.read(), tick_inputs: Vec::new() })
    }

    /// Runs the next tick and compares its hash. Returns none at the end of the recording.
    pub fn step(&mut self) -> Result<Option<(Tick, u64)>, ReplayError> {
        let next = self.ticks.next(&mut self.tick_inputs).map_err(ReplayError::Recording)?;
        let Some((tick, recorded)) = next else { return Ok(None) };
        self.room.step(&self.tick_inputs, &mut NoObserver);
        self.room.drop_requests();
        let found = self.room.hash();
        if found != recorded {
            return Err(ReplayError::Diverged { tick, recorded, found });
        }
        Ok(Some((tick, found)))
    }

    /// Runs up to and including `last`, or to the end of the recording. Returns the last tick and its hash.
    pub fn run_to(&mut self, last: Tick) -> Result<Option<(Tick, u64)>, ReplayError> {
        let mut reached = None;
        while self.room.now() < last {
            match self.step()? {
                Some(step) => reached = Some(step),
                None => break,
            }
        }
        Ok(reached)
    }

    /// Returns the room in its current state.
    #[must_use]
    pub fn room(&self) -> &Room<G> {
        &self.room
    }
}
