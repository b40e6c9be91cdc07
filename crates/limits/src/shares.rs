//! Shares: bound how much of something each of many holds at a time.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts what each key has; a share is given back when it is dropped.
#[derive(Debug)]
pub struct KeyedShares<K> {
    held: Arc<Mutex<Held<K>>>,
}

#[derive(Debug)]
struct Held<K> {
    by_key: BTreeMap<K, u32>,
    total: u32,
}

/// One of the shares of a key.
#[derive(Debug)]
pub struct KeyedShare<K: Ord> {
    held: Arc<Mutex<Held<K>>>,
    key: Option<K>,
}

impl<K> Default for KeyedShares<K> {
    fn default() -> Self {
        KeyedShares { held: Arc::new(Mutex::new(Held { by_key: BTreeMap::new(), total: 0 })) }
    }
}

/// The same counts, in other hands.
impl<K> Clone for KeyedShares<K> {
    fn clone(&self) -> Self {
        KeyedShares { held: Arc::clone(&self.held) }
    }
}

impl<K: Ord + Clone> KeyedShares<K> {
    /// One more share for a key; none if the key or all together have as many as they may.
    #[must_use]
    pub fn take(&self, key: K, per_key_max: u32, total_max: u32) -> Option<KeyedShare<K>> {
        let mut held = lock(&self.held);
        let of_key = held.by_key.get(&key).copied().unwrap_or(0);
        if of_key >= per_key_max || held.total >= total_max {
            return None;
        }
        held.by_key.insert(key.clone(), of_key + 1);
        held.total += 1;
        Some(KeyedShare { held: Arc::clone(&self.held), key: Some(key) })
    }

    /// Number of shares that a key holds.
    #[must_use]
    pub fn count(&self, key: &K) -> u32 {
        lock(&self.held).by_key.get(key).copied().unwrap_or(0)
    }

    /// Number of shares that are held.
    #[must_use]
    pub fn total(&self) -> u32 {
        lock(&self.held).total
    }
}

impl<K: Ord> Drop for KeyedShare<K> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        let mut held = lock(&self.held);
        held.total -= 1;
        if let Some(count) = held.by_key.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                held.by_key.remove(&key);
            }
        }
    }
}

fn lock<K>(held: &Mutex<Held<K>>) -> MutexGuard<'_, Held<K>> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns what counts as one peer: an IPv4 address, or the network that an IPv6 customer is given, who has 2^64 addresses.
#[must_use]
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_so_many_and_all_together_so_many() {
        let shares = KeyedShares::default();
        let first = shares.take("ann", 2, 3);
        let _second = shares.take("ann", 2, 3).unwrap();
        assert!(shares.take("ann", 2, 3).is_none(), "ann has enough");
        let _third = shares.take("ben", 2, 3).unwrap();
        assert!(shares.take("cat", 2, 3).is_none(), "all are given out");
        assert_eq!((shares.count(&"ann"), shares.count(&"ben"), shares.count(&"cat")), (2, 1, 0));
        drop(first);
        assert_eq!((shares.clone().count(&"ann"), shares.total()), (1, 2));
        assert!(shares.take("ann", 2, 3).is_some());
        assert_eq!(shares.total(), 2, "what is dropped at once is given back");
    }

    #[test]
    fn an_ipv6_network_is_one_peer_and_a_mapped_address_is_what_it_maps() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), network("2001:db8:1:2:ffff::"));
        assert_ne!(network("2001:db8:1:2::"), network("2001:db8:1:3::"));
        assert_eq!(network("::ffff:1.2.3.4"), network("1.2.3.4"));
        assert_eq!(network("::1").to_string(), "::1");
    }
}
