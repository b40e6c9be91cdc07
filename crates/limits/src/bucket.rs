//! Token bucket.

use std::time::Duration;

/// A rate and a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Average number per second.
    pub per_second: u32,
    /// Number at once after a pause.
    pub burst: u32,
}

impl RateLimit {
    /// For expensive requests, such as a sign-in.
    pub const STRICT: RateLimit = RateLimit { per_second: 5, burst: 5 };
    /// For requests.
    pub const STANDARD: RateLimit = RateLimit { per_second: 100, burst: 20 };
    /// For messages of a realtime connection other than inputs.
    pub const REALTIME: RateLimit = RateLimit { per_second: 60, burst: 30 };

    /// Returns a multiple of the limit.
    #[must_use]
    pub fn times(self, multiple: u32) -> RateLimit {
        let RateLimit { per_second, burst } = self;
        RateLimit { per_second: per_second.saturating_mul(multiple), burst: burst.saturating_mul(multiple) }
    }

    /// For inputs: twice the tick rate, and a burst of half a second, because networks deliver in bursts.
    #[must_use]
    pub fn inputs(tick_hz: u32) -> RateLimit {
        RateLimit { per_second: tick_hz.saturating_mul(2), burst: tick_hz.max(8) }
    }
}

/// A token bucket. It counts in whole nanoseconds of credit, so it does not drift. It does not allocate.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    /// Nanoseconds per token.
    token_ns: u64,
    full_ns: u64,
    credit_ns: u64,
    filled_at: Duration,
}

impl TokenBucket {
    /// A full bucket.
    #[must_use]
    pub fn new(rate: RateLimit, now: Duration) -> TokenBucket {
        let token_ns = 1_000_000_000 / u64::from(rate.per_second.max(1));
        let full_ns = token_ns * u64::from(rate.burst.max(1));
        TokenBucket { token_ns, full_ns, credit_ns: full_ns, filled_at: now }
    }

    /// Takes a token. Returns false if there is none.
    pub fn take(&mut self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled_at).as_nanos() as u64;
        self.filled_at = self.filled_at.max(now);
        self.credit_ns = self.credit_ns.saturating_add(passed).min(self.full_ns);
        let enough = self.credit_ns >= self.token_ns;
        if enough {
            self.credit_ns -= self.token_ns;
        }
        enough
    }

    /// Time from the last attempt until a token is available.
    #[must_use]
    pub fn wait(&self) -> Duration {
        Duration::from_nanos(self.token_ns.saturating_sub(self.credit_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_and_then_the_rate() {
        let mut bucket = TokenBucket::new(RateLimit { per_second: 10, burst: 5 }, Duration::ZERO);
        let taken = (0..100).filter(|_| bucket.take(Duration::ZERO)).count();
        assert_eq!(taken, 5);
        // A hundred attempts per second for ten seconds.
        let taken = (1..=1_000).filter(|i| bucket.take(Duration::from_millis(10 * i))).count();
        assert_eq!(taken, 100);
    }

    #[test]
    fn a_failed_attempt_has_a_wait_time() {
        let mut bucket = TokenBucket::new(RateLimit { per_second: 4, burst: 1 }, Duration::ZERO);
        assert!(bucket.take(Duration::ZERO));
        assert!(!bucket.take(Duration::from_millis(100)));
        assert_eq!(bucket.wait(), Duration::from_millis(150));
        assert!(bucket.take(Duration::from_millis(100) + bucket.wait()));
    }

    #[test]
    fn credit_does_not_grow_beyond_the_burst() {
        let mut bucket = TokenBucket::new(RateLimit { per_second: 10, burst: 5 }, Duration::ZERO);
        let later = Duration::from_secs(3_600);
        assert_eq!((0..100).filter(|_| bucket.take(later)).count(), 5);
    }

    #[test]
    fn a_clock_that_steps_back_adds_no_credit() {
        let mut bucket = TokenBucket::new(RateLimit { per_second: 1, burst: 1 }, Duration::from_secs(10));
        assert!(bucket.take(Duration::from_secs(10)));
        assert!(!bucket.take(Duration::from_secs(5)));
        assert!(!bucket.take(Duration::from_millis(10_500)));
        assert!(bucket.take(Duration::from_secs(11)));
    }
}
