//! How often someone may ask: by account once they are signed in, by network before.

use aether_net::{Bucket, Rate, network_of};
use aether_services::{Caller, Refusal, refusal};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Parts of the table, so that two requests seldom wait for each other.
const SHARDS: usize = 16;
/// Entries of a part. Beyond, it begins anew: those who were near their limit get a fresh start, and memory stays.
const SHARD_MAX: usize = 16_384;

/// How often one may ask; no limit where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSettings {
    /// Of an account.
    pub account: Option<Rate>,
    /// Of a network, without being signed in.
    pub stranger: Option<Rate>,
}

/// Counts who asks how often.
pub struct Rates {
    settings: RateSettings,
    began: Instant,
    hasher: RandomState,
    shards: Vec<Mutex<HashMap<Who, Bucket>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    Account(Uuid),
    Network(IpAddr),
}

impl Rates {
    /// With these limits.
    #[must_use]
    pub fn new(settings: RateSettings) -> Rates {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Rates { settings, began: Instant::now(), hasher: RandomState::new(), shards }
    }

    /// Counts a request; refuses it if there were too many.
    pub(super) fn take(&self, caller: &Caller, address: IpAddr) -> Result<(), Refusal> {
        let (who, rate) = match caller {
            Caller::Server => return Ok(()),
            Caller::User(identity) => (Who::Account(identity.user), self.settings.account),
            Caller::Stranger => (Who::Network(network_of(address)), self.settings.stranger),
        };
        match rate {
            Some(rate) if !self.may(who, rate, self.began.elapsed()) => Err(refusal::TOO_OFTEN),
            _ => Ok(()),
        }
    }

    fn may(&self, who: Who, rate: Rate, now: Duration) -> bool {
        let shard = &self.shards[self.hasher.hash_one(who) as usize % SHARDS];
        let mut buckets = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= SHARD_MAX {
            buckets.clear();
        }
        buckets.entry(who).or_insert_with(|| Bucket::new(rate, now)).take(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_limit_of_their_own_and_time_heals() {
        let rates = Rates::new(RateSettings::default());
        let rate = Rate { per_second: 10, burst: 2 };
        let (one, other) = (Who::Account(Uuid::from_u128(1)), Who::Account(Uuid::from_u128(2)));
        let at = Duration::from_secs(1);
        assert!(rates.may(one, rate, at) && rates.may(one, rate, at));
        assert!(!rates.may(one, rate, at), "the burst is used up");
        assert!(rates.may(other, rate, at), "another is not concerned");
        assert!(rates.may(one, rate, at + Duration::from_millis(150)));
    }
}
