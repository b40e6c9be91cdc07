//! Wall clock, and ids that are ordered by time.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::{ClockSequence, NoContext, Timestamp, Uuid};

/// Wall clock, in milliseconds since 1970.
pub trait WallClock: Send + Sync + 'static {
    /// Returns the current time in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Returns the current time in seconds since 1970.
    fn now_seconds(&self) -> i64 {
        self.now_ms().div_euclid(1_000)
    }
}

/// Returns a new UUIDv7. Ids of the same time are adjacent in tables and indexes, so a commit writes few pages. It
/// cannot be guessed: 74 of its bits are random.
#[must_use]
pub fn new_id(now_ms: i64) -> Uuid {
    id_within(NoContext, now_ms)
}

/// Like [`new_id`], ordered by the counter of a context.
#[must_use]
pub(crate) fn id_within(context: impl ClockSequence<Output = impl Into<u128>>, now_ms: i64) -> Uuid {
    let now_ms = u64::try_from(now_ms).unwrap_or(0);
    let nanoseconds = u32::try_from(now_ms % 1_000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(Timestamp::from_unix(context, now_ms / 1_000, nanoseconds))
}

/// Clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Clock that tests set by hand.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// Creates a clock that shows this time.
    #[must_use]
    pub fn at(now_ms: i64) -> ManualClock {
        ManualClock(AtomicI64::new(now_ms))
    }

    /// Advances the clock.
    pub fn advance_ms(&self, by: i64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

impl WallClock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
