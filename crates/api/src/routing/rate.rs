//! Rate limits of requests: by account after sign-in, by network before; for all operations together, and per preset or
//! operation.

use aether_limits::{Network, RateLimit, TokenBucket, networks_of};
use aether_services::calls::RatePreset;
use aether_services::{Caller, GrpcCode, ServiceError};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Number of shards, so that requests seldom wait for each other.
const SHARDS: usize = 16;
/// Most buckets of a shard. A full shard is cleared, which bounds memory and resets the limits in it.
const SHARD_MAX: usize = 16_384;

/// Settings of the rate limits; `None` means no limit.
#[derive(Clone, Debug, Default)]
pub struct RateSettings {
    /// Limit of all operations together, per account.
    pub account: Option<RateLimit>,
    /// Limit of all operations together, per network, before sign-in.
    pub stranger: Option<RateLimit>,
    /// Limits per preset, in the order of [`RatePreset::ALL`].
    pub presets: [Option<RateLimit>; RatePreset::ALL.len()],
    /// Limits of single operations, by name, instead of those of their presets.
    pub operations: HashMap<String, Option<RateLimit>>,
}

/// Rate limits of callers, with their current use.
pub struct RequestRates {
    settings: RateSettings,
    now: Box<dyn Fn() -> Duration + Send + Sync>,
    hasher: RandomState,
    shards: Vec<Mutex<Shard>>,
}

type Shard = HashMap<(RateSubject, RateScope), TokenBucket>;

/// The caller that a request counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RateSubject {
    Account(Uuid),
    Network(Network),
}

/// Operations that share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RateScope {
    Everything,
    Preset(RatePreset),
    Operation(&'static str),
}

/// Returns the default limit of a preset on a public server. Clients send many reads at once when they start.
#[must_use]
pub fn default_rate(preset: RatePreset) -> RateLimit {
    match preset {
        RatePreset::Read => RateLimit { per_second: 100, burst: 100 },
        RatePreset::Write => RateLimit::STANDARD,
        // As fast as people write. Every message is sent to all members of a channel.
        RatePreset::Message => RateLimit { per_second: 5, burst: 20 },
        // Players behind one router share a network.
        RatePreset::Login => RateLimit { per_second: 20, burst: 100 },
        RatePreset::Expensive => RateLimit::STRICT,
    }
}

impl RequestRates {
    /// Creates the rate limits of a server.
    #[must_use]
    pub fn new(settings: RateSettings) -> RequestRates {
        let began = Instant::now();
        RequestRates::with_clock(settings, move || began.elapsed())
    }

    /// Creates rate limits with a given clock.
    #[must_use]
    pub fn with_clock(settings: RateSettings, now: impl Fn() -> Duration + Send + Sync + 'static) -> RequestRates {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        RequestRates { settings, now: Box::new(now), hasher: RandomState::new(), shards }
    }

    /// Counts a request for an operation. Fails if a limit is exceeded.
    pub(crate) fn take(
        &self,
        caller: &Caller,
        address: IpAddr,
        (operation, preset): (&'static str, RatePreset),
    ) -> Result<(), ServiceError> {
        let (scope, rate) = match self.settings.operations.get(operation) {
            Some(rate) => (RateScope::Operation(operation), *rate),
            None => (RateScope::Preset(preset), self.settings.presets[preset as usize]),
        };
        // The narrow limit first: requests that it rejects do not count against the wide one.
        match caller {
            Caller::Server => Ok(()),
            Caller::User(identity) => {
                let subject = RateSubject::Account(identity.user);
                self.count((subject, scope), rate)?;
                self.count((subject, RateScope::Everything), self.settings.account)
            }
            Caller::Anonymous => networks_of(address).try_for_each(|(network, multiple)| {
                let subject = RateSubject::Network(network);
                self.count((subject, scope), rate.map(|rate| rate.times(multiple)))?;
                self.count((subject, RateScope::Everything), self.settings.stranger.map(|rate| rate.times(multiple)))
            }),
        }
    }

    fn count(&self, key: (RateSubject, RateScope), rate: Option<RateLimit>) -> Result<(), ServiceError> {
        let Some(rate) = rate else { return Ok(()) };
        let now = (self.now)();
        let shard = &self.shards[self.hasher.hash_one(key.0) as usize % SHARDS];
        let mut buckets = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= SHARD_MAX {
            buckets.clear();
        }
        let bucket = buckets.entry(key).or_insert_with(|| TokenBucket::new(rate, now));
        if bucket.take(now) { Ok(()) } else { Err(rate_exceeded(key.1, bucket.wait())) }
    }
}

fn rate_exceeded(scope: RateScope, wait: Duration) -> ServiceError {
    let seconds = u32::try_from(wait.as_secs_f64().ceil() as u64).unwrap_or(u32::MAX).max(1);
    let of = match scope {
        RateScope::Everything => String::new(),
        RateScope::Preset(preset) => format!(" of the kind {:?}", preset.name()),
        RateScope::Operation(operation) => format!(" for {operation}"),
    };
    let plural = if seconds == 1 { "" } else { "s" };
    let sentence = format!("Too many requests{of}. Try again in {seconds} second{plural}.");
    ServiceError::with(GrpcCode::ResourceExhausted, sentence).retry_after(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    const SLOW: Option<RateLimit> = Some(RateLimit { per_second: 10, burst: 2 });

    /// Returns rate limits and their clock, in milliseconds.
    fn rates(settings: RateSettings) -> (RequestRates, Arc<AtomicU64>) {
        let time = Arc::new(AtomicU64::new(1_000));
        let clock = Arc::clone(&time);
        (RequestRates::with_clock(settings, move || Duration::from_millis(clock.load(Ordering::Relaxed))), time)
    }

    fn account(number: u128) -> RateSubject {
        RateSubject::Account(Uuid::from_u128(number))
    }

    #[test]
    fn each_account_has_its_own_limit_that_refills() {
        let (rates, time) = rates(RateSettings::default());
        let (one, other) = ((account(1), RateScope::Everything), (account(2), RateScope::Everything));
        assert!(rates.count(one, SLOW).is_ok() && rates.count(one, SLOW).is_ok());
        assert!(rates.count(one, SLOW).is_err(), "the burst is used up");
        assert!(rates.count(other, SLOW).is_ok(), "another account is not affected");
        time.fetch_add(150, Ordering::Relaxed);
        assert!(rates.count(one, SLOW).is_ok());
    }

    #[test]
    fn an_error_says_when_to_try_again() {
        let (rates, _) = rates(RateSettings::default());
        let slowest = Some(RateLimit { per_second: 1, burst: 1 });
        rates.count((account(1), RateScope::Operation("Event")), slowest).expect("the first request is allowed");
        let error = rates
            .count((account(1), RateScope::Operation("Event")), slowest)
            .expect_err("the second request is rejected");
        assert_eq!(error.message, "Too many requests for Event. Try again in 1 second.");
        assert_eq!(error.retry_after_seconds, Some(1));
    }

    #[test]
    fn an_operation_with_its_own_limit_does_not_count_against_its_preset() {
        let mut settings = RateSettings { presets: [SLOW; RatePreset::ALL.len()], ..RateSettings::default() };
        settings.operations.insert("Event".to_owned(), Some(RateLimit { per_second: 10, burst: 3 }));
        settings.operations.insert("GetUsers".to_owned(), None);
        let (rates, _) = rates(settings);
        let address = IpAddr::from([192, 0, 2, 1]);
        let taken = |operation, preset| {
            let ask = |_: &i32| rates.take(&Caller::Anonymous, address, (operation, preset)).is_ok();
            (0..10).filter(ask).count()
        };
        assert_eq!(taken("Event", RatePreset::Write), 3);
        assert_eq!(taken("GetUsers", RatePreset::Read), 10);
        assert_eq!(taken("GetAccount", RatePreset::Read), 2);
        assert_eq!(taken("ListStorageObjects", RatePreset::Read), 0, "operations of a preset share its limit");
        assert_eq!(taken("LinkDevice", RatePreset::Write), 2, "other presets have their own");
    }

    #[test]
    fn the_number_of_buckets_is_bounded() {
        let (rates, _) = rates(RateSettings::default());
        for number in 0..(2 * SHARDS * SHARD_MAX) as u128 {
            rates.count((account(number), RateScope::Everything), SLOW).expect("each account sends one request");
        }
        assert!(rates.shards.iter().all(|shard| shard.lock().expect("no test panics").len() <= SHARD_MAX));
    }
}
