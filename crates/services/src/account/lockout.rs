//! Limits failed sign-ins and code requests by account and address. Held in bounded memory.

use crate::error::{GrpcCode, ServiceError};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use uuid::Uuid;

/// Failures of an account per period, after which it is locked for the rest of the period.
const ACCOUNT_FAILURES_MAX: usize = 5;
const ACCOUNT_PERIOD_MS: i64 = 60_000;
/// Failures of an address per period: enough for a household, too few to guess passwords.
const ADDRESS_FAILURES_MAX: usize = 10;
const ADDRESS_PERIOD_MS: i64 = 600_000;
/// Codes sent to an account per period. More would be a nuisance to its owner.
const ACCOUNT_CODES_MAX: usize = 3;
/// Codes requested by an address per period.
const ADDRESS_CODES_MAX: usize = 10;
const CODES_PERIOD_MS: i64 = 600_000;

/// Maximum entries of one half of a window. To evict an entry, an attacker needs as many addresses or accounts, with a
/// failure for each.
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
    "Too many codes were requested from this address. Try again in ten minutes.",
)
.retry_after(600);

/// Counts failures and code requests.
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

    /// Rejects an address with too many failures.
    pub fn check_address(&self, address: Option<IpAddr>, now: i64) -> Result<(), ServiceError> {
        match address {
            Some(address) if self.addresses.is_full(network_of(address), now) => Err(ADDRESS_LOCKED),
            _ => Ok(()),
        }
    }

    /// Counts an attempt on an account as failed before it is made, so that concurrent attempts cannot bypass the
    /// limit. Rejects it if there were too many.
    pub fn begin(&self, account: Uuid, now: i64) -> Result<(), ServiceError> {
        if self.accounts.add(account, now) { Ok(()) } else { Err(ACCOUNT_LOCKED) }
    }

    /// Clears the failures of an account after a success.
    pub fn succeeded(&self, account: Uuid) {
        self.accounts.clear(account);
    }

    /// Uncounts an attempt that was not made.
    pub fn cancel(&self, account: Uuid, now: i64) {
        self.accounts.remove(account, now);
    }

    /// Counts a failure of an address.
    pub fn failed(&self, address: Option<IpAddr>, now: i64) {
        if let Some(address) = address {
            self.addresses.add(network_of(address), now);
        }
    }

    /// Counts a code request of an address. Rejects it if there were too many.
    pub fn count_code_request(&self, address: Option<IpAddr>, now: i64) -> Result<(), ServiceError> {
        match address {
            Some(address) if !self.address_codes.add(network_of(address), now) => Err(CODES_LOCKED),
            _ => Ok(()),
        }
    }

    /// Counts a code sent to an account. Returns false if there were too many.
    pub fn may_send_code(&self, account: Uuid, now: i64) -> bool {
        self.account_codes.add(account, now)
    }
}

/// Recent events by key, up to a number per period. When full, it forgets the least recently used keys: of two halves,
/// the older is dropped when the younger is full.
struct Window<K> {
    count_max: usize,
    period_ms: i64,
    halves: Mutex<[HashMap<K, Vec<i64>>; 2]>,
}

impl<K: Hash + Eq + Copy> Window<K> {
    fn new(count_max: usize, period_ms: i64) -> Window<K> {
        Window { count_max, period_ms, halves: Mutex::new([HashMap::new(), HashMap::new()]) }
    }

    /// Returns true if the limit is reached.
    fn is_full(&self, key: K, now: i64) -> bool {
        self.with(key, now, |times| times.len() >= self.count_max)
    }

    /// Counts an event. Returns false if the limit is reached.
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

    /// Uncounts an event.
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

/// Returns the network of an address. A client usually has a whole /64 of IPv6.
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
    fn an_account_is_locked_for_a_minute_after_five_failures() {
        let (lockout, account) = (Lockout::new(), Uuid::from_u128(1));
        for attempt in 0..5 {
            assert_eq!(lockout.begin(account, attempt * 1_000), Ok(()));
        }
        assert_eq!(lockout.begin(account, 5_000), Err(ACCOUNT_LOCKED));
        assert_eq!(lockout.begin(Uuid::from_u128(2), 5_000), Ok(()), "other accounts are not affected");
        assert_eq!(lockout.begin(account, 59_999), Err(ACCOUNT_LOCKED));
        assert_eq!(lockout.begin(account, 60_000), Ok(()), "the first failure is a minute ago");
        assert_eq!(lockout.begin(account, 60_000), Err(ACCOUNT_LOCKED), "the second failure is not");
    }

    #[test]
    fn successes_and_canceled_attempts_do_not_count() {
        let (lockout, account) = (Lockout::new(), Uuid::from_u128(1));
        for attempt in 0..100 {
            assert_eq!(lockout.begin(account, attempt), Ok(()));
            lockout.cancel(account, attempt);
        }
        for _ in 0..3 {
            (0..4).for_each(|_| lockout.begin(account, 1_000).expect("these are few"));
            lockout.succeeded(account);
        }
    }

    #[test]
    fn an_address_is_locked_with_its_network_after_ten_failures() {
        let lockout = Lockout::new();
        let address = |text: &str| Some(text.parse().expect("it is an address"));
        (0..10).for_each(|_| lockout.failed(address("2001:db8::1"), 0));
        assert_eq!(lockout.check_address(address("2001:db8::2"), 599_999), Err(ADDRESS_LOCKED));
        assert_eq!(lockout.check_address(address("2001:db8:0:1::1"), 0), Ok(()));
        assert_eq!(lockout.check_address(address("2001:db8::2"), 600_000), Ok(()));
        assert_eq!(lockout.check_address(None, 0), Ok(()), "server code has no address");
    }

    #[test]
    fn memory_is_bounded_and_locks_survive_a_flood() {
        let window = Window::new(5, 60_000);
        (0..5).for_each(|_| assert!(window.add(0_u64, 0)));
        for key in 1..400_000 {
            window.add(key, 1);
            if key % 10_000 == 0 {
                assert!(window.is_full(0, 2), "a key in use is not forgotten");
            }
        }
        let halves = window.halves.lock().expect("nobody panicked");
        assert!(halves.iter().map(HashMap::len).sum::<usize>() <= 2 * HALF_MAX);
    }
}
