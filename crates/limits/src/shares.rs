//! Shares of a limit, counted by key.

use std::collections::BTreeMap;
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
    /// Number of shares that it holds.
    size: u32,
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
        self.take_many(key, 1, per_key_max, total_max)
    }

    /// Takes several shares for a key, all or none.
    #[must_use]
    pub fn take_many(&self, key: K, size: u32, per_key_max: u32, total_max: u32) -> Option<KeyedShare<K>> {
        let mut counts = lock(&self.counts);
        let of_key = counts.by_key.get(&key).copied().unwrap_or(0).checked_add(size)?;
        let total = counts.total.checked_add(size)?;
        if of_key > per_key_max || total > total_max {
            return None;
        }
        counts.by_key.insert(key.clone(), of_key);
        counts.total = total;
        Some(KeyedShare { counts: Arc::clone(&self.counts), key: Some(key), size })
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
        counts.total -= self.size;
        if let Some(count) = counts.by_key.get_mut(&key) {
            *count -= self.size;
            if *count == 0 {
                counts.by_key.remove(&key);
            }
        }
    }
}

fn lock<K>(counts: &Mutex<ShareCounts<K>>) -> MutexGuard<'_, ShareCounts<K>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn several_shares_are_taken_and_returned_together() {
        let shares = KeyedShares::default();
        let five = shares.take_many("ann", 5, 6, 8).unwrap();
        assert!(shares.take_many("ann", 2, 6, 8).is_none(), "7 of 6");
        assert!(shares.take_many("ben", 4, 6, 8).is_none(), "9 of 8");
        assert!(shares.take_many("ben", u32::MAX, u32::MAX, u32::MAX).is_none(), "sums do not overflow");
        assert_eq!((shares.count(&"ann"), shares.count(&"ben"), shares.total()), (5, 0, 5));
        drop(five);
        assert_eq!((shares.count(&"ann"), shares.total()), (0, 0));
    }
}
