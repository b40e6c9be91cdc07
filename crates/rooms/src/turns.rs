//! Turns by key: one task at a time for each key, and no waiting between keys.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedMutexGuard;

type KeyLock = Arc<tokio::sync::Mutex<()>>;

/// Locks by key. A key takes memory only while someone holds it or waits for it.
pub(crate) struct KeyedLocks<K: Eq + Hash + Clone> {
    locks: Arc<Mutex<HashMap<K, KeyLock>>>,
}

impl<K: Eq + Hash + Clone> Default for KeyedLocks<K> {
    fn default() -> Self {
        KeyedLocks { locks: Arc::default() }
    }
}

impl<K: Eq + Hash + Clone> KeyedLocks<K> {
    /// Waits for the turn of a key; it lasts until the guard is dropped.
    pub async fn wait(&self, key: K) -> KeyedLockGuard<K> {
        let lock = Arc::clone(self.locks().entry(key.clone()).or_default());
        // Made before waiting, so that the key is forgotten also if the task is dropped while it waits.
        let mut turn = KeyedLockGuard { guard: None, key, locks: Arc::clone(&self.locks) };
        turn.guard = Some(lock.lock_owned().await);
        turn
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<K, KeyLock>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn of one task.
pub(crate) struct KeyedLockGuard<K: Eq + Hash + Clone> {
    guard: Option<OwnedMutexGuard<()>>,
    key: K,
    locks: Arc<Mutex<HashMap<K, KeyLock>>>,
}

impl<K: Eq + Hash + Clone> Drop for KeyedLockGuard<K> {
    fn drop(&mut self) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        self.guard = None;
        // Whoever holds or waits has a reference beside that of the map.
        if locks.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    fn poll<T>(future: std::pin::Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_key_has_one_turn_at_a_time_and_others_do_not_wait() {
        let turns = KeyedLocks::default();
        let Poll::Ready(first) = poll(pin!(turns.wait("a"))) else { panic!("nobody has the turn") };
        let mut second = pin!(turns.wait("a"));
        assert!(poll(second.as_mut()).is_pending());
        assert!(poll(pin!(turns.wait("b"))).is_ready());
        drop(first);
        assert!(poll(second).is_ready());
    }

    #[test]
    fn keys_that_nobody_waits_for_are_forgotten() {
        let turns = KeyedLocks::default();
        let Poll::Ready(first) = poll(pin!(turns.wait("a"))) else { panic!("nobody has the turn") };
        {
            let mut given_up = Box::pin(turns.wait("a"));
            assert!(poll(given_up.as_mut()).is_pending());
        }
        drop(first);
        assert!(turns.locks().is_empty());
        let Poll::Ready(first) = poll(pin!(turns.wait("a"))) else { panic!("nobody has the turn") };
        let mut waits = Box::pin(turns.wait("a"));
        assert!(poll(waits.as_mut()).is_pending());
        drop(first);
        drop(waits);
        assert!(turns.locks().is_empty(), "the one who waited last forgets the key");
    }
}
