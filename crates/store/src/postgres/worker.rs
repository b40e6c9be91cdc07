//! A thread that runs operations on its own connection.

use super::connection::{ConnectionLimits, PostgresConnection, StatementError, wait};
use super::pool::Pool;
use super::to_store_error;
use super::transaction::PostgresTransaction;
use crate::error::StoreError;
use crate::job::{Action, Job, Mode, run_actions};
use crate::queue::JobReceiver;
use crate::transaction::Transaction;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// Maximum number of attempts at an operation, after conflicts with other transactions or lost connections.
const ATTEMPTS_MAX: u32 = 10;

/// A thread that runs operations on its own connection.
pub(crate) struct Worker {
    pool: Arc<Pool>,
    jobs: JobReceiver,
    runtime: Runtime,
    connection: Option<PostgresConnection>,
}

/// Result of an attempt at an operation.
struct Attempt {
    committed: Result<(), StoreError>,
    after_commit: Vec<Action>,
    /// True if the operation may be retried.
    retry: bool,
}

impl Worker {
    pub fn new(pool: Arc<Pool>, jobs: JobReceiver) -> Result<Worker, StoreError> {
        Ok(Worker { pool, jobs, runtime: new_runtime()?, connection: None })
    }

    /// Runs jobs until all handles of the store are dropped.
    pub fn run(mut self) {
        while let Some(job) = self.jobs.recv() {
            let (mode, has_turn) = (job.mode, job.has_turn);
            match (job.start(&self.pool.metrics), mode) {
                (Some(job), _) => self.serve(job),
                // It waited too long, and the next one of its number has the turn.
                (None, Mode::WriteInOrder(number)) if has_turn => self.serve_in_order(number, None),
                (None, _) => {}
            }
        }
        self.pool.disconnect(&mut self.connection);
    }

    fn serve(&mut self, job: Job) {
        let Mode::WriteInOrder(number) = job.mode else { return self.perform(job) };
        let job = if job.has_turn { Some(job) } else { self.pool.enqueue_ordered(number, job) };
        if job.is_some() {
            self.serve_in_order(number, job);
        }
    }

    /// Runs the operations of a number, which has its turn, one after the other.
    fn serve_in_order(&mut self, number: u64, first: Option<Job>) {
        let mut next = first.or_else(|| self.next_ordered(number));
        while let Some(job) = next {
            self.perform(job);
            next = self.next_ordered(number);
        }
    }

    fn next_ordered(&self, number: u64) -> Option<Job> {
        // A job that has waited too long is answered, and the next one is taken.
        std::iter::from_fn(|| self.pool.next_ordered(number)).find_map(|job| job.start(&self.pool.metrics))
    }

    fn perform(&mut self, mut job: Job) {
        let deadline = Instant::now() + self.pool.time_max;
        let mut attempt = self.attempt(&mut job, deadline);
        let mut attempts = 1;
        while attempt.retry && attempts < ATTEMPTS_MAX && Instant::now() < deadline {
            self.pool.metrics.retries.inc();
            attempt = self.attempt(&mut job, deadline);
            attempts += 1;
        }
        if attempt.committed.is_ok() {
            run_actions(attempt.after_commit);
        }
        job.answer(attempt.committed, &self.pool.metrics);
    }

    fn attempt(&mut self, job: &mut Job, deadline: Instant) -> Attempt {
        let limits = ConnectionLimits { statement: self.pool.time_max, lock: self.pool.time_max, is_shared: false };
        let connection = match ensure_connected(&self.pool, &self.runtime, &mut self.connection, &limits) {
            Ok(connection) => connection,
            Err(error) => return Attempt { committed: Err(error), after_commit: Vec::new(), retry: false },
        };
        let mut retry = false;
        let inner = PostgresTransaction::new(&self.runtime, connection, job.mode, deadline, &mut retry);
        let mut transaction = Transaction::postgres(inner);
        let run = job.run(&mut transaction, &self.pool.metrics);
        let open = transaction.is_open();
        drop(transaction);
        let (committed, after_commit) = match run.commit {
            Ok(true) if open && connection.is_lost() => {
                // The commit was not sent.
                retry = true;
                (Err(StoreError::Unavailable("the connection was lost".to_owned())), Vec::new())
            }
            Ok(true) if open => (end_transaction(&self.pool, &self.runtime, connection, "COMMIT"), run.after_commit),
            Ok(commit) => {
                self.roll_back(open);
                (Ok(()), if commit { run.after_commit } else { Vec::new() })
            }
            Err(error) => {
                self.roll_back(open);
                (Err(error), Vec::new())
            }
        };
        Attempt { committed, after_commit, retry }
    }

    /// Rolls the transaction back. If that fails, the connection is lost, which rolls it back too.
    fn roll_back(&mut self, open: bool) {
        if let Some(connection) = self.connection.as_mut().filter(|connection| open && !connection.is_lost()) {
            let _ = end_transaction(&self.pool, &self.runtime, connection, "ROLLBACK");
        }
    }
}

/// Ends a transaction. It is not retried if the connection is lost meanwhile, because it may have been committed.
fn end_transaction(
    pool: &Pool,
    runtime: &Runtime,
    connection: &mut PostgresConnection,
    sql: &str,
) -> Result<(), StoreError> {
    let began = Instant::now();
    connection.count_round_trip(1);
    let outcome = wait(runtime, Some(began + pool.time_max), connection.client.batch_execute(sql));
    if sql == "COMMIT" {
        pool.metrics.commit_seconds.observe(began.elapsed().as_secs_f64());
    }
    outcome.map_err(|error| {
        connection.check_error(&error);
        match error {
            StatementError::TimedOut => {
                StoreError::Unavailable("no answer to the commit; it may have been done".to_owned())
            }
            StatementError::Database(error) => to_store_error(&error),
        }
    })
}

/// Returns the connection. Opens a new one if there is none or it was lost.
pub(super) fn ensure_connected<'a>(
    pool: &Pool,
    runtime: &Runtime,
    connection: &'a mut Option<PostgresConnection>,
    limits: &ConnectionLimits,
) -> Result<&'a mut PostgresConnection, StoreError> {
    // Lets the task of the connection notice that the server has closed it: it is woken in one turn and runs in the next.
    runtime.block_on(async {
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    });
    if connection.as_ref().is_some_and(PostgresConnection::is_lost) {
        pool.disconnect(connection);
    }
    if connection.is_none() {
        pool.check_outage()?;
        let opened = runtime.block_on(PostgresConnection::open(pool, limits));
        pool.record_outage(opened.as_ref().err());
        *connection = Some(opened?);
        pool.metrics.connections.inc();
    }
    connection.as_mut().ok_or_else(|| StoreError::Failed("no connection".to_owned()))
}

/// Creates the runtime of a thread that drives its own connection.
pub(super) fn new_runtime() -> Result<Runtime, StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| StoreError::Refused(format!("Cannot start the async runtime for PostgreSQL: {error}")))
}
