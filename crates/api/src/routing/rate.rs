//! How often someone may ask: by account once they are signed in, by network before; of all operations together, and of
//! each kind of them.

use aether_limits::{RateLimit, TokenBucket, network_of};
use aether_services::calls::RatePreset;
use aether_services::{Caller, GrpcCode, ServiceError};
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
#[derive(Clone, Debug, Default)]
pub struct RateSettings {
    /// For everything together, of an account.
    pub account: Option<RateLimit>,
    /// For everything together, of a network without being signed in.
    pub stranger: Option<RateLimit>,
    /// For the operations of each kind together, in the order of [`RatePreset::ALL`].
    pub presets: [Option<RateLimit>; 4],
    /// For single operations, by their names, in the place of their preset.
    pub operations: HashMap<String, Option<RateLimit>>,
}

/// Counts who asks how often.
pub struct RequestRates {
    settings: RateSettings,
    now: Box<dyn Fn() -> Duration + Send + Sync>,
    hasher: RandomState,
    shards: Vec<Mutex<Table>>,
}

type Table = HashMap<(Who, What), TokenBucket>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    Account(Uuid),
    Network(IpAddr),
}

/// What is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Everything,
    Preset(RatePreset),
    Operation(&'static str),
}

/// Rate that a public server allows for a preset if nothing else is set. Clients read much at once when they start.
#[must_use]
pub fn usual_rate(preset: RatePreset) -> RateLimit {
    match preset {
        RatePreset::Read => RateLimit { per_second: 100, burst: 100 },
        RatePreset::Write => RateLimit::STANDARD,
        // Players behind one router are one network.
        RatePreset::Login => RateLimit { per_second: 20, burst: 100 },
        RatePreset::Expensive => RateLimit::STRICT,
    }
}

impl RequestRates {
    /// With these limits.
    #[must_use]
    pub fn new(settings: RateSettings) -> RequestRates {
        let began = Instant::now();
        RequestRates::with_time(settings, move || began.elapsed())
    }

    /// With these limits, and a time that goes as it is told to.
    #[must_use]
    pub fn with_time(settings: RateSettings, now: impl Fn() -> Duration + Send + Sync + 'static) -> RequestRates {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        RequestRates { settings, now: Box::new(now), hasher: RandomState::new(), shards }
    }

    /// Counts a request for an operation; refuses it if there were too many.
    pub(super) fn take(
        &self,
        caller: &Caller,
        address: IpAddr,
        (operation, preset): (&'static str, RatePreset),
    ) -> Result<(), ServiceError> {
        let (who, everything) = match caller {
            Caller::Server => return Ok(()),
            Caller::User(identity) => (Who::Account(identity.user), self.settings.account),
            Caller::Stranger => (Who::Network(network_of(address)), self.settings.stranger),
        };
        let (what, rate) = match self.settings.operations.get(operation) {
            Some(rate) => (What::Operation(operation), *rate),
            None => (What::Preset(preset), self.settings.presets[preset as usize]),
        };
        // The narrow limit first: what it refuses is not counted by the wide one.
        self.count((who, what), rate)?;
        self.count((who, What::Everything), everything)
    }

    fn count(&self, key: (Who, What), rate: Option<RateLimit>) -> Result<(), ServiceError> {
        let Some(rate) = rate else { return Ok(()) };
        let now = (self.now)();
        let shard = &self.shards[self.hasher.hash_one(key.0) as usize % SHARDS];
        let mut buckets = shard.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= SHARD_MAX {
            buckets.clear();
        }
        let bucket = buckets.entry(key).or_insert_with(|| TokenBucket::new(rate, now));
        if bucket.take(now) { Ok(()) } else { Err(too_often(key.1, bucket.wait())) }
    }
}

fn too_often(what: What, wait: Duration) -> ServiceError {
    let seconds = u32::try_from(wait.as_secs_f64().ceil() as u64).unwrap_or(u32::MAX).max(1);
    let of = match what {
        What::Everything => String::new(),
        What::Preset(preset) => format!(" of the kind {:?}", preset.name()),
        What::Operation(operation) => format!(" for {operation}"),
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

    /// Limits at a time in milliseconds that is set by hand.
    fn rates(settings: RateSettings) -> (RequestRates, Arc<AtomicU64>) {
        let time = Arc::new(AtomicU64::new(1_000));
        let clock = Arc::clone(&time);
        (RequestRates::with_time(settings, move || Duration::from_millis(clock.load(Ordering::Relaxed))), time)
    }

    fn account(number: u128) -> Who {
        Who::Account(Uuid::from_u128(number))
    }

    #[test]
    fn each_has_a_limit_of_their_own_and_time_heals() {
        let (rates, time) = rates(RateSettings::default());
        let (one, other) = ((account(1), What::Everything), (account(2), What::Everything));
        assert!(rates.count(one, SLOW).is_ok() && rates.count(one, SLOW).is_ok());
        assert!(rates.count(one, SLOW).is_err(), "the burst is used up");
        assert!(rates.count(other, SLOW).is_ok(), "another is not concerned");
        time.fetch_add(150, Ordering::Relaxed);
        assert!(rates.count(one, SLOW).is_ok());
    }

    #[test]
    fn a_refusal_says_when_to_try_again() {
        let (rates, _) = rates(RateSettings::default());
        let slowest = Some(RateLimit { per_second: 1, burst: 1 });
        rates.count((account(1), What::Operation("Event")), slowest).expect("it is the first");
        let refusal = rates.count((account(1), What::Operation("Event")), slowest).expect_err("it is the second");
        assert_eq!(refusal.message, "Too many requests for Event. Try again in 1 second.");
        assert_eq!(refusal.retry_after_seconds, Some(1));
    }

    #[test]
    fn an_operation_of_its_own_limit_is_not_counted_with_its_preset() {
        let mut settings = RateSettings { presets: [SLOW; 4], ..RateSettings::default() };
        settings.operations.insert("Event".to_owned(), Some(RateLimit { per_second: 10, burst: 3 }));
        settings.operations.insert("GetUsers".to_owned(), None);
        let (rates, _) = rates(settings);
        let address = IpAddr::from([192, 0, 2, 1]);
        let taken = |operation, preset| {
            let ask = |_: &i32| rates.take(&Caller::Stranger, address, (operation, preset)).is_ok();
            (0..10).filter(ask).count()
        };
        assert_eq!(taken("Event", RatePreset::Write), 3);
        assert_eq!(taken("GetUsers", RatePreset::Read), 10);
        assert_eq!(taken("GetAccount", RatePreset::Read), 2);
        assert_eq!(taken("ListStorageObjects", RatePreset::Read), 0, "those of a kind share");
        assert_eq!(taken("LinkDevice", RatePreset::Write), 2, "those of another do not");
    }

    #[test]
    fn the_table_of_those_who_ask_is_bounded() {
        let (rates, _) = rates(RateSettings::default());
        for number in 0..(2 * SHARDS * SHARD_MAX) as u128 {
            rates.count((account(number), What::Everything), SLOW).expect("each asks once");
        }
        assert!(rates.shards.iter().all(|shard| shard.lock().expect("no test panics").len() <= SHARD_MAX));
    }
}
