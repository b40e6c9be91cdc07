//! Locks by key: one task at a time for each key; keys do not block each other.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedMutexGuard;

type KeyLock = Arc<tokio::sync::Mutex<()>>;

/// Locks by key. A key uses memory only while it is locked or awaited.
pub(crate) struct KeyedLocks<K: Eq + Hash + Clone> {
    locks: Arc<Mutex<HashMap<K, KeyLock>>>,
}

impl<K: Eq + Hash + Clone> Default for KeyedLocks<K> {
    fn default() -> Self {
        KeyedLocks { locks: Arc::default() }
    }
}

impl<K: Eq + Hash + Clone> KeyedLocks<K> {
    /// Locks a key until the guard is dropped.
    pub async fn lock(&self, key: K) -> KeyedLockGuard<K> {
        let lock = Arc::clone(self.locks().entry(key.clone()).or_default());
        // Created before waiting, so that the key is removed also if the task is dropped while it waiter.
        let mut guard = KeyedLockGuard { guard: None, key, locks: Arc::clone(&self.locks) };
        guard.guard = Some(lock.lock_owned().await);
        guard
    }

    fn locks(&self) -> MutexGuard<'_, HashMap<K, KeyLock>> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds the lock of a key.
pub(crate) struct KeyedLockGuard<K: Eq + Hash + Clone> {
    guard: Option<OwnedMutexGuard<()>>,
    key: K,
    locks: Arc<Mutex<HashMap<K, KeyLock>>>,
}

impl<K: Eq + Hash + Clone> Drop for KeyedLockGuard<K> {
    fn drop(&mut self) {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        self.guard = None;
        // Holders and waiters have a reference in addition to that of the map.
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
    fn a_key_is_locked_once_at_a_time_and_others_are_free() {
        let locks = KeyedLocks::default();
        let Poll::Ready(first) = poll(pin!(locks.lock("a"))) else { panic!("the key is free") };
        let mut second = pin!(locks.lock("a"));
        assert!(poll(second.as_mut()).is_pending());
        assert!(poll(pin!(locks.lock("b"))).is_ready());
        drop(first);
        assert!(poll(second).is_ready());
    }

    #[test]
    fn unused_keys_are_removed() {
        let locks = KeyedLocks::default();
        let Poll::Ready(first) = poll(pin!(locks.lock("a"))) else { panic!("the key is free") };
        {
            let mut cancelled = Box::pin(locks.lock("a"));
            assert!(poll(cancelled.as_mut()).is_pending());
        }
        drop(first);
        assert!(locks.locks().is_empty());
        let Poll::Ready(first) = poll(pin!(locks.lock("a"))) else { panic!("the key is free") };
        let mut waiter = Box::pin(locks.lock("a"));
        assert!(poll(waiter.as_mut()).is_pending());
        drop(first);
        drop(waiter);
        assert!(locks.locks().is_empty(), "the last waiter removes the key");
    }
}
