//! Queue of operations, fair between accounts.
//!
//! Operations of one account keep their order. Accounts take turns, one operation each, so the operations that one account
//! queues do not delay those of another. Every other turn belongs to the server, which has work for all of them.

use crate::job::Job;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Maximum number of operations that wait for a thread. More would time out before they run, and would take memory.
const WAITING_MAX: usize = 4_096;

tokio::task_local! {
    /// Account on whose behalf the current task works.
    static ACCOUNT: Uuid;
}

/// Runs a future on behalf of an account: the operations that it submits to a store take the turns of that account. Any id
/// that stands for one client will do, if the client has no account. Operations outside are those of the server.
pub async fn on_behalf_of<F: Future>(account: Uuid, future: F) -> F::Output {
    ACCOUNT.scope(account, future).await
}

/// Sending half. When all clones are dropped, the threads finish what is queued and end.
pub(crate) struct JobSender(Arc<Queue>);

/// Receiving half, one for each thread.
pub(crate) struct JobReceiver(Arc<Queue>);

/// Reason why an operation was not queued.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rejected {
    /// The queue is full, and no account has more operations in it than this one.
    Full,
    /// All threads have ended.
    Closed,
}

struct Queue {
    state: Mutex<QueueState>,
    filled: Condvar,
}

#[derive(Default)]
struct QueueState {
    server: VecDeque<Job>,
    accounts: BTreeMap<Uuid, VecDeque<Job>>,
    /// Accounts with operations, in the order of their turns.
    turns: VecDeque<Uuid>,
    /// Number of operations.
    waiting: usize,
    /// True if the next turn belongs to the server.
    is_server_next: bool,
    senders: usize,
    receivers: usize,
}

/// Creates a queue.
pub(crate) fn job_queue() -> (JobSender, JobReceiver) {
    let state = QueueState { senders: 1, receivers: 1, ..QueueState::default() };
    let queue = Arc::new(Queue { state: Mutex::new(state), filled: Condvar::new() });
    (JobSender(Arc::clone(&queue)), JobReceiver(queue))
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobSender {
    /// Queues an operation for the account of the current task. If the queue is full, this displaces the newest operation
    /// of the account with the most, which is returned.
    pub fn try_send(&self, job: Job) -> Result<Option<Job>, Rejected> {
        let account = ACCOUNT.try_with(|account| *account).ok();
        let displaced = self.0.lock().push(account, job)?;
        self.0.filled.notify_one();
        Ok(displaced)
    }

    /// Queues an operation that another queue has admitted, in the turns of the server. It is neither rejected nor
    /// displaced, because it may have locked out others of its number.
    pub fn forward(&self, job: Job) {
        self.0.lock().add(None, job);
        self.0.filled.notify_one();
    }
}

impl JobReceiver {
    /// Waits for the next operation. Returns `None` when the queue is empty and all senders are dropped.
    pub fn recv(&self) -> Option<Job> {
        let mut state = self.0.lock();
        loop {
            if let Some(job) = state.pop() {
                return Some(job);
            }
            if state.senders == 0 {
                return None;
            }
            state = self.0.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Returns the next operation, if there is one.
    pub fn try_recv(&self) -> Option<Job> {
        self.0.lock().pop()
    }
}

impl QueueState {
    fn push(&mut self, account: Option<Uuid>, job: Job) -> Result<Option<Job>, Rejected> {
        if self.receivers == 0 {
            return Err(Rejected::Closed);
        }
        let displaced = if self.waiting < WAITING_MAX { None } else { Some(self.displace(account)?) };
        self.add(account, job);
        Ok(displaced)
    }

    fn add(&mut self, account: Option<Uuid>, job: Job) {
        match account {
            None => self.server.push_back(job),
            Some(account) => {
                let jobs = self.accounts.entry(account).or_default();
                if jobs.is_empty() {
                    self.turns.push_back(account);
                }
                jobs.push_back(job);
            }
        }
        self.waiting += 1;
    }

    /// Removes the newest operation of the account with the most, unless `account` would then have as many itself.
    fn displace(&mut self, account: Option<Uuid>) -> Result<Job, Rejected> {
        let own = account.and_then(|account| self.accounts.get(&account)).map_or(0, VecDeque::len);
        let longest = self.accounts.values_mut().max_by_key(|jobs| jobs.len()).filter(|jobs| jobs.len() > own + 1);
        let job = longest.and_then(VecDeque::pop_back).ok_or(Rejected::Full)?;
        self.waiting -= 1;
        Ok(job)
    }

    fn pop(&mut self) -> Option<Job> {
        self.is_server_next = !self.is_server_next;
        let job = match self.is_server_next {
            true => self.server.pop_front().or_else(|| self.pop_account()),
            false => self.pop_account().or_else(|| self.server.pop_front()),
        }?;
        self.waiting -= 1;
        Some(job)
    }

    fn pop_account(&mut self) -> Option<Job> {
        let account = self.turns.pop_front()?;
        let jobs = self.accounts.get_mut(&account)?;
        let job = jobs.pop_front();
        if jobs.is_empty() {
            self.accounts.remove(&account);
        } else {
            self.turns.push_back(account);
        }
        job
    }
}

impl Clone for JobSender {
    fn clone(&self) -> JobSender {
        self.0.lock().senders += 1;
        JobSender(Arc::clone(&self.0))
    }
}

impl Drop for JobSender {
    fn drop(&mut self) {
        self.0.lock().senders -= 1;
        self.0.filled.notify_all();
    }
}

impl Clone for JobReceiver {
    fn clone(&self) -> JobReceiver {
        self.0.lock().receivers += 1;
        JobReceiver(Arc::clone(&self.0))
    }
}

impl Drop for JobReceiver {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.receivers -= 1;
        if state.receivers > 0 {
            return;
        }
        // Callers of operations that no thread will run get an error, because their channels close.
        let empty = QueueState { senders: state.senders, ..QueueState::default() };
        let rest = std::mem::replace(&mut *state, empty);
        drop(state);
        drop(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::StoreError;
    use crate::job::Mode;

    fn job() -> Job {
        Job::new(Mode::Write, |_| Ok::<_, StoreError>(())).0
    }

    /// Returns a queue with a number of operations of each account; account 0 is the server.
    fn filled(counts: &[(u128, usize)]) -> QueueState {
        let mut state = QueueState { receivers: 1, ..QueueState::default() };
        for &(account, count) in counts {
            for _ in 0..count {
                let account = Some(account).filter(|account| *account > 0).map(Uuid::from_u128);
                assert!(state.push(account, job()).unwrap().is_none());
            }
        }
        state
    }

    #[test]
    fn accounts_take_turns_and_every_other_turn_belongs_to_the_server() {
        let mut state = filled(&[(1, 1_000), (2, 1), (0, 2)]);
        let left = |state: &QueueState| {
            let of = |account| state.accounts.get(&Uuid::from_u128(account)).map_or(0, VecDeque::len);
            (state.server.len(), of(1), of(2))
        };
        let mut seen = Vec::new();
        for _ in 0..5 {
            state.pop().unwrap();
            seen.push(left(&state));
        }
        assert_eq!(seen, [(1, 1_000, 1), (1, 999, 1), (0, 999, 1), (0, 999, 0), (0, 998, 0)]);
        assert_eq!((0..998).filter(|_| state.pop().is_some()).count(), 998);
        assert!(state.pop().is_none());
        assert_eq!((state.waiting, state.turns.len(), state.accounts.len()), (0, 0, 0));
    }

    #[test]
    fn a_full_queue_displaces_operations_of_the_account_with_the_most() {
        let mut state = filled(&[(1, WAITING_MAX - 10), (2, 10)]);
        let [one, two, three] = [1, 2, 3].map(|account| Some(Uuid::from_u128(account)));
        assert!(matches!(state.push(one, job()), Err(Rejected::Full)));
        for account in [two, three, None] {
            assert!(state.push(account, job()).unwrap().is_some(), "{account:?}");
        }
        assert_eq!(state.waiting, WAITING_MAX);
        assert_eq!(state.accounts[&Uuid::from_u128(1)].len(), WAITING_MAX - 13);
        state.receivers = 0;
        assert!(matches!(state.push(three, job()), Err(Rejected::Closed)));
    }
}
