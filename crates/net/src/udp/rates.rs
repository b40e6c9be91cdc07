//! Rate limit of connect requests by network, without an allocation: sources may be forged.

use aether_limits::{RateLimit, TokenBucket, networks_of};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Token buckets of all networks. Networks whose hashes collide share a bucket; the hash is keyed by a random secret, so
/// that nobody can choose to collide.
const BUCKETS: usize = 8_192;

/// Token buckets of networks, in a table of fixed size.
pub(super) struct RequestRates {
    rate: RateLimit,
    hasher: RandomState,
    buckets: Mutex<Box<[Option<TokenBucket>]>>,
}

impl RequestRates {
    pub fn new(rate: RateLimit) -> RequestRates {
        RequestRates { rate, hasher: RandomState::new(), buckets: Mutex::new(vec![None; BUCKETS].into()) }
    }

    /// Takes a token of each network of the address. Returns false if one has none.
    pub fn take(&self, address: IpAddr, now: Duration) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        networks_of(address).all(|(network, multiple)| {
            let number = self.hasher.hash_one(network) as usize % BUCKETS;
            let new = || TokenBucket::new(self.rate.times(multiple), now);
            buckets[number].get_or_insert_with(new).take(now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn a_network_is_limited_and_recovers() {
        let rates = RequestRates::new(RateLimit { per_second: 2, burst: 2 });
        let address = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
        let taken: Vec<bool> = (0..4).map(|_| rates.take(address, Duration::ZERO)).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert!(rates.take(address, Duration::from_secs(1)));
    }

    #[test]
    fn a_million_forged_sources_need_no_more_memory() {
        let rates = RequestRates::new(RateLimit { per_second: 1, burst: 1 });
        for source in 0..1_000_000_u32 {
            rates.take(IpAddr::from(Ipv4Addr::from_bits(source)), Duration::ZERO);
        }
        assert_eq!(rates.buckets.lock().unwrap().len(), BUCKETS);
    }
}
