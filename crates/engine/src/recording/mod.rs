//! Recording a room and replaying it.
//!
//! A recording holds what decides a game: its seed, and tick by tick what came from outside, each tick with the state's
//! hash. Replaying runs the same game over the same happenings and compares the hashes.
//!
//! ```text
//! recording = "AETHREC" · version 1 byte · game · seed 8 bytes · tick_hz · schema hash 8 bytes
//!           · restore (0 for none, or 1 and what follows) · tick × …
//! restore   = state (length + 1, or 0 for none) · entries in it · last player
//!           · count · player (number · who) × count · count · entry (number · bytes) × count
//! tick      = count · happening × count · state hash 8 bytes
//! happening = tag 1 byte · its fields in order
//! ```
//!
//! Numbers are little-endian base-128 varints unless their size is said; texts and bytes begin with their length.

mod bytes;
mod happening;
mod replay;
mod restore;

pub use happening::TickInput;
pub use replay::{Replay, ReplayError};

use crate::durable::RestoreData;
use aether_wire::Tick;
use bytes::{Reader, Writer};
use std::fmt;

const MAGIC: &[u8; 7] = b"AETHREC";
const VERSION: u8 = 2;
/// The most happenings of one tick that a recording may hold: more than a full room can cause.
const HAPPENINGS_MAX: u64 = 1 << 20;

/// A recording is kept in memory and ends here, so that a room that runs for weeks does not take it all. Eight pilots
/// fill about 2.5 kB a second.
pub const RECORDING_BYTES_MAX: usize = 256 << 20;

/// What happened in a room, from its first tick on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The game, so that the right one is replayed.
    pub game: String,
    /// The seed of the room's random numbers.
    pub seed: u64,
    /// The room's tick rate.
    pub tick_hz: u32,
    /// The hash of the schema: a game that replicates something else cannot be compared.
    pub schema_hash: u64,
    /// What the room started from, if not afresh.
    pub restore: Option<RestoreData>,
    body: Vec<u8>,
    ticks: u32,
}

/// Why bytes are not a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingError {
    /// It does not begin as one.
    NotARecording,
    /// It is of a version that this program does not know.
    Version(u8),
    /// It ends too early, or a value cannot be.
    Damaged,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingError::NotARecording => f.write_str("this is not a recording of a room"),
            RecordingError::Version(version) => {
                write!(f, "the recording has format {version}; this program reads format {VERSION}")
            }
            RecordingError::Damaged => f.write_str("the recording is damaged or cut off"),
        }
    }
}

impl std::error::Error for RecordingError {}

impl Recording {
    /// How many ticks it holds.
    #[must_use]
    pub fn ticks(&self) -> u32 {
        self.ticks
    }

    /// The recording as bytes.
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

    /// Reads a recording, and checks that all of it can be read.
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

/// The ticks of a recording, one after the other.
pub(crate) struct Ticks<'a> {
    reader: Reader<'a>,
    tick: Tick,
}

impl Ticks<'_> {
    /// Fills `happenings` with those of the next tick, and gives its number and hash; nothing at the end.
    pub fn next(&mut self, happenings: &mut Vec<TickInput>) -> Result<Option<(Tick, u64)>, RecordingError> {
        happenings.clear();
        if self.reader.rest().is_empty() {
            return Ok(None);
        }
        for _ in 0..self.reader.number_up_to(HAPPENINGS_MAX)? {
            happenings.push(TickInput::read(&mut self.reader)?);
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

    pub fn tick(&mut self, tick: Tick, agenda: &[TickInput], hash: u64) {
        if self.recording.body.len() >= RECORDING_BYTES_MAX {
            return;
        }
        let mut writer = Writer::append_to(std::mem::take(&mut self.recording.body));
        writer.number(agenda.len() as u64);
        for happening in agenda {
            happening.write(&mut writer);
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
