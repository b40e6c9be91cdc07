//! The clocks of the system.

use aether_engine::Clock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since the start, for the scheduler.
pub(crate) struct SystemClock(Instant);

impl SystemClock {
    pub fn start() -> SystemClock {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Returns the time in seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
