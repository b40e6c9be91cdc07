//! State shared by the threads.

use super::address::Address;
use super::connection::PostgresConnection;
use crate::error::StoreError;
use crate::job::Job;
use crate::metrics::StoreMetrics;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// After a failed attempt to connect, operations fail for this long without another attempt.
const CONNECT_PAUSE: Duration = Duration::from_millis(250);
/// Maximum number of ordered operations that wait, in addition to those that wait for a thread.
const WAITING_MAX: usize = 4_096;

/// State shared by the threads.
pub(crate) struct Pool {
    pub(super) address: Address,
    pub(super) metrics: StoreMetrics,
    /// Time limit of an operation.
    pub(super) time_max: Duration,
    /// Last failure to connect, until an attempt succeeds.
    outage: Mutex<Option<(Instant, StoreError)>>,
    ordered: Mutex<OrderedJobs>,
}

/// Queues of ordered operations, by number. A number has a queue while one of its operations runs.
#[derive(Default)]
struct OrderedJobs {
    queues: HashMap<u64, VecDeque<Job>>,
    waiting: usize,
}

impl Pool {
    pub fn new(address: Address, time_max: Duration, metrics: StoreMetrics) -> Arc<Pool> {
        Arc::new(Pool { address, metrics, time_max, outage: Mutex::default(), ordered: Mutex::default() })
    }

    /// Returns the job if no other job of its number runs. Otherwise queues it without occupying a thread.
    pub(super) fn enqueue_ordered(&self, number: u64, mut job: Job) -> Option<Job> {
        // It has its turn when it leaves the queue of its number.
        job.has_turn = true;
        let mut ordered = lock(&self.ordered);
        let full = ordered.waiting >= WAITING_MAX;
        let Some(queue) = ordered.queues.get_mut(&number) else {
            ordered.queues.insert(number, VecDeque::new());
            return Some(job);
        };
        if full {
            drop(ordered);
            self.metrics.refused.inc();
            let why = "too many operations are queued; try again in a moment";
            job.answer(Err(StoreError::Unavailable(why.to_owned())), &self.metrics);
            return None;
        }
        queue.push_back(job);
        ordered.waiting += 1;
        self.metrics.waiting.inc();
        None
    }

    /// Returns the next job of a number after one has finished.
    pub(super) fn next_ordered(&self, number: u64) -> Option<Job> {
        let mut ordered = lock(&self.ordered);
        let next = ordered.queues.get_mut(&number).and_then(VecDeque::pop_front);
        match next {
            Some(_) => ordered.waiting -= 1,
            None => drop(ordered.queues.remove(&number)),
        }
        next
    }

    /// Closes a connection, if there is one.
    pub(super) fn disconnect(&self, connection: &mut Option<PostgresConnection>) {
        if connection.take().is_some() {
            self.metrics.connections.dec();
        }
    }

    /// Fails if an attempt to connect has just failed.
    pub(super) fn check_outage(&self) -> Result<(), StoreError> {
        match &*lock(&self.outage) {
            Some((at, error)) if at.elapsed() < CONNECT_PAUSE => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Records the result of an attempt to connect.
    pub(super) fn record_outage(&self, error: Option<&StoreError>) {
        let mut outage = lock(&self.outage);
        match (&*outage, &error) {
            (None, Some(error)) => warn!(%error, "PostgreSQL unreachable"),
            (Some(_), None) => info!("PostgreSQL reachable again"),
            _ => {}
        }
        *outage = error.map(|error| (Instant::now(), error.clone()));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
