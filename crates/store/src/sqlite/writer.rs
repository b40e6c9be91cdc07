//! The one thread that writes: a savepoint for each caller, and a commit whenever nobody waits.
//!
//! While a commit waits for the disk, the next callers gather; so the more there are, the more share a commit.

use super::{SqliteConnection, SqliteTransaction};
use crate::error::StoreError;
use crate::figures::StoreMetrics;
use crate::job::{Action, Job, Mode, act};
use crate::transaction::Transaction;
use crossbeam_channel::Receiver;
use std::path::Path;
use std::time::{Duration, Instant};

/// Operations in one commit at most, so that the first does not wait long for the last.
const BATCH_MAX: usize = 256;

/// The writing thread's side.
pub(crate) struct Writer {
    session: SqliteConnection,
    jobs: Receiver<Job>,
    figures: StoreMetrics,
}

/// Work that was done, or failed, and waits for the commit: what it saw is only true from then on.
struct Done {
    job: Job,
    kept: Result<(), StoreError>,
    after_commit: Vec<Action>,
}

impl Writer {
    /// Opens the file, or a database in memory.
    pub fn open(
        path: Option<&Path>,
        limit: Duration,
        jobs: Receiver<Job>,
        figures: StoreMetrics,
    ) -> Result<Writer, StoreError> {
        Ok(Writer { session: SqliteConnection::writer(path, limit)?, jobs, figures })
    }

    /// Works until nobody is left who could ask.
    pub fn run(self) {
        while let Ok(job) = self.jobs.recv() {
            let Some(job) = job.taken(&self.figures) else { continue };
            match job.mode {
                Mode::Read | Mode::Snapshot => self.session.read(job, &self.figures),
                Mode::Write | Mode::WriteInTurn(_) => self.batch(job),
            }
        }
        // Leaves one file behind instead of three.
        let _ = self.session.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE);");
        self.figures.connections.dec();
    }

    fn batch(&self, first: Job) {
        if let Err(error) = self.session.statement("BEGIN IMMEDIATE") {
            return first.answer(Err(error), &self.figures);
        }
        let mut done = Vec::new();
        // A database in memory has no other connection to read from.
        let mut reads = Vec::new();
        let mut next = Some(first);
        while let Some(job) = next {
            match job.mode {
                Mode::Read | Mode::Snapshot => reads.push(job),
                Mode::Write | Mode::WriteInTurn(_) => done.push(self.savepoint(job)),
            }
            // SQLite ends the whole transaction by itself when the disk is full, for example.
            let ended = self.session.connection.is_autocommit();
            next = if ended || done.len() + reads.len() >= BATCH_MAX { None } else { self.next() };
        }
        self.commit(done);
        // Only now, so that nobody sees what may still be undone.
        reads.into_iter().for_each(|job| self.session.read(job, &self.figures));
    }

    fn next(&self) -> Option<Job> {
        self.jobs.try_iter().find_map(|job| job.taken(&self.figures))
    }

    /// Does one caller's work. What it changed is undone if it fails.
    fn savepoint(&self, mut job: Job) -> Done {
        if let Err(error) = self.session.statement("SAVEPOINT caller") {
            return Done { job, kept: Err(error), after_commit: Vec::new() };
        }
        self.session.begin_limit();
        let mut transaction = Transaction::sqlite(SqliteTransaction::new(&self.session));
        let run = job.run(&mut transaction, &self.figures);
        self.session.end_limit();
        match run.keep {
            Ok(true) => Done { job, kept: self.session.statement("RELEASE caller"), after_commit: run.after_commit },
            Ok(false) => Done { job, kept: self.undo(), after_commit: Vec::new() },
            Err(error) => Done { job, kept: self.undo().and(Err(error)), after_commit: Vec::new() },
        }
    }

    fn undo(&self) -> Result<(), StoreError> {
        if self.session.connection.is_autocommit() {
            return Ok(());
        }
        self.session.statement("ROLLBACK TO caller")?;
        self.session.statement("RELEASE caller")
    }

    fn commit(&self, done: Vec<Done>) {
        let began = Instant::now();
        let committed = self.commit_statement();
        self.figures.commit_seconds.observe(began.elapsed().as_secs_f64());
        self.figures.batch.observe(done.len() as f64);
        for Done { job, kept, after_commit } in done {
            let kept = kept.and_then(|()| committed.clone());
            if kept.is_ok() {
                act(after_commit);
            }
            job.answer(kept, &self.figures);
        }
    }

    fn commit_statement(&self) -> Result<(), StoreError> {
        if self.session.connection.is_autocommit() {
            let why = "what it was committed with could not be written; try again in a moment";
            return Err(StoreError::Unavailable(why.to_owned()));
        }
        let committed = self.session.statement("COMMIT");
        if committed.is_err() && !self.session.connection.is_autocommit() {
            // Without this the next batch could not begin.
            let _ = self.session.statement("ROLLBACK");
        }
        committed
    }
}
