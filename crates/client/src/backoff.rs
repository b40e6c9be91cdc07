//! Delays between attempts to connect.

use std::time::Duration;

/// First and longest delay. Each delay is twice the one before.
const DELAY_MIN: Duration = Duration::from_millis(200);
const DELAY_MAX: Duration = Duration::from_secs(5);
/// Relative random variation, so that clients of a restarted server do not all reconnect at once.
const SPREAD: f64 = 0.3;

/// Exponential backoff with jitter.
#[derive(Clone, Debug)]
pub struct Backoff {
    attempts: u32,
    state: u64,
}

impl Backoff {
    /// Creates a backoff. The same seed gives the same delays.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Backoff { attempts: 0, state: seed }
    }

    /// Counts an attempt and returns the delay before the next one.
    pub fn next_delay(&mut self) -> Duration {
        let delay = DELAY_MIN.saturating_mul(1 << self.attempts.min(16)).min(DELAY_MAX);
        self.attempts = self.attempts.saturating_add(1);
        delay.mul_f64(1.0 + SPREAD * (2.0 * self.unit() - 1.0))
    }

    /// Number of attempts since the last success.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Resets the delay after a success.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// Random number from 0 to 1 (SplitMix64). It need not be unpredictable.
    fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ bits >> 31) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(seed: u64) -> Vec<Duration> {
        let mut backoff = Backoff::new(seed);
        (0..40).map(|_| backoff.next_delay()).collect()
    }

    #[test]
    fn delays_grow_to_a_limit_and_differ_by_seed() {
        let first = delays(1);
        assert_eq!(first, delays(1));
        assert_ne!(first, delays(2));
        assert!(first[0] < Duration::from_millis(261), "{:?}", first[0]);
        assert!(first[4] > 4 * first[0]);
        assert!(first.iter().all(|delay| *delay <= DELAY_MAX.mul_f64(1.0 + SPREAD)));
    }

    #[test]
    fn a_success_resets_the_delay() {
        let mut backoff = Backoff::new(3);
        for _ in 0..9 {
            backoff.next_delay();
        }
        backoff.reset();
        assert!(backoff.next_delay() < Duration::from_millis(261));
        assert_eq!(backoff.attempts(), 1);
    }
}
