//! Time as the protocol takes it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Clock of one endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    began: Instant,
}

impl Clock {
    pub fn start() -> Clock {
        Clock { began: Instant::now() }
    }

    /// Time since the start of the endpoint.
    pub fn now(self) -> Duration {
        self.began.elapsed()
    }
}

/// Seconds since 1970, against which the expiry of tokens is checked.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}
