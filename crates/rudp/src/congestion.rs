//! Congestion control: additive increase, multiplicative decrease, with a slow start that ends before the queue is full.

use std::time::Duration;

use crate::limits::{DATAGRAM_BYTES_MAX, PACKETS_UNDER_WAY_MAX};

/// Window of a new connection (RFC 6928).
const WINDOW_INITIAL: usize = 10 * DATAGRAM_BYTES_MAX;

/// Smallest window. Small packets of a game keep flowing over a path that loses many.
const WINDOW_MIN: usize = 4 * DATAGRAM_BYTES_MAX;

/// Largest window: as many packets as can be under way.
const WINDOW_MAX: usize = PACKETS_UNDER_WAY_MAX as usize * DATAGRAM_BYTES_MAX;

/// Samples of a round before its round-trip time is compared with that of the round before (RFC 9406). The peer is asked
/// for four acknowledgements per round.
const ROUND_SAMPLES: u32 = 3;

/// Bounds of the rise of the round-trip time that ends the slow start (RFC 9406).
const RISE_MIN: Duration = Duration::from_millis(4);
const RISE_MAX: Duration = Duration::from_millis(16);

/// Bytes that may be under way.
pub(crate) struct Congestion {
    window: usize,
    /// The window below which it doubles with each round trip.
    threshold: usize,
    /// First packet sent after the last decrease. Losses of earlier ones belong to the same event.
    recovered_from: u64,
    /// Acknowledged bytes that have not made the window larger yet.
    credit: usize,
    round: Round,
    previous_min: Duration,
}

/// Packets from one round trip to the next.
struct Round {
    /// First packet of the next round.
    end: u64,
    min: Duration,
    samples: u32,
}

impl Congestion {
    pub(crate) fn new() -> Congestion {
        let round = Round { end: 0, min: Duration::MAX, samples: 0 };
        Congestion {
            window: WINDOW_INITIAL,
            threshold: usize::MAX,
            recovered_from: 0,
            credit: 0,
            round,
            previous_min: Duration::MAX,
        }
    }

    pub(crate) fn window(&self) -> usize {
        self.window
    }

    pub(crate) fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// A packet has arrived. `is_limited` says that the window was in use.
    pub(crate) fn acknowledged(&mut self, number: u64, bytes: usize, is_limited: bool) {
        if !is_limited || number < self.recovered_from {
            return;
        }
        if self.is_slow_start() {
            self.window += bytes;
        } else {
            self.credit += bytes;
            if self.credit >= self.window {
                self.credit -= self.window;
                self.window += DATAGRAM_BYTES_MAX;
            }
        }
        self.window = self.window.min(WINDOW_MAX);
    }

    /// Ends the slow start when the round-trip time rises: the queue of the bottleneck begins to fill.
    pub(crate) fn sampled(&mut self, sample: Duration, number: u64, next: u64) {
        if number >= self.round.end {
            if self.round.samples >= ROUND_SAMPLES {
                self.previous_min = self.round.min;
            }
            self.round = Round { end: next, min: Duration::MAX, samples: 0 };
        }
        self.round.min = self.round.min.min(sample);
        self.round.samples += 1;
        if self.is_slow_start() && self.round.samples >= ROUND_SAMPLES && self.previous_min != Duration::MAX {
            let rise = (self.previous_min / 8).clamp(RISE_MIN, RISE_MAX);
            if self.round.min >= self.previous_min + rise {
                self.threshold = self.window;
            }
        }
    }

    /// A packet was lost; `next` is the number of the next one.
    pub(crate) fn lost(&mut self, number: u64, next: u64) {
        if number < self.recovered_from {
            return;
        }
        self.recovered_from = next;
        self.window = (self.window * 7 / 10).max(WINDOW_MIN);
        self.threshold = self.window;
        self.credit = 0;
    }

    /// Nothing has arrived for several round trips.
    pub(crate) fn stalled(&mut self) {
        self.threshold = (self.window / 2).clamp(WINDOW_MIN, self.threshold);
        self.window = WINDOW_MIN;
        self.credit = 0;
    }
}
