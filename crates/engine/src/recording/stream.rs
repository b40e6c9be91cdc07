//! [`RecordingStream`]: passes the recording of a running room on in chunks.
//!
//! The room never waits for the receiver: a receiver that does not keep up loses the rest of the recording, which then
//! ends with the last chunk that it took.

use super::{RecordingHeader, TickInput, write_end, write_tick};
use crate::bounded::BoundedQueue;
use aether_wire::Tick;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// Chunks of a second of ticks. A process that is killed loses at most the chunk that is not complete.
const CHUNKS_PER_SECOND: u32 = 4;
/// Chunks that wait for the receiver: eight seconds of ticks.
pub const RECORDING_CHUNKS_MAX: usize = 32;

/// End of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingEnd {
    /// It was stopped.
    Stopped,
    /// The room ended.
    RoomEnded,
    /// The receiver did not keep up.
    TooSlow,
    /// It reached its limit of bytes.
    Full,
    /// The receiver failed.
    Failed,
}

impl RecordingEnd {
    /// All ends, in the order of their numbers in a file.
    const ALL: [RecordingEnd; 5] = [
        RecordingEnd::Stopped,
        RecordingEnd::RoomEnded,
        RecordingEnd::TooSlow,
        RecordingEnd::Full,
        RecordingEnd::Failed,
    ];

    /// Returns the label for metrics and lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RecordingEnd::Stopped => "stopped",
            RecordingEnd::RoomEnded => "room_ended",
            RecordingEnd::TooSlow => "too_slow",
            RecordingEnd::Full => "full",
            RecordingEnd::Failed => "failed",
        }
    }

    /// Number in a file; 0 stands for none.
    pub(super) fn number(self) -> u8 {
        RecordingEnd::ALL.iter().position(|end| *end == self).map_or(0, |at| at as u8 + 1)
    }

    pub(super) fn from_number(number: u8) -> Option<RecordingEnd> {
        RecordingEnd::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// Chunks of a recording on their way from a room to a receiver, and its progress.
pub struct RecordingChannel {
    chunks: BoundedQueue<Vec<u8>>,
    bytes_max: u64,
    first_tick: AtomicU32,
    last_tick: AtomicU32,
    bytes: AtomicU64,
    end: AtomicU8,
    /// Set by the receiver when it gave up.
    has_failed: AtomicBool,
}

impl RecordingChannel {
    /// Creates the channel of a recording of at most `bytes_max` bytes.
    #[must_use]
    pub fn new(bytes_max: u64) -> Arc<RecordingChannel> {
        Arc::new(RecordingChannel {
            chunks: BoundedQueue::new(RECORDING_CHUNKS_MAX),
            bytes_max,
            first_tick: AtomicU32::new(0),
            last_tick: AtomicU32::new(0),
            bytes: AtomicU64::new(0),
            end: AtomicU8::new(0),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Takes the next chunk of the file.
    #[must_use]
    pub fn next_chunk(&self) -> Option<Vec<u8>> {
        self.chunks.pop()
    }

    /// Returns the reason of the end. The remaining chunks are complete by then.
    #[must_use]
    pub fn end(&self) -> Option<RecordingEnd> {
        RecordingEnd::from_number(self.end.load(Ordering::Acquire))
    }

    /// Returns the last bytes of the file, once the recording has ended.
    #[must_use]
    pub fn last_bytes(&self) -> Option<Vec<u8>> {
        self.end().map(write_end)
    }

    /// Makes the recording end because its receiver failed.
    pub fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Returns the first and the last tick so far.
    #[must_use]
    pub fn ticks(&self) -> (Tick, Tick) {
        (Tick(self.first_tick.load(Ordering::Relaxed)), Tick(self.last_tick.load(Ordering::Relaxed)))
    }

    /// Returns the bytes so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn finish(&self, end: RecordingEnd) {
        let _ = self.end.compare_exchange(0, end.number(), Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Recording of a running room.
pub(crate) struct RecordingStream {
    channel: Arc<RecordingChannel>,
    chunk: Vec<u8>,
    /// Last tick in the chunk.
    tick: Tick,
    chunk_ticks: u32,
    ticks_per_chunk: u32,
}

impl RecordingStream {
    /// Begins a recording. `tick` is the last one before it.
    pub fn new(channel: Arc<RecordingChannel>, header: &RecordingHeader, tick: Tick) -> RecordingStream {
        channel.first_tick.store(tick.next().0, Ordering::Relaxed);
        channel.last_tick.store(tick.0, Ordering::Relaxed);
        let ticks_per_chunk = header.tick_hz.div_ceil(CHUNKS_PER_SECOND).max(1);
        let mut stream = RecordingStream { channel, chunk: header.to_bytes(), tick, chunk_ticks: 0, ticks_per_chunk };
        // The header is a chunk of its own, so that even a room without a complete chunk can be read.
        stream.flush();
        stream
    }

    /// Adds a tick. Returns false if the recording has ended.
    pub fn tick(&mut self, tick: Tick, tick_inputs: &[TickInput], hash: u64) -> bool {
        self.chunk = write_tick(std::mem::take(&mut self.chunk), tick_inputs, hash);
        (self.tick, self.chunk_ticks) = (tick, self.chunk_ticks + 1);
        if self.chunk_ticks >= self.ticks_per_chunk {
            self.flush();
        }
        self.channel.end().is_none()
    }

    /// Ends the recording.
    pub fn finish(&mut self, end: RecordingEnd) {
        self.flush();
        self.channel.finish(end);
    }

    fn flush(&mut self) {
        if self.chunk.is_empty() || self.channel.end().is_some() {
            return;
        }
        let bytes = self.chunk.len() as u64;
        if self.channel.has_failed.load(Ordering::Relaxed) {
            return self.channel.finish(RecordingEnd::Failed);
        }
        if self.channel.bytes() + bytes > self.channel.bytes_max {
            return self.channel.finish(RecordingEnd::Full);
        }
        if self.channel.chunks.push(std::mem::take(&mut self.chunk)).is_err() {
            return self.channel.finish(RecordingEnd::TooSlow);
        }
        self.channel.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.channel.last_tick.store(self.tick.0, Ordering::Relaxed);
        self.chunk_ticks = 0;
    }
}

impl Drop for RecordingStream {
    /// A room that ends, even by a panic, ends its recording.
    fn drop(&mut self) {
        self.finish(RecordingEnd::RoomEnded);
    }
}
