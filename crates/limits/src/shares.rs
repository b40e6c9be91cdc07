//! Shares of a limit, counted by key.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the shares of each key. A share is returned when dropped.
#[derive(Debug)]
pub struct KeyedShares<K> {
    counts: Arc<Mutex<ShareCounts<K>>>,
}

#[derive(Debug)]
struct ShareCounts<K> {
    by_key: BTreeMap<K, u32>,
    total: u32,
}

/// A share of a key.
#[derive(Debug)]
pub struct KeyedShare<K: Ord> {
    counts: Arc<Mutex<ShareCounts<K>>>,
    key: Option<K>,
}

impl<K> Default for KeyedShares<K> {
    fn default() -> Self {
        KeyedShares { counts: Arc::new(Mutex::new(ShareCounts { by_key: BTreeMap::new(), total: 0 })) }
    }
}

/// A clone has the same counts.
impl<K> Clone for KeyedShares<K> {
    fn clone(&self) -> Self {
        KeyedShares { counts: Arc::clone(&self.counts) }
    }
}

impl<K: Ord + Clone> KeyedShares<K> {
    /// Takes a share for a key. Returns `None` if the limit of the key or the total limit is reached.
    #[must_use]
    pub fn take(&self, key: K, per_key_max: u32, total_max: u32) -> Option<KeyedShare<K>> {
        let mut counts = lock(&self.counts);
        let of_key = counts.by_key.get(&key).copied().unwrap_or(0);
        if of_key >= per_key_max || counts.total >= total_max {
            return None;
        }
        counts.by_key.insert(key.clone(), of_key + 1);
        counts.total += 1;
        Some(KeyedShare { counts: Arc::clone(&self.counts), key: Some(key) })
    }

    /// Number of shares of a key.
    #[must_use]
    pub fn count(&self, key: &K) -> u32 {
        lock(&self.counts).by_key.get(key).copied().unwrap_or(0)
    }

    /// Number of all shares.
    #[must_use]
    pub fn total(&self) -> u32 {
        lock(&self.counts).total
    }
}

impl<K: Ord> Drop for KeyedShare<K> {
    fn drop(&mut self) {
        let Some(key) = self.key.take() else { return };
        let mut counts = lock(&self.counts);
        counts.total -= 1;
        if let Some(count) = counts.by_key.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                counts.by_key.remove(&key);
            }
        }
    }
}

fn lock<K>(counts: &Mutex<ShareCounts<K>>) -> MutexGuard<'_, ShareCounts<K>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the network that counts as one peer: an IPv4 address, or the /64 network of an IPv6 address.
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
    fn a_key_and_all_keys_together_have_a_limit() {
        let shares = KeyedShares::default();
        let first = shares.take("ann", 2, 3);
        let _second = shares.take("ann", 2, 3).unwrap();
        assert!(shares.take("ann", 2, 3).is_none(), "the limit of ann is reached");
        let _third = shares.take("ben", 2, 3).unwrap();
        assert!(shares.take("cat", 2, 3).is_none(), "the total limit is reached");
        assert_eq!((shares.count(&"ann"), shares.count(&"ben"), shares.count(&"cat")), (2, 1, 0));
        drop(first);
        assert_eq!((shares.clone().count(&"ann"), shares.total()), (1, 2));
        assert!(shares.take("ann", 2, 3).is_some());
        assert_eq!(shares.total(), 2, "a dropped share is returned");
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
