//! Rate limits of those who send queries and watches.

use aether_limits::{RateLimit, TokenBucket};
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

/// Requests of one source address.
const PER_SOURCE: RateLimit = RateLimit { per_second: 20, burst: 40 };
/// Requests of all sources together.
const TOTAL: RateLimit = RateLimit { per_second: 500, burst: 500 };
/// Sources with a limit of their own. Those beyond it share one.
const SOURCES_MAX: usize = 1_024;
/// Time after which all sources are forgotten, so that the table follows the network.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// Limits of all sources. A forged source address costs the others at most the limit of all.
pub struct RequestSources {
    total: TokenBucket,
    others: TokenBucket,
    sources: HashMap<IpAddr, TokenBucket>,
    cleared_at: Duration,
}

impl RequestSources {
    pub fn new() -> Self {
        let bucket = |rate| TokenBucket::new(rate, Duration::ZERO);
        let (total, others) = (bucket(TOTAL), bucket(PER_SOURCE));
        RequestSources { total, others, sources: HashMap::new(), cleared_at: Duration::ZERO }
    }

    /// Returns true if a request of this source may be answered.
    pub fn allow(&mut self, source: IpAddr, now: Duration) -> bool {
        if now.saturating_sub(self.cleared_at) > FORGET_AFTER {
            self.sources.clear();
            self.cleared_at = now;
        }
        let has_room = self.sources.len() < SOURCES_MAX || self.sources.contains_key(&source);
        let bucket = match has_room {
            true => self.sources.entry(source).or_insert_with(|| TokenBucket::new(PER_SOURCE, now)),
            false => &mut self.others,
        };
        bucket.take(now) && self.total.take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> IpAddr {
        IpAddr::from(number.to_be_bytes())
    }

    #[test]
    fn one_source_is_limited_and_another_is_not() {
        let mut sources = RequestSources::new();
        let allowed = (0..1_000).filter(|_| sources.allow(address(1), Duration::ZERO)).count();
        assert_eq!(allowed, PER_SOURCE.burst as usize);
        assert!(sources.allow(address(2), Duration::ZERO));
        assert!(sources.allow(address(1), Duration::from_secs(1)));
    }

    #[test]
    fn forged_sources_are_limited_together_and_take_bounded_memory() {
        let mut sources = RequestSources::new();
        let allowed = (0..100_000).filter(|&number| sources.allow(address(number), Duration::ZERO)).count();
        assert_eq!(allowed, TOTAL.burst as usize);
        assert_eq!(sources.sources.len(), SOURCES_MAX);
        assert!(sources.allow(address(1), FORGET_AFTER * 2));
        assert_eq!(sources.sources.len(), 1);
    }
}
