//! An operation in the queue of the store's threads, with the channel of its result.

use crate::error::StoreError;
use crate::metrics::StoreMetrics;
use crate::statement::{Answers, Statement, Statements};
use crate::transaction::Transaction;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use tracing::error;

/// Time limit for waiting in the queue. After it the caller has most likely given up.
const WAIT_TIME_MAX: Duration = Duration::from_secs(10);

/// Reason of operations that found no place in the queue.
pub(crate) const QUEUE_FULL: &str = "too many operations are queued; try again in a moment";

/// An operation without its result type.
pub(crate) trait Work: Send {
    /// Runs the operation. Returns true if it is to be committed.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool;

    /// Returns true if the operation has run and returned no error.
    fn is_ok(&self) -> bool;

    /// Returns the statements, if they are known before the operation runs.
    fn statements(&self) -> &[Statement] {
        &[]
    }

    /// Takes the answers to the statements, in place of [`Work::run`].
    fn accept(&mut self, _answers: Answers) {}

    /// Sends the result to the caller. `committed` is the result of the commit.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// Code that runs after a commit.
pub(crate) type Action = Box<dyn FnOnce() + Send>;

/// An operation in the queue.
pub(crate) struct Job {
    pub mode: Mode,
    /// True if no other job of its number runs, and none will until this one is done.
    pub has_turn: bool,
    work: Box<dyn Work>,
    queued_at: Instant,
}

/// Kind of transaction that a job needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Reads without a transaction.
    Read,
    /// Reads, and all statements see the same state.
    Snapshot,
    /// Writes.
    Write,
    /// Writes, one at a time among the jobs of the same number, including their after-commit actions.
    WriteInOrder(u64),
}

/// Result of running an operation.
pub(crate) struct RunOutcome {
    /// True if it is to be committed, false if the operation returned an error. An error if a statement failed or the
    /// operation panicked.
    pub commit: Result<bool, StoreError>,
    /// Actions for after the commit.
    pub after_commit: Vec<Action>,
}

struct Call<F, T, E> {
    operation: F,
    outcome: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
}

/// An operation whose statements are known.
struct StatementsCall<F, T, E> {
    statements: Vec<Statement>,
    answers: Option<Answers>,
    read: F,
    answer: oneshot::Sender<Result<T, E>>,
}

impl Job {
    /// Creates a job for an operation, and the receiver of its result.
    pub fn new<F, T, E>(mode: Mode, operation: F) -> (Job, oneshot::Receiver<Result<T, E>>)
    where
        F: Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (answer, outcome) = oneshot::channel();
        (Job::with(mode, Box::new(Call { operation, outcome: None, answer })), outcome)
    }

    /// Creates a job for an operation whose statements are known, and the receiver of its result.
    pub fn of_statements<F, T, E>(statements: Statements, read: F) -> (Job, oneshot::Receiver<Result<T, E>>)
    where
        F: FnOnce(&Answers) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (answer, outcome) = oneshot::channel();
        let Statements { mode, list } = statements;
        (Job::with(mode, Box::new(StatementsCall { statements: list, answers: None, read, answer })), outcome)
    }

    fn with(mode: Mode, work: Box<dyn Work>) -> Job {
        Job { work, mode, has_turn: false, queued_at: Instant::now() }
    }

    /// Returns the statements, if they are known before the operation runs.
    pub fn statements(&self) -> &[Statement] {
        self.work.statements()
    }

    /// Returns the approximate size of the statements' parameters.
    pub fn bytes(&self) -> usize {
        self.statements().iter().map(Statement::bytes).sum()
    }

    /// Takes the answers to the statements, in place of [`Job::run`].
    pub fn accept(&mut self, answers: Answers) {
        self.work.accept(answers);
    }

    /// Called when a thread takes the job. Returns `None` and answers the caller if it has waited too long.
    pub fn start(self, metrics: &StoreMetrics) -> Option<Job> {
        metrics.waiting.dec();
        let waited = self.queued_at.elapsed();
        metrics.wait_seconds.observe(waited.as_secs_f64());
        if waited > WAIT_TIME_MAX {
            self.answer(
                Err(StoreError::Unavailable("the operation waited too long for a free thread".to_owned())),
                metrics,
            );
            return None;
        }
        Some(self)
    }

    /// Called instead of [`Job::start`] if the job lost its place in the queue.
    pub fn refuse(self, metrics: &StoreMetrics) {
        metrics.waiting.dec();
        metrics.refused.inc();
        self.answer(Err(StoreError::Unavailable(QUEUE_FULL.to_owned())), metrics);
    }

    /// Runs the operation. A panic is an error, and so is a failed statement that the operation ignored.
    pub fn run(&mut self, transaction: &mut Transaction<'_>, metrics: &StoreMetrics) -> RunOutcome {
        let outcome = catch_unwind(AssertUnwindSafe(|| self.work.run(transaction)));
        let error = transaction.take_error();
        if let Some(error) = &error {
            metrics.count_error(error);
            self.record_write(Err(error), metrics);
        }
        let commit = match (outcome, error) {
            (Err(_), _) => Err(StoreError::Failed("the operation panicked".to_owned())),
            (Ok(false), _) => Ok(false),
            (Ok(true), Some(error)) => Err(error),
            (Ok(true), None) => Ok(true),
        };
        RunOutcome { commit, after_commit: transaction.take_after_commit() }
    }

    /// Sends the result to the caller. `committed` is the result of the commit.
    pub fn answer(self, committed: Result<(), StoreError>, metrics: &StoreMetrics) {
        if let Err(error) = &committed {
            metrics.count_error(error);
        }
        // The commit of an operation that returned an error writes nothing.
        if committed.is_err() || self.work.is_ok() {
            self.record_write(committed.as_ref().copied(), metrics);
        }
        // The function that reads the answers belongs to the caller.
        if catch_unwind(AssertUnwindSafe(|| self.work.answer(committed))).is_err() {
            error!("reading the answers of the database panicked");
        }
    }

    fn record_write(&self, written: Result<(), &StoreError>, metrics: &StoreMetrics) {
        match self.mode {
            Mode::Write | Mode::WriteInOrder(_) => metrics.record_write(written),
            Mode::Read | Mode::Snapshot => {}
        }
    }
}

/// Runs the actions after a commit. A panic in one must not end a thread of the store.
pub(crate) fn run_actions(actions: Vec<Action>) {
    for action in actions {
        if catch_unwind(AssertUnwindSafe(action)).is_err() {
            error!("after-commit action panicked");
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
        // Discards the result of an earlier attempt.
        self.outcome = None;
        let outcome = (self.operation)(transaction);
        let commit = outcome.is_ok();
        self.outcome = Some(outcome);
        commit
    }

    fn is_ok(&self) -> bool {
        self.outcome.as_ref().is_some_and(Result::is_ok)
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            (_, Err(error)) => Err(error.into()),
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => Err(StoreError::Failed("the operation did not run".to_owned()).into()),
        };
        // The caller may be gone. The commit stays.
        let _ = self.answer.send(outcome);
    }
}

impl<F, T, E> Work for StatementsCall<F, T, E>
where
    F: FnOnce(&Answers) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> bool {
        // The transaction records the error.
        self.answers = transaction.answers_to(&self.statements).ok();
        true
    }

    fn is_ok(&self) -> bool {
        self.answers.is_some()
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn accept(&mut self, answers: Answers) {
        self.answers = Some(answers);
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (committed, self.answers) {
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(answers)) => (self.read)(&answers),
            (Ok(()), None) => Err(StoreError::Failed("the operation did not run".to_owned()).into()),
        };
        // The caller may be gone. The commit stays.
        let _ = self.answer.send(outcome);
    }
}
