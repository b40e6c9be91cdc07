//! Clocks of the operating system.

use aether_engine::MonotonicClock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Monotonic time since the start, for the scheduler.
pub(crate) struct UptimeClock(Instant);

impl UptimeClock {
    pub fn start() -> UptimeClock {
        UptimeClock(Instant::now())
    }
}

impl MonotonicClock for UptimeClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Returns the time in seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
