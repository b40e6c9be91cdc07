//! An operation on its way to a thread of the store and back.

use crate::error::StoreError;
use crate::figures::StoreMetrics;
use crate::transaction::Transaction;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tracing::error;

/// How long an operation may wait for a thread before it is no longer worth doing: whoever asked has given up.
const WAIT_TIME_MAX: Duration = Duration::from_secs(10);

/// What is to be done with the database.
pub(crate) trait Work: Send {
    /// Does it; tells whether it is to be kept.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool;

    /// Answers the caller. `kept` says whether what was done has been committed.
    fn answer(self: Box<Self>, kept: Result<(), StoreError>);
}

/// Something to be done after a commit.
pub(crate) type Action = Box<dyn FnOnce() + Send>;

/// Work that waits for a thread.
pub(crate) struct Job {
    pub mode: Mode,
    work: Box<dyn Work>,
    since: Instant,
}

/// What a job needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It changes nothing.
    Read,
    /// It changes nothing and sees the database as it is at one moment.
    Snapshot,
    /// It changes something.
    Write,
    /// It changes something, one after the other with all of the same number, its after-commit part included.
    WriteInTurn(u64),
}

/// How an operation went.
pub(crate) struct Run {
    /// Whether it is to be kept; otherwise undone. With the error if it is not the operation's own.
    pub keep: Result<bool, StoreError>,
    /// What is to be done when it was committed.
    pub after_commit: Vec<Action>,
}

struct Call<F, T, E> {
    operation: F,
    outcome: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
}

impl Job {
    /// A job for an operation, and where its outcome arrives.
    pub fn new<F, T, E>(mode: Mode, operation: F) -> (Job, oneshot::Receiver<Result<T, E>>)
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (answer, outcome) = oneshot::channel();
        let work = Box::new(Call { operation, outcome: None, answer });
        (Job { work, mode, since: Instant::now() }, outcome)
    }

    /// Notes that a thread takes it. One that waited too long is answered, and gone.
    pub fn taken(self, figures: &StoreMetrics) -> Option<Job> {
        figures.waiting.dec();
        let waited = self.since.elapsed();
        figures.wait_seconds.observe(waited.as_secs_f64());
        if waited > WAIT_TIME_MAX {
            self.answer(Err(StoreError::Unavailable("it took too long until a thread was free".to_owned())), figures);
            return None;
        }
        Some(self)
    }

    /// Runs the operation. A panic in it is an error, and so is a statement that failed and was passed over.
    pub fn run(&mut self, transaction: &mut Transaction<'_>, figures: &StoreMetrics) -> Run {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.work.run(transaction)));
        let trouble = transaction.take_trouble();
        if let Some(trouble) = &trouble {
            figures.note(trouble);
        }
        let keep = match (outcome, trouble) {
            (Err(_), _) => Err(StoreError::Failed("the operation panicked".to_owned())),
            (Ok(false), _) => Ok(false),
            (Ok(true), Some(trouble)) => Err(trouble),
            (Ok(true), None) => Ok(true),
        };
        Run { keep, after_commit: transaction.take_after_commit() }
    }

    /// Answers the caller. `kept` says whether what was done has been committed.
    pub fn answer(self, kept: Result<(), StoreError>, figures: &StoreMetrics) {
        if let Err(error) = &kept {
            figures.note(error);
        }
        self.work.answer(kept);
    }
}

/// Does what was asked for after a commit. A panic there must not end a thread of the store.
pub(crate) fn act(actions: Vec<Action>) {
    for action in actions {
        if catch_unwind(AssertUnwindSafe(action)).is_err() {
            error!("what was to be done after a commit panicked");
        }
    }
}

impl<F, T, E> Work for Call<F, T, E>
where
    F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool {
        // If it is begun anew, what it found before does not count.
        self.outcome = None;
        let outcome = (self.operation)(transaction);
        let keep = outcome.is_ok();
        self.outcome = Some(outcome);
        keep
    }

    fn answer(self: Box<Self>, kept: Result<(), StoreError>) {
        let outcome = match (self.outcome, kept) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.into()),
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => Err(StoreError::Failed("the operation did not run".to_owned()).into()),
        };
        // Whoever asked may have gone away; what is committed stays.
        let _ = self.answer.send(outcome);
    }
}
