//! Recordings of rooms, and replays.
//!
//! A recording has everything that decides a game: its seed, and for each tick the tick inputs and the hash of the
//! state. A replay runs the same game over the same tick inputs and compares the hashes.
//!
//! ```text
//! recording = "AETHREC" · version 1 byte · game · seed 8 bytes · tick_hz · schema hash 8 bytes
//!           · restore (0 for none, or 1 and its fields) · tick × …
//! restore   = state (length + 1, or 0 for none) · entries in it · last player
//!           · count · player (number · who) × count · count · entry (number · bytes) × count
//! tick      = count · tick input × count · state hash 8 bytes
//! tick input = tag 1 byte · its fields in order
//! ```
//!
//! Numbers are little-endian base-128 varints unless a size is given. Texts and bytes begin with their length.

mod bytes;
mod replay;
mod restore;
mod tick_input;

pub use replay::{Replay, ReplayError};
pub use tick_input::TickInput;

use crate::durable::RestoreData;
use aether_wire::Tick;
use bytes::{Reader, Writer};
use std::fmt;

const MAGIC: &[u8; 7] = b"AETHREC";
const VERSION: u8 = 2;
/// Maximum number of tick inputs of one tick in a recording: more than a full room can cause.
const TICK_INPUTS_MAX: u64 = 1 << 20;

/// Size at which a recording stops. It is in memory, and a room may run for weeks. Eight players take about 2.5 kB per
/// second.
pub const RECORDING_BYTES_MAX: usize = 256 << 20;

/// Recording of a room from its first tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// Name of the game.
    pub game: String,
    /// Seed of the room's random numbers.
    pub seed: u64,
    /// Tick rate of the room.
    pub tick_hz: u32,
    /// Hash of the schema. A game with another schema cannot be compared.
    pub schema_hash: u64,
    /// Data that the room was rebuilt from, if it was.
    pub restore: Option<RestoreData>,
    body: Vec<u8>,
    ticks: u32,
}

/// Error of [`Recording::from_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingError {
    /// The bytes do not begin like a recording.
    NotARecording,
    /// The format version is not supported.
    Version(u8),
    /// The recording ends too early or has an invalid value.
    Damaged,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingError::NotARecording => f.write_str("the file is not a recording of a room"),
            RecordingError::Version(version) => {
                write!(f, "the recording has format {version}; this program reads format {VERSION}")
            }
            RecordingError::Damaged => f.write_str("the recording is damaged or truncated"),
        }
    }
}

impl std::error::Error for RecordingError {}

impl Recording {
    /// Returns the number of recorded ticks.
    #[must_use]
    pub fn ticks(&self) -> u32 {
        self.ticks
    }

    /// Encodes the recording.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.raw(MAGIC);
        writer.raw(&[VERSION]);
        writer.text(&self.game);
        writer.fixed(self.seed);
        writer.number(u64::from(self.tick_hz));
        writer.fixed(self.schema_hash);
        restore::write(self.restore.as_ref(), &mut writer);
        writer.raw(&self.body);
        writer.finish()
    }

    /// Decodes a recording and checks that all of its ticks can be read.
    pub fn from_bytes(bytes: &[u8]) -> Result<Recording, RecordingError> {
        let mut reader = Reader::new(bytes);
        if reader.raw(MAGIC.len()).ok() != Some(MAGIC) {
            return Err(RecordingError::NotARecording);
        }
        match reader.byte()? {
            VERSION => {}
            version => return Err(RecordingError::Version(version)),
        }
        let game = reader.text()?;
        let seed = reader.fixed()?;
        let tick_hz = reader.number_up_to(128)? as u32;
        let schema_hash = reader.fixed()?;
        let restore = restore::read(&mut reader)?;
        let body = reader.rest().to_vec();
        let mut recording = Recording { game, seed, tick_hz, schema_hash, restore, body, ticks: 0 };
        let mut ticks = recording.read();
        while ticks.next(&mut Vec::new())?.is_some() {}
        recording.ticks = ticks.tick.0;
        Ok(recording)
    }

    pub(crate) fn read(&self) -> Ticks<'_> {
        Ticks { reader: Reader::new(&self.body), tick: Tick::ZERO }
    }
}

/// Reads the ticks of a recording in order.
pub(crate) struct Ticks<'a> {
    reader: Reader<'a>,
    tick: Tick,
}

impl Ticks<'_> {
    /// Fills `tick_inputs` with those of the next tick. Returns its number and hash, or none at the end.
    pub fn next(&mut self, tick_inputs: &mut Vec<TickInput>) -> Result<Option<(Tick, u64)>, RecordingError> {
        tick_inputs.clear();
        if self.reader.rest().is_empty() {
            return Ok(None);
        }
        for _ in 0..self.reader.number_up_to(TICK_INPUTS_MAX)? {
            tick_inputs.push(TickInput::read(&mut self.reader)?);
        }
        self.tick = self.tick.next();
        Ok(Some((self.tick, self.reader.fixed()?)))
    }
}

/// Writes a recording while a room runs.
#[derive(Debug)]
pub(crate) struct Recorder {
    recording: Recording,
}

impl Recorder {
    pub fn new(game: String, seed: u64, tick_hz: u32, schema_hash: u64, restore: Option<RestoreData>) -> Self {
        Recorder { recording: Recording { game, seed, tick_hz, schema_hash, restore, body: Vec::new(), ticks: 0 } }
    }

    pub fn tick(&mut self, tick: Tick, tick_inputs: &[TickInput], hash: u64) {
        if self.recording.body.len() >= RECORDING_BYTES_MAX {
            return;
        }
        let mut writer = Writer::append_to(std::mem::take(&mut self.recording.body));
        writer.number(tick_inputs.len() as u64);
        for tick_input in tick_inputs {
            tick_input.write(&mut writer);
        }
        writer.fixed(hash);
        self.recording.body = writer.finish();
        self.recording.ticks = tick.0;
    }

    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    pub fn finish(self) -> Recording {
        self.recording
    }
}
