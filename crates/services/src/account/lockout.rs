//! Who has failed too often lately, by account and by address. Kept in memory, and only so much of it.

use crate::error::{GrpcCode, ServiceError};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use uuid::Uuid;

/// Failures of an account in a period, after which it is left alone for the rest of it.
const ACCOUNT_FAILURES_MAX: usize = 5;
const ACCOUNT_PERIOD_MS: i64 = 60_000;
/// Failures from an address in a period: enough for a household, too few to guess.
const ADDRESS_FAILURES_MAX: usize = 10;
const ADDRESS_PERIOD_MS: i64 = 600_000;
/// Codes that are sent for an account in a period: more would be a nuisance to its owner.
const ACCOUNT_CODES_MAX: usize = 3;
/// Codes that are asked for from an address in a period.
const ADDRESS_CODES_MAX: usize = 10;
const CODES_PERIOD_MS: i64 = 600_000;

/// Entries of one half of a window. Whoever wants to push another's entry out needs as many addresses or accounts, and
/// a failure for each.
const HALF_MAX: usize = 65_536;

const ACCOUNT_LOCKED: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many failed attempts to sign in to this account. Try again in a minute.",
)
.retry_after(60);
const ADDRESS_LOCKED: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many failed attempts to sign in from this address. Try again in ten minutes.",
)
.retry_after(600);
const CODES_LOCKED: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many codes were asked for from this address. Try again in ten minutes.",
)
.retry_after(600);

/// Counts failures.
pub(super) struct Lockout {
    accounts: Window<Uuid>,
    addresses: Window<IpAddr>,
    account_codes: Window<Uuid>,
    address_codes: Window<IpAddr>,
}

impl Lockout {
    pub fn new() -> Lockout {
        Lockout {
            accounts: Window::new(ACCOUNT_FAILURES_MAX, ACCOUNT_PERIOD_MS),
            addresses: Window::new(ADDRESS_FAILURES_MAX, ADDRESS_PERIOD_MS),
            account_codes: Window::new(ACCOUNT_CODES_MAX, CODES_PERIOD_MS),
            address_codes: Window::new(ADDRESS_CODES_MAX, CODES_PERIOD_MS),
        }
    }

    /// Refuses an address that has failed too often.
    pub fn check_address(&self, address: Option<IpAddr>, now: i64) -> Result<(), ServiceError> {
        match address {
            Some(address) if self.addresses.is_full(network_of(address), now) => Err(ADDRESS_LOCKED),
            _ => Ok(()),
        }
    }

    /// Counts an attempt on an account as failed before it is made, so that many at once are no way around; refuses it
    /// if there were too many.
    pub fn begin(&self, account: Uuid, now: i64) -> Result<(), ServiceError> {
        if self.accounts.add(account, now) { Ok(()) } else { Err(ACCOUNT_LOCKED) }
    }

    /// The attempt was right: the account begins anew.
    pub fn succeeded(&self, account: Uuid) {
        self.accounts.clear(account);
    }

    /// The attempt was not made in the end.
    pub fn take_back(&self, account: Uuid, now: i64) {
        self.accounts.remove(account, now);
    }

    /// The attempt was wrong.
    pub fn failed(&self, address: Option<IpAddr>, now: i64) {
        if let Some(address) = address {
            self.addresses.add(network_of(address), now);
        }
    }

    /// Counts that an address asks for a code; refuses it if there were too many.
    pub fn ask_code(&self, address: Option<IpAddr>, now: i64) -> Result<(), ServiceError> {
        match address {
            Some(address) if !self.address_codes.add(network_of(address), now) => Err(CODES_LOCKED),
            _ => Ok(()),
        }
    }

    /// Counts that an account is sent a code; tells whether it may be.
    pub fn may_send_code(&self, account: Uuid, now: i64) -> bool {
        self.account_codes.add(account, now)
    }
}

/// What happened lately, by key: at most so often in a period. When it is full, those that were touched least recently
/// are forgotten first: there are two halves, the older of which goes when the younger has filled up.
struct Window<K> {
    count_max: usize,
    period_ms: i64,
    halves: Mutex<[HashMap<K, Vec<i64>>; 2]>,
}

impl<K: Hash + Eq + Copy> Window<K> {
    fn new(count_max: usize, period_ms: i64) -> Window<K> {
        Window { count_max, period_ms, halves: Mutex::new([HashMap::new(), HashMap::new()]) }
    }

    /// Whether one more would be too many.
    fn is_full(&self, key: K, now: i64) -> bool {
        self.with(key, now, |times| times.len() >= self.count_max)
    }

    /// Counts one more; not if it is too many.
    fn add(&self, key: K, now: i64) -> bool {
        self.with(key, now, |times| {
            let fits = times.len() < self.count_max;
            if fits {
                times.push(now);
            }
            fits
        })
    }

    fn clear(&self, key: K) {
        self.with(key, i64::MAX, Vec::clear);
    }

    /// Uncounts one.
    fn remove(&self, key: K, at: i64) {
        self.with(key, at, |times| {
            if let Some(index) = times.iter().rposition(|time| *time == at) {
                times.remove(index);
            }
        });
    }

    fn with<T>(&self, key: K, now: i64, act: impl FnOnce(&mut Vec<i64>) -> T) -> T {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        let [young, old] = &mut *halves;
        let mut times = young.remove(&key).or_else(|| old.remove(&key)).unwrap_or_default();
        times.retain(|time| now.saturating_sub(*time) < self.period_ms);
        let outcome = act(&mut times);
        if !times.is_empty() {
            young.insert(key, times);
        }
        if young.len() >= HALF_MAX {
            *old = std::mem::take(young);
        }
        outcome
    }
}

/// Whoever has one address of IPv6 has all of its last 64 bits.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_left_alone_after_five_failures_until_a_minute_has_passed() {
        let (lockout, account) = (Lockout::new(), Uuid::from_u128(1));
        for attempt in 0..5 {
            assert_eq!(lockout.begin(account, attempt * 1_000), Ok(()));
        }
        assert_eq!(lockout.begin(account, 5_000), Err(ACCOUNT_LOCKED));
        assert_eq!(lockout.begin(Uuid::from_u128(2), 5_000), Ok(()), "another is not concerned");
        assert_eq!(lockout.begin(account, 59_999), Err(ACCOUNT_LOCKED));
        assert_eq!(lockout.begin(account, 60_000), Ok(()), "the first is a minute ago");
        assert_eq!(lockout.begin(account, 60_000), Err(ACCOUNT_LOCKED), "the second is not");
    }

    #[test]
    fn success_and_what_was_not_tried_do_not_count() {
        let (lockout, account) = (Lockout::new(), Uuid::from_u128(1));
        for attempt in 0..100 {
            assert_eq!(lockout.begin(account, attempt), Ok(()));
            lockout.take_back(account, attempt);
        }
        for _ in 0..3 {
            (0..4).for_each(|_| lockout.begin(account, 1_000).expect("these are few"));
            lockout.succeeded(account);
        }
    }

    #[test]
    fn an_address_is_left_alone_after_ten_failures_with_its_network() {
        let lockout = Lockout::new();
        let address = |text: &str| Some(text.parse().expect("it is an address"));
        (0..10).for_each(|_| lockout.failed(address("2001:db8::1"), 0));
        assert_eq!(lockout.check_address(address("2001:db8::2"), 599_999), Err(ADDRESS_LOCKED));
        assert_eq!(lockout.check_address(address("2001:db8:0:1::1"), 0), Ok(()));
        assert_eq!(lockout.check_address(address("2001:db8::2"), 600_000), Ok(()));
        assert_eq!(lockout.check_address(None, 0), Ok(()), "the server's own code has no address");
    }

    #[test]
    fn memory_is_bounded_and_who_is_locked_stays_so_under_a_flood() {
        let window = Window::new(5, 60_000);
        (0..5).for_each(|_| assert!(window.add(0_u64, 0)));
        for key in 1..400_000 {
            window.add(key, 1);
            if key % 10_000 == 0 {
                assert!(window.is_full(0, 2), "whoever is asked for is not forgotten");
            }
        }
        let halves = window.halves.lock().expect("nobody panicked");
        assert!(halves.iter().map(HashMap::len).sum::<usize>() <= 2 * HALF_MAX);
    }
}
