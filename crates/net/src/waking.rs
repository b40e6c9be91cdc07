//! [`WakeTask`]: wakes connections on the threads that they run on.

use aether_engine::ConnectionWaking;
use atomic_waker::AtomicWaker;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Up to this number of connections, the tick thread wakes them itself: passing them on would cost as much.
const FEW_CONNECTIONS: usize = 2;

/// Wakes the connections of all rooms from one task of the I/O threads.
///
/// A tick thread then wakes one task after a tick instead of hundreds. The task wakes the connections into the queue of
/// its own thread, without a system call, and idle threads take some of them from there.
#[derive(Debug, Default)]
pub struct WakeTask {
    wakers: Mutex<Vec<Waker>>,
    task: AtomicWaker,
}

impl WakeTask {
    /// Starts the task. It ends with the runtime.
    #[must_use]
    pub fn start() -> Arc<WakeTask> {
        let shared = Arc::new(WakeTask::default());
        let task = Arc::clone(&shared);
        tokio::spawn(async move {
            let mut wakers = Vec::new();
            poll_fn(|cx| task.poll(cx, &mut wakers)).await
        });
        shared
    }

    fn poll(&self, cx: &mut Context<'_>, wakers: &mut Vec<Waker>) -> Poll<()> {
        self.task.register(cx.waker());
        // Swapped, so that neither side allocates in steady state.
        std::mem::swap(wakers, &mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.drain(..).for_each(Waker::wake);
        Poll::Pending
    }
}

impl ConnectionWaking for WakeTask {
    fn wake(&self, wakers: &mut Vec<Waker>) {
        if wakers.len() <= FEW_CONNECTIONS {
            return wakers.drain(..).for_each(Waker::wake);
        }
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner).append(wakers);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn every_connection_of_every_batch_is_woken_once() {
        let waking = WakeTask::start();
        let tasks: Vec<Arc<Task>> = (0..100).map(|_| Arc::default()).collect();
        let mut batch = Vec::new();
        // From another thread, as rooms do; two batches before the task runs, and one with few connections.
        let (first, rest) = tasks.split_at(40);
        let (second, few) = rest.split_at(rest.len() - FEW_CONNECTIONS);
        for connections in [first, second, few] {
            batch.extend(connections.iter().map(|task| Waker::from(Arc::clone(task))));
            waking.wake(&mut batch);
            assert!(batch.is_empty());
        }
        let is_woken = |task: &Arc<Task>| task.0.load(Ordering::SeqCst) == 1;
        assert!(few.iter().all(is_woken), "few connections are woken at once");
        while !tasks.iter().all(is_woken) {
            tokio::task::yield_now().await;
        }
    }
}
