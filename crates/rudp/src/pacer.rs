//! Pacing: spreads the window over the round trip.

use std::time::Duration;

use crate::limits::DATAGRAM_BYTES_MAX;

/// Bytes that may leave at once.
const BURST_BYTES: usize = 10 * DATAGRAM_BYTES_MAX;

/// Time that a burst covers at least: timers of operating systems are no finer.
const BURST_TIME_MIN: Duration = Duration::from_millis(2);

/// Moment of the next packet, by the bytes that have left.
#[derive(Default)]
pub(crate) struct Pacer {
    /// Moment at which everything sent so far would have left at the rate.
    level: Duration,
    burst: Duration,
}

impl Pacer {
    /// Moment from which the next packet may leave.
    pub(crate) fn ready_at(&self) -> Duration {
        self.level.saturating_sub(self.burst)
    }

    /// Counts a packet. `rate` is in bytes per second.
    pub(crate) fn sent(&mut self, now: Duration, bytes: usize, rate: u64) {
        let rate = rate.max(1);
        self.burst = time_of(BURST_BYTES, rate).max(BURST_TIME_MIN);
        self.level = self.level.max(now) + time_of(bytes, rate);
    }
}

fn time_of(bytes: usize, rate: u64) -> Duration {
    Duration::from_nanos(bytes as u64 * 1_000_000_000 / rate)
}
