//! Recordings of rooms, and replays.
//!
//! A recording has everything that decides a game: its seed, and for each tick the tick inputs and the hash of the
//! state. A replay runs the same game over the same tick inputs and compares the hashes.
//!
//! ```text
//! recording = "AETHREC" · version 1 byte · game · seed 8 bytes · tick_hz · schema hash 8 bytes
//!           · start time in ms · setup · start · tick × … · end
//! start     = 0 for a new room, 1 and `restore`, or 2 and `capture`
//! restore   = last tick · state (length + 1, or 0 for none) · entries in it · last player
//!           · count · player (number · who) × count · count · entry (number · bytes) × count
//! capture   = the fields of `RoomCapture` in order
//! tick      = count · tick input × count · state hash 8 bytes
//! tick input = tag 1 byte · its fields in order
//! end       = 0 · 0 8 bytes · reason 1 byte
//! ```
//!
//! Numbers are little-endian base-128 varints unless a size is given. Texts and bytes begin with their length.
//!
//! A file without an end was cut off: its process was killed. It ends with its last complete tick.

mod bytes;
mod capture;
mod replay;
mod restore;
mod stream;
mod tick_input;

pub use capture::RoomCapture;
pub use replay::{Replay, ReplayError};
pub(crate) use stream::RecordingStream;
pub use stream::{RECORDING_CHUNKS_MAX, RecordingChannel, RecordingEnd};
pub use tick_input::TickInput;

use crate::durable::RestoreData;
use aether_wire::Tick;
use bytes::{Reader, Writer};
use std::fmt;

const MAGIC: &[u8; 7] = b"AETHREC";
const VERSION: u8 = 4;
/// Maximum number of tick inputs of one tick in a recording: more than a full room can cause.
const TICK_INPUTS_MAX: u64 = 1 << 20;

/// Size at which a recording in memory stops: a room may run for weeks. Eight players take about 2.5 kB per second.
pub const RECORDING_BYTES_MAX: usize = 256 << 20;

/// Recording of a room.
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
    /// Wall clock of tick 0, in milliseconds since 1970.
    pub started_ms: u64,
    /// Bytes from which the maker of a run-time game builds it again, from [`Game::setup`](crate::Game::setup).
    pub setup: Vec<u8>,
    /// State before the first recorded tick.
    pub start: RecordingStart,
    body: Vec<u8>,
    ticks: u32,
    end: Option<RecordingEnd>,
}

/// State of a room before the first recorded tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordingStart {
    /// The room was new.
    New,
    /// The room was rebuilt.
    Restored(RestoreData),
    /// The room was running.
    Captured(Box<RoomCapture>),
}

impl RecordingStart {
    /// Returns the last tick before the recording.
    #[must_use]
    pub fn tick(&self) -> Tick {
        match self {
            RecordingStart::New => Tick::ZERO,
            RecordingStart::Restored(restore) => restore.tick,
            RecordingStart::Captured(capture) => capture.tick,
        }
    }
}

/// First part of a recording.
pub(crate) struct RecordingHeader {
    pub game: String,
    pub seed: u64,
    pub tick_hz: u32,
    pub schema_hash: u64,
    pub started_ms: u64,
    pub setup: Vec<u8>,
    pub start: RecordingStart,
}

impl RecordingHeader {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let RecordingHeader { game, seed, tick_hz, schema_hash, started_ms, setup, start } = self;
        let fixed = FixedFields { seed: *seed, tick_hz: *tick_hz, schema_hash: *schema_hash, started_ms: *started_ms };
        write_header(game, &fixed, setup, start, &mut writer);
        writer.finish()
    }
}

/// Numbers of a header.
struct FixedFields {
    seed: u64,
    tick_hz: u32,
    schema_hash: u64,
    started_ms: u64,
}

fn write_header(game: &str, fixed: &FixedFields, setup: &[u8], start: &RecordingStart, writer: &mut Writer) {
    writer.raw(MAGIC);
    writer.raw(&[VERSION]);
    writer.text(game);
    writer.fixed(fixed.seed);
    writer.number(u64::from(fixed.tick_hz));
    writer.fixed(fixed.schema_hash);
    writer.number(fixed.started_ms);
    writer.bytes(setup);
    match start {
        RecordingStart::New => writer.number(0),
        RecordingStart::Restored(restore) => {
            writer.number(1);
            restore::write(restore, writer);
        }
        RecordingStart::Captured(capture) => {
            writer.number(2);
            capture.write(writer);
        }
    }
}

/// Appends a tick to a recording.
fn write_tick(bytes: Vec<u8>, tick_inputs: &[TickInput], hash: u64) -> Vec<u8> {
    let mut writer = Writer::append_to(bytes);
    writer.number(tick_inputs.len() as u64);
    for tick_input in tick_inputs {
        tick_input.write(&mut writer);
    }
    writer.fixed(hash);
    writer.finish()
}

/// Returns the last bytes of a recording: a tick whose hash is zero, and the reason.
fn write_end(end: RecordingEnd) -> Vec<u8> {
    let mut bytes = write_tick(Vec::new(), &[], 0);
    bytes.push(end.number());
    bytes
}

/// Error of [`Recording::from_bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingError {
    /// The bytes do not begin like a recording.
    NotARecording,
    /// The format version is not supported.
    Version(u8),
    /// The recording ends before its first tick.
    Truncated,
    /// The recording has an invalid value.
    Damaged,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordingError::NotARecording => f.write_str("the file is not a recording of a room"),
            RecordingError::Version(version) => {
                write!(f, "the recording has format {version}; this program reads format {VERSION}")
            }
            RecordingError::Truncated => f.write_str("the recording ends before its first tick"),
            RecordingError::Damaged => f.write_str("the recording is damaged"),
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

    /// Returns the last recorded tick.
    #[must_use]
    pub fn last_tick(&self) -> Tick {
        Tick(self.start.tick().0.saturating_add(self.ticks))
    }

    /// Returns the reason for which the recording ended; none if it was cut off.
    #[must_use]
    pub fn end(&self) -> Option<RecordingEnd> {
        self.end
    }

    /// Encodes the recording.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let Recording { seed, tick_hz, schema_hash, started_ms, .. } = *self;
        let fixed = FixedFields { seed, tick_hz, schema_hash, started_ms };
        write_header(&self.game, &fixed, &self.setup, &self.start, &mut writer);
        writer.raw(&self.body);
        if let Some(end) = self.end {
            writer.raw(&write_end(end));
        }
        writer.finish()
    }

    /// Decodes a recording and checks that its ticks can be read. An incomplete tick at its end is left out.
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
        let (started_ms, setup) = (reader.number()?, reader.bytes()?);
        let start = match reader.number_up_to(2)? {
            0 => RecordingStart::New,
            1 => RecordingStart::Restored(restore::read(&mut reader)?),
            _ => RecordingStart::Captured(Box::new(RoomCapture::read(&mut reader)?)),
        };
        let (mut complete, mut ticks, mut end) = (reader.rest(), 0, None);
        let body = complete;
        let mut rest = Ticks { reader, tick: start.tick() };
        let mut tick_inputs = Vec::new();
        loop {
            match rest.next(&mut tick_inputs) {
                Ok(Some(_)) => (complete, ticks) = (rest.reader.rest(), ticks + 1),
                Ok(None) => {
                    end = rest.reader.byte().ok().and_then(RecordingEnd::from_number);
                    break;
                }
                Err(RecordingError::Truncated) => break,
                Err(error) => return Err(error),
            }
        }
        let body = body[..body.len() - complete.len()].to_vec();
        Ok(Recording { game, seed, tick_hz, schema_hash, started_ms, setup, start, body, ticks, end })
    }

    pub(crate) fn read(&self) -> Ticks<'_> {
        Ticks { reader: Reader::new(&self.body), tick: self.start.tick() }
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
        let hash = self.reader.fixed()?;
        if tick_inputs.is_empty() && hash == 0 {
            return Ok(None);
        }
        self.tick = Tick(self.tick.0.checked_add(1).ok_or(RecordingError::Damaged)?);
        Ok(Some((self.tick, hash)))
    }
}

/// Holds the recording of a running room in memory.
#[derive(Debug)]
pub(crate) struct Recorder {
    recording: Recording,
}

impl Recorder {
    pub fn new(header: RecordingHeader) -> Self {
        let RecordingHeader { game, seed, tick_hz, schema_hash, started_ms, setup, start } = header;
        let (body, ticks, end) = (Vec::new(), 0, None);
        let recording = Recording { game, seed, tick_hz, schema_hash, started_ms, setup, start, body, ticks, end };
        Recorder { recording }
    }

    pub fn tick(&mut self, tick_inputs: &[TickInput], hash: u64) {
        if self.recording.body.len() >= RECORDING_BYTES_MAX {
            return;
        }
        self.recording.body = write_tick(std::mem::take(&mut self.recording.body), tick_inputs, hash);
        self.recording.ticks += 1;
    }

    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    pub fn finish(self) -> Recording {
        self.recording
    }
}
