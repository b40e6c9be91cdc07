//! What the threads share.

use super::address::Address;
use crate::error::StoreError;
use crate::figures::StoreMetrics;
use crate::job::Job;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// After a failed attempt to connect, others are refused for so long without a further one.
const CONNECT_PAUSE: Duration = Duration::from_millis(250);
/// Operations that may wait for their turn, beside those that wait for a thread.
const WAITING_MAX: usize = 4_096;

/// What the threads share.
pub(crate) struct Pool {
    pub(super) address: Address,
    pub(super) figures: StoreMetrics,
    /// How long an operation may take.
    pub(super) time_max: Duration,
    /// The last failure to connect, while it lasts.
    outage: Mutex<Option<(Instant, StoreError)>>,
    turns: Mutex<Turns>,
}

/// Operations that go one after the other, by their number. A number is there while one of them is being done.
#[derive(Default)]
struct Turns {
    queues: HashMap<u64, VecDeque<Job>>,
    waiting: usize,
}

impl Pool {
    pub fn new(address: Address, time_max: Duration, figures: StoreMetrics) -> Arc<Pool> {
        Arc::new(Pool { address, figures, time_max, outage: Mutex::default(), turns: Mutex::default() })
    }

    /// Gives a job back if it is its turn; otherwise it waits for the one before it, without a thread.
    pub(super) fn take_turn(&self, number: u64, job: Job) -> Option<Job> {
        let mut turns = locked(&self.turns);
        let full = turns.waiting >= WAITING_MAX;
        let Some(queue) = turns.queues.get_mut(&number) else {
            turns.queues.insert(number, VecDeque::new());
            return Some(job);
        };
        if full {
            drop(turns);
            self.figures.refused.inc();
            let why = "too many operations are waiting for their turn; try again in a moment";
            job.answer(Err(StoreError::Unavailable(why.to_owned())), &self.figures);
            return None;
        }
        queue.push_back(job);
        turns.waiting += 1;
        self.figures.waiting.inc();
        None
    }

    /// The next one whose turn it is, after one of the same number was done.
    pub(super) fn next_turn(&self, number: u64) -> Option<Job> {
        let mut turns = locked(&self.turns);
        let next = turns.queues.get_mut(&number).and_then(VecDeque::pop_front);
        match next {
            Some(_) => turns.waiting -= 1,
            None => drop(turns.queues.remove(&number)),
        }
        next
    }

    /// Refuses while the last attempt to connect was just now.
    pub(super) fn check_outage(&self) -> Result<(), StoreError> {
        match &*locked(&self.outage) {
            Some((at, why)) if at.elapsed() < CONNECT_PAUSE => Err(why.clone()),
            _ => Ok(()),
        }
    }

    /// Notes how an attempt to connect went.
    pub(super) fn note_outage(&self, now: Option<&StoreError>) {
        let mut outage = locked(&self.outage);
        match (&*outage, &now) {
            (None, Some(why)) => warn!(%why, "PostgreSQL cannot be reached"),
            (Some(_), None) => info!("PostgreSQL can be reached again"),
            _ => {}
        }
        *outage = now.map(|why| (Instant::now(), why.clone()));
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
