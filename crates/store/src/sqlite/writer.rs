//! The writing thread: a savepoint for each operation, and one commit for all that are queued.
//!
//! While a commit waits for the disk, the next operations queue up. So the higher the load, the more operations share a
//! commit.

use super::{SqliteConnection, SqliteTransaction};
use crate::error::StoreError;
use crate::job::{Action, Job, Mode, run_actions};
use crate::metrics::StoreMetrics;
use crate::queue::JobReceiver;
use crate::transaction::Transaction;
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum number of operations in one commit, so that the first does not wait long for the last.
const BATCH_MAX: usize = 256;
/// Time after which a batch takes no further operation, so that slow operations of one caller do not delay the commit of
/// another's for long. It is a few times the duration of a commit.
const BATCH_TIME_MAX: Duration = Duration::from_millis(20);

/// State of the writing thread.
pub(crate) struct Writer {
    connection: SqliteConnection,
    jobs: JobReceiver,
    metrics: StoreMetrics,
}

/// An operation that has run and waits for the commit. Its result is sent only after that.
struct FinishedJob {
    job: Job,
    outcome: Result<(), StoreError>,
    after_commit: Vec<Action>,
}

impl Writer {
    /// Opens the file for writing, or a database in memory.
    pub fn open(
        path: Option<&Path>,
        limit: Duration,
        jobs: JobReceiver,
        metrics: StoreMetrics,
    ) -> Result<Writer, StoreError> {
        Ok(Writer { connection: SqliteConnection::writer(path, limit)?, jobs, metrics })
    }

    /// Runs jobs until all handles of the store are dropped.
    pub fn run(self) {
        while let Some(job) = self.jobs.recv() {
            let Some(job) = job.start(&self.metrics) else { continue };
            match job.mode {
                Mode::Read | Mode::Snapshot => self.connection.read(job, &self.metrics),
                Mode::Write | Mode::WriteInOrder(_) => self.run_batch(job),
            }
        }
        // Leaves one file instead of three.
        let _ = self.connection.handle.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
        self.metrics.connections.dec();
    }

    fn run_batch(&self, first: Job) {
        if let Err(error) = self.connection.execute("BEGIN IMMEDIATE") {
            return first.answer(Err(error), &self.metrics);
        }
        let began = Instant::now();
        let mut done = Vec::new();
        // A database in memory has no other connection to read from.
        let mut reads = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next {
            match job.mode {
                Mode::Read | Mode::Snapshot => reads.push(job),
                Mode::Write | Mode::WriteInOrder(_) => done.push(self.run_in_savepoint(job)),
            }
            // On some errors, such as a full disk, SQLite rolls back the whole transaction by itself.
            let ended = self.connection.handle.is_autocommit();
            let full = done.len() + reads.len() >= BATCH_MAX || began.elapsed() >= BATCH_TIME_MAX;
            next = if ended || full { None } else { self.next_job() };
        }
        self.commit(done);
        // Only now, so that no read sees uncommitted changes.
        reads.into_iter().for_each(|job| self.connection.read(job, &self.metrics));
    }

    fn next_job(&self) -> Option<Job> {
        std::iter::from_fn(|| self.jobs.try_recv()).find_map(|job| job.start(&self.metrics))
    }

    /// Runs an operation in a savepoint, which is rolled back if it fails.
    fn run_in_savepoint(&self, mut job: Job) -> FinishedJob {
        if let Err(error) = self.connection.execute("SAVEPOINT caller") {
            return FinishedJob { job, outcome: Err(error), after_commit: Vec::new() };
        }
        self.connection.begin_deadline();
        let mut transaction = Transaction::sqlite(SqliteTransaction::new(&self.connection));
        let run = job.run(&mut transaction, &self.metrics);
        self.connection.end_deadline();
        match run.commit {
            Ok(true) => {
                let outcome = self.connection.execute("RELEASE caller");
                FinishedJob { job, outcome, after_commit: run.after_commit }
            }
            Ok(false) => FinishedJob { job, outcome: self.roll_back_savepoint(), after_commit: Vec::new() },
            Err(error) => {
                let outcome = self.roll_back_savepoint().and(Err(error));
                FinishedJob { job, outcome, after_commit: Vec::new() }
            }
        }
    }

    fn roll_back_savepoint(&self) -> Result<(), StoreError> {
        if self.connection.handle.is_autocommit() {
            return Ok(());
        }
        self.connection.execute("ROLLBACK TO caller")?;
        self.connection.execute("RELEASE caller")
    }

    fn commit(&self, done: Vec<FinishedJob>) {
        let began = Instant::now();
        let committed = self.commit_statement();
        self.metrics.commit_seconds.observe(began.elapsed().as_secs_f64());
        self.metrics.batch.observe(done.len() as f64);
        for FinishedJob { job, outcome, after_commit } in done {
            let outcome = outcome.and_then(|()| committed.clone());
            if outcome.is_ok() {
                run_actions(after_commit);
            }
            job.answer(outcome, &self.metrics);
        }
    }

    fn commit_statement(&self) -> Result<(), StoreError> {
        if self.connection.handle.is_autocommit() {
            let why = "the shared commit failed; try again in a moment";
            return Err(StoreError::Unavailable(why.to_owned()));
        }
        let committed = self.connection.execute("COMMIT");
        if committed.is_err() && !self.connection.handle.is_autocommit() {
            // Otherwise the next batch could not begin.
            let _ = self.connection.execute("ROLLBACK");
        }
        committed
    }
}
