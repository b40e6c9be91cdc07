//! Limits failed sign-ins and code requests by account and address. Held in bounded memory.
//!
//! Guesses are limited by the pair of account and address first, so that a stranger's guesses do not lock the owner out.
//! An address with many failures is locked for all accounts, and an account with very many failures for all addresses
//! that it has not signed in from. Every attempt is counted before its password is hashed.

use crate::error::{GrpcCode, ServiceError};
use aether_limits::{Network, network_of, networks_of};
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use uuid::Uuid;

/// Failures of an account from one address per period, after which the address is locked out of the account for the rest
/// of the period.
const PAIR_FAILURES_MAX: usize = 5;
const PAIR_PERIOD_MS: i64 = 60_000;
/// Failures of an account from all addresses per period. Reaching it takes several addresses; then only addresses that the
/// account has signed in from may try. It bounds guesses with many addresses to 720 a day.
const ACCOUNT_FAILURES_MAX: usize = 30;
const ACCOUNT_PERIOD_MS: i64 = 3_600_000;
/// Failures of an address per period: enough for a household, too few to guess passwords.
const ADDRESS_FAILURES_MAX: usize = 10;
const ADDRESS_PERIOD_MS: i64 = 600_000;
/// Codes sent to an account per period. More would be a nuisance to its owner.
const ACCOUNT_CODES_MAX: usize = 3;
/// Changes of login identities of an account per period. Each may send a message to its owner.
const ACCOUNT_CHANGES_MAX: usize = 20;
/// Codes requested by an address per period.
const ADDRESS_CODES_MAX: usize = 10;
const CODES_PERIOD_MS: i64 = 600_000;

/// Maximum entries of one half of a window. To evict an entry, an attacker needs as many addresses or accounts, with a
/// failure for each.
const HALF_MAX: usize = 65_536;

const PAIR_LOCKED: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many failed attempts to sign in to this account. Try again in a minute.",
)
.retry_after(60);
/// Error for an account that is locked for addresses that it has not signed in from.
pub(super) const ACCOUNT_LOCKED: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many failed attempts to sign in to this account. Sign in with a linked device or from a network that you used \
     before, reset the password, or try again in an hour.",
)
.retry_after(3_600);
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
    pairs: Window<(Uuid, IpAddr)>,
    accounts: Window<Uuid>,
    addresses: Window<Network>,
    account_codes: Window<Uuid>,
    address_codes: Window<Network>,
    account_changes: Window<Uuid>,
}

/// Attempt to sign in with a password.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub account: Uuid,
    /// Address of the client; none for server code.
    pub address: Option<IpAddr>,
    /// Time, in milliseconds since 1970.
    pub at: i64,
}

/// Admission of a counted attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Any client may make it.
    Anyone,
    /// The account has too many failures: only an address that it has signed in from may make it.
    KnownAddress,
}

impl Attempt {
    /// Returns the key of the pair. Server code counts as one address.
    fn pair(&self) -> (Uuid, IpAddr) {
        (self.account, self.address.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), network_of))
    }
}

impl Lockout {
    pub fn new() -> Lockout {
        Lockout {
            pairs: Window::new(PAIR_FAILURES_MAX, PAIR_PERIOD_MS),
            accounts: Window::new(ACCOUNT_FAILURES_MAX, ACCOUNT_PERIOD_MS),
            addresses: Window::new(ADDRESS_FAILURES_MAX, ADDRESS_PERIOD_MS),
            account_codes: Window::new(ACCOUNT_CODES_MAX, CODES_PERIOD_MS),
            address_codes: Window::new(ADDRESS_CODES_MAX, CODES_PERIOD_MS),
            account_changes: Window::new(ACCOUNT_CHANGES_MAX, CODES_PERIOD_MS),
        }
    }

    /// Rejects an address with too many failures.
    pub fn check_address(&self, address: Option<IpAddr>, now: i64) -> Result<(), ServiceError> {
        match address {
            Some(address) if self.addresses.is_full_for(address, now) => Err(ADDRESS_LOCKED),
            _ => Ok(()),
        }
    }

    /// Counts an attempt as failed before it is made, so that concurrent attempts cannot bypass a limit. Rejects it if
    /// there were too many of its address, or of its address on the account.
    pub fn begin(&self, attempt: &Attempt) -> Result<Admission, ServiceError> {
        if attempt.address.is_some_and(|address| !self.addresses.add_for(address, attempt.at)) {
            return Err(ADDRESS_LOCKED);
        }
        if !self.pairs.add(attempt.pair(), attempt.at) {
            attempt.address.inspect(|address| self.addresses.remove_for(*address, attempt.at));
            return Err(PAIR_LOCKED);
        }
        Ok(if self.accounts.add(attempt.account, attempt.at) { Admission::Anyone } else { Admission::KnownAddress })
    }

    /// Clears the failures of the address on the account after a success. Failures from other addresses stay.
    pub fn succeeded(&self, attempt: &Attempt, admission: Admission) {
        self.cancel(attempt, admission);
        self.pairs.clear(attempt.pair());
    }

    /// Uncounts an attempt that was not made.
    pub fn cancel(&self, attempt: &Attempt, admission: Admission) {
        if let Some(address) = attempt.address {
            self.addresses.remove_for(address, attempt.at);
        }
        self.pairs.remove(attempt.pair(), attempt.at);
        // Otherwise the account was full, and it was not counted there.
        if admission == Admission::Anyone {
            self.accounts.remove(attempt.account, attempt.at);
        }
    }

    /// Clears all failures of an account, after its owner has chosen a new password.
    pub fn clear(&self, account: Uuid) {
        self.accounts.clear(account);
        self.pairs.clear_all(|(of, _)| *of == account);
    }

    /// Counts a code request of an address. Rejects it if there were too many.
    pub fn count_code_request(&self, address: Option<IpAddr>, now: i64) -> Result<(), ServiceError> {
        match address {
            Some(address) if !self.address_codes.add_for(address, now) => Err(CODES_LOCKED),
            _ => Ok(()),
        }
    }

    /// Counts a change of the login identities of an account. Returns false if there were too many.
    pub fn may_change(&self, account: Uuid, now: i64) -> bool {
        self.account_changes.add(account, now)
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

/// Counts an address for each of its networks: that of an IPv6 address at several lengths of the prefix.
impl Window<Network> {
    fn is_full_for(&self, address: IpAddr, now: i64) -> bool {
        networks_of(address).any(|(network, multiple)| self.count(network, now) >= self.count_max * multiple as usize)
    }

    fn add_for(&self, address: IpAddr, now: i64) -> bool {
        for (index, (network, multiple)) in networks_of(address).enumerate() {
            if !self.add_up_to(network, now, self.count_max * multiple as usize) {
                // What was counted for the smaller networks is undone.
                networks_of(address).take(index).for_each(|(network, _)| self.remove(network, now));
                return false;
            }
        }
        true
    }

    fn remove_for(&self, address: IpAddr, at: i64) {
        networks_of(address).for_each(|(network, _)| self.remove(network, at));
    }
}

impl<K: Hash + Eq + Copy> Window<K> {
    fn new(count_max: usize, period_ms: i64) -> Window<K> {
        Window { count_max, period_ms, halves: Mutex::new([HashMap::new(), HashMap::new()]) }
    }

    /// Returns the number of recent events.
    fn count(&self, key: K, now: i64) -> usize {
        self.with(key, now, |times| times.len())
    }

    /// Counts an event. Returns false if the limit is reached.
    fn add(&self, key: K, now: i64) -> bool {
        self.add_up_to(key, now, self.count_max)
    }

    fn add_up_to(&self, key: K, now: i64, count_max: usize) -> bool {
        self.with(key, now, |times| {
            let fits = times.len() < count_max;
            if fits {
                times.push(now);
            }
            fits
        })
    }

    fn clear(&self, key: K) {
        self.with(key, i64::MAX, Vec::clear);
    }

    /// Clears the events of all keys that pass a test. It visits every key.
    fn clear_all(&self, is_meant: impl Fn(&K) -> bool) {
        let mut halves = self.halves.lock().unwrap_or_else(PoisonError::into_inner);
        for half in &mut *halves {
            half.retain(|key, _| !is_meant(key));
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(account: u128, address: &str, at: i64) -> Attempt {
        Attempt { account: Uuid::from_u128(account), address: address.parse().ok(), at }
    }

    #[test]
    fn five_failures_lock_an_address_out_of_an_account_for_a_minute() {
        let lockout = Lockout::new();
        for number in 0..5 {
            assert_eq!(lockout.begin(&attempt(1, "203.0.113.1", number * 1_000)), Ok(Admission::Anyone));
        }
        assert_eq!(lockout.begin(&attempt(1, "203.0.113.1", 5_000)), Err(PAIR_LOCKED));
        assert_eq!(lockout.begin(&attempt(2, "203.0.113.1", 5_000)), Ok(Admission::Anyone), "another account");
        assert_eq!(lockout.begin(&attempt(1, "203.0.113.2", 5_000)), Ok(Admission::Anyone), "another address");
        assert_eq!(lockout.begin(&attempt(1, "203.0.113.1", 59_999)), Err(PAIR_LOCKED));
        assert_eq!(
            lockout.begin(&attempt(1, "203.0.113.1", 60_000)),
            Ok(Admission::Anyone),
            "the first is a minute ago"
        );
        assert_eq!(lockout.begin(&attempt(1, "203.0.113.1", 60_000)), Err(PAIR_LOCKED), "the second is not");
    }

    #[test]
    fn thirty_failures_limit_an_account_to_known_addresses_for_an_hour() {
        let lockout = Lockout::new();
        for number in 0..30 {
            let address = format!("198.51.100.{}", number / 5);
            assert_eq!(lockout.begin(&attempt(1, &address, number)), Ok(Admission::Anyone));
        }
        assert_eq!(lockout.begin(&attempt(1, "203.0.113.1", 100)), Ok(Admission::KnownAddress));
        lockout.succeeded(&attempt(1, "203.0.113.1", 100), Admission::KnownAddress);
        assert_eq!(lockout.begin(&attempt(1, "203.0.113.2", 200)), Ok(Admission::KnownAddress), "failures stay");
        assert_eq!(lockout.begin(&attempt(1, "203.0.113.3", 3_600_000)), Ok(Admission::Anyone));
        lockout.clear(Uuid::from_u128(1));
        assert_eq!(lockout.begin(&attempt(1, "198.51.100.0", 3_600_000)), Ok(Admission::Anyone));
    }

    #[test]
    fn successes_and_canceled_attempts_do_not_count() {
        let lockout = Lockout::new();
        for at in 0..100 {
            let attempt = attempt(1, "203.0.113.1", at);
            assert_eq!(lockout.begin(&attempt), Ok(Admission::Anyone));
            lockout.cancel(&attempt, Admission::Anyone);
        }
        for at in 0..100 {
            let attempt = attempt(2, "203.0.113.1", at);
            assert_eq!(lockout.begin(&attempt), Ok(Admission::Anyone));
            lockout.succeeded(&attempt, Admission::Anyone);
        }
    }

    #[test]
    fn addresses_of_one_ipv6_customer_share_a_limit() {
        let lockout = Lockout::new();
        let tries = |addresses: &mut dyn Iterator<Item = String>| {
            let admitted = |(account, address): &(usize, String)| {
                lockout.begin(&attempt(1_000 + *account as u128, address, 0)).is_ok()
            };
            addresses.enumerate().filter(admitted).count()
        };
        // A /56 and a /48, with a /64 of its own for each attempt.
        assert_eq!(tries(&mut (0..100).map(|number| format!("2001:db8:1:{number:x}::1"))), 20);
        assert_eq!(tries(&mut (0..1_000).map(|number| format!("2001:db8:2:{:x}::1", number * 64))), 40);
        assert!(lockout.check_address("2001:db8:2:ffff::1".parse().ok(), 0).is_err());
        assert!(lockout.check_address("2001:db8:3::1".parse().ok(), 0).is_ok());
        let codes = (0..1_000).map(|number| format!("2001:db8:4:{:x}::1", number * 64));
        assert_eq!(codes.filter(|address| lockout.count_code_request(address.parse().ok(), 0).is_ok()).count(), 40);
    }

    #[test]
    fn an_address_is_locked_with_its_network_after_ten_failures() {
        let lockout = Lockout::new();
        (0..10).for_each(|account| assert!(lockout.begin(&attempt(account, "2001:db8::1", 0)).is_ok()));
        assert_eq!(lockout.begin(&attempt(99, "2001:db8::2", 599_999)), Err(ADDRESS_LOCKED));
        let address = |text: &str| Some(text.parse().expect("it is an address"));
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
                assert_eq!(window.count(0, 2), window.count_max, "a key in use is not forgotten");
            }
        }
        let halves = window.halves.lock().expect("nobody panicked");
        assert!(halves.iter().map(HashMap::len).sum::<usize>() <= 2 * HALF_MAX);
    }
}
