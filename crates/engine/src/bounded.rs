//! A queue with an upper end that takes memory only for what is in it.

use crossbeam_queue::SegQueue;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A queue between threads for what comes seldom and in bursts. [`crossbeam_queue::ArrayQueue`] is the choice for what
/// flows all the time: it holds its memory for good, and never allocates.
#[derive(Debug)]
pub struct BoundedQueue<T> {
    queue: SegQueue<T>,
    /// Counted before something is pushed and after it was popped, so it is never below the true length.
    length: AtomicUsize,
    length_max: usize,
}

impl<T> BoundedQueue<T> {
    pub fn new(length_max: usize) -> Self {
        BoundedQueue { queue: SegQueue::new(), length: AtomicUsize::new(0), length_max }
    }

    /// Gives the value back when the queue is full.
    pub fn push(&self, value: T) -> Result<(), T> {
        // Whoever sees the count also sees what was done before the push. What is refused is never counted: whoever takes
        // as many as there were would otherwise take one that came later.
        let counted = self.length.fetch_update(Ordering::Release, Ordering::Relaxed, |length| {
            (length < self.length_max).then_some(length + 1)
        });
        if counted.is_err() {
            return Err(value);
        }
        self.queue.push(value);
        Ok(())
    }

    pub fn pop(&self) -> Option<T> {
        // An empty queue is the usual case, and the count is in one place.
        if self.length.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let value = self.queue.pop()?;
        self.length.fetch_sub(1, Ordering::Relaxed);
        Some(value)
    }

    /// How many are in it or about to be.
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Acquire)
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_so_many_and_no_more() {
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
