//! Pauses between attempts to connect.

use std::time::Duration;

/// The first pause, and the longest: each is twice the one before.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Pauses differ by up to this share, so that the players of a server that was gone do not all come back at once.
const SPREAD: f64 = 0.3;

/// Pauses that grow, and differ from client to client.
#[derive(Clone, Debug)]
pub struct Backoff {
    attempts: u32,
    state: u64,
}

impl Backoff {
    /// The same seed gives the same pauses.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Backoff { attempts: 0, state: seed }
    }

    /// How long to wait before the next attempt.
    pub fn pause(&mut self) -> Duration {
        let pause = PAUSE_MIN.saturating_mul(1 << self.attempts.min(16)).min(PAUSE_MAX);
        self.attempts = self.attempts.saturating_add(1);
        pause.mul_f64(1.0 + SPREAD * (2.0 * self.unit() - 1.0))
    }

    /// How many attempts were made since the last success.
    #[must_use]
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// An attempt succeeded.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }

    /// A number from 0 to 1 (SplitMix64). It spreads clients; it is no secret.
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

    fn pauses(seed: u64) -> Vec<Duration> {
        let mut backoff = Backoff::new(seed);
        (0..40).map(|_| backoff.pause()).collect()
    }

    #[test]
    fn pauses_grow_to_a_bound_and_differ_by_seed() {
        let of_one = pauses(1);
        assert_eq!(of_one, pauses(1));
        assert_ne!(of_one, pauses(2));
        assert!(of_one[0] < Duration::from_millis(261), "{:?}", of_one[0]);
        assert!(of_one[4] > 4 * of_one[0]);
        assert!(of_one.iter().all(|pause| *pause <= PAUSE_MAX.mul_f64(1.0 + SPREAD)));
    }

    #[test]
    fn after_a_success_it_begins_anew() {
        let mut backoff = Backoff::new(3);
        for _ in 0..9 {
            backoff.pause();
        }
        backoff.reset();
        assert!(backoff.pause() < Duration::from_millis(261));
        assert_eq!(backoff.attempts(), 1);
    }
}
