//! [`BoundedQueue`]: a bounded queue that allocates on demand.

use crossbeam_queue::SegQueue;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A queue between threads for rare items and bursts. For a constant flow use [`crossbeam_queue::ArrayQueue`], which
/// reserves its memory and never allocates.
#[derive(Debug)]
pub struct BoundedQueue<T> {
    /// Allocated by the first push: it takes 256 bytes, and many queues are never used.
    queue: OnceLock<Box<SegQueue<T>>>,
    /// Incremented before a push and decremented after a pop, so it is never below the true length.
    length: AtomicUsize,
    length_max: usize,
}

impl<T> BoundedQueue<T> {
    pub fn new(length_max: usize) -> Self {
        BoundedQueue { queue: OnceLock::new(), length: AtomicUsize::new(0), length_max }
    }

    /// Returns the value if the queue is full.
    pub fn push(&self, value: T) -> Result<(), T> {
        // Release: a thread that sees the count also sees what was done before the push. A failed push is never
        // counted: a consumer that takes as many as it counted would otherwise take a later item.
        let counted = self.length.fetch_update(Ordering::Release, Ordering::Relaxed, |length| {
            (length < self.length_max).then_some(length + 1)
        });
        if counted.is_err() {
            return Err(value);
        }
        self.queue.get_or_init(Box::default).push(value);
        Ok(())
    }

    pub fn pop(&self) -> Option<T> {
        // The queue is usually empty, and this check touches one cache line.
        if self.length.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let value = self.queue.get()?.pop()?;
        self.length.fetch_sub(1, Ordering::Relaxed);
        Some(value)
    }

    /// Returns the number of items in the queue or about to be pushed.
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    /// Returns false if an item is in the queue or about to be pushed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_bounded() {
        let queue = BoundedQueue::new(3);
        for value in 0..3 {
            assert_eq!(queue.push(value), Ok(()));
        }
        assert_eq!(queue.push(3), Err(3));
        assert_eq!(queue.pop(), Some(0));
        assert_eq!(queue.push(4), Ok(()));
        assert_eq!(std::iter::from_fn(|| queue.pop()).collect::<Vec<_>>(), [1, 2, 4]);
        assert!(queue.is_empty());
    }

    #[test]
    fn two_threads_lose_nothing_and_keep_the_order() {
        let queue = BoundedQueue::new(16);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for value in 0..10_000 {
                    while queue.push(value).is_err() {
                        std::hint::spin_loop();
                    }
                }
            });
            for expected in 0..10_000 {
                let value = loop {
                    if let Some(value) = queue.pop() {
                        break value;
                    }
                    std::hint::spin_loop();
                };
                assert_eq!(value, expected);
            }
        });
    }
}
