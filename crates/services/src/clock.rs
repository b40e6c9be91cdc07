//! Time of day, and ids that begin with it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use uuid::{ClockSequence, NoContext, Timestamp, Uuid};

/// Time of day, in milliseconds since 1970.
pub trait WallClock: Send + Sync + 'static {
    /// Now.
    fn now_ms(&self) -> i64;

    /// Now, in seconds.
    fn now_seconds(&self) -> i64 {
        self.now_ms().div_euclid(1_000)
    }
}

/// A new id, near those of the same time: what begins together lies together in tables and indexes, so a commit writes few
/// pages. Nobody can guess it: 74 of its bits are random.
#[must_use]
pub(crate) fn new_id(now_ms: i64) -> Uuid {
    id_within(NoContext, now_ms)
}

/// The same, in the order that a context keeps.
#[must_use]
pub(crate) fn id_within(context: impl ClockSequence<Output = impl Into<u128>>, now_ms: i64) -> Uuid {
    let now_ms = u64::try_from(now_ms).unwrap_or(0);
    let nanoseconds = u32::try_from(now_ms % 1_000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(Timestamp::from_unix(context, now_ms / 1_000, nanoseconds))
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl WallClock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// A clock that is set by hand, for tests.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn at(now_ms: i64) -> ManualClock {
        ManualClock(AtomicI64::new(now_ms))
    }

    /// Lets time pass.
    pub fn advance_ms(&self, by: i64) {
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

impl WallClock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
