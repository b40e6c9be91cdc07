//! A thread that reads, with a connection of its own, beside the one that writes.

use super::{SqliteConnection, SqliteTransaction};
use crate::error::StoreError;
use crate::figures::StoreMetrics;
use crate::job::{Job, Mode};
use crate::transaction::Transaction;
use crossbeam_channel::Receiver;
use std::path::Path;
use std::time::Duration;

/// A reading thread's side.
pub(crate) struct Reader {
    session: SqliteConnection,
    jobs: Receiver<Job>,
    figures: StoreMetrics,
}

impl Reader {
    /// Opens the file for one more thread.
    pub fn open(
        path: &Path,
        limit: Duration,
        jobs: Receiver<Job>,
        figures: StoreMetrics,
    ) -> Result<Reader, StoreError> {
        Ok(Reader { session: SqliteConnection::reader(path, limit)?, jobs, figures })
    }

    /// Works until nobody is left who could ask.
    pub fn run(self) {
        while let Ok(job) = self.jobs.recv() {
            if let Some(job) = job.taken(&self.figures) {
                self.session.read(job, &self.figures);
            }
        }
        self.figures.connections.dec();
    }
}

impl SqliteConnection {
    /// Runs an operation that changes nothing.
    pub(super) fn read(&self, mut job: Job, figures: &StoreMetrics) {
        let snapshot = job.mode == Mode::Snapshot;
        if snapshot && let Err(error) = self.statement("BEGIN DEFERRED") {
            return job.answer(Err(error), figures);
        }
        self.begin_limit();
        let mut transaction = Transaction::sqlite(SqliteTransaction::new(self));
        let run = job.run(&mut transaction, figures);
        self.end_limit();
        if snapshot {
            // There is nothing to lose; it may have ended by itself.
            let _ = self.statement("ROLLBACK");
        }
        job.answer(run.keep.map(|_| ()), figures);
    }
}
