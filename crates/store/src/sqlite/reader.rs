//! A reading thread with its own connection.

use super::{SqliteConnection, SqliteTransaction};
use crate::error::StoreError;
use crate::job::{Job, Mode};
use crate::metrics::StoreMetrics;
use crate::queue::JobReceiver;
use crate::transaction::Transaction;
use std::path::Path;
use std::time::Duration;

/// State of a reading thread.
pub(crate) struct Reader {
    connection: SqliteConnection,
    jobs: JobReceiver,
    metrics: StoreMetrics,
}

impl Reader {
    /// Opens the file for reading.
    pub fn open(path: &Path, limit: Duration, jobs: JobReceiver, metrics: StoreMetrics) -> Result<Reader, StoreError> {
        Ok(Reader { connection: SqliteConnection::reader(path, limit)?, jobs, metrics })
    }

    /// Runs jobs until all handles of the store are dropped.
    pub fn run(self) {
        while let Some(job) = self.jobs.recv() {
            if let Some(job) = job.start(&self.metrics) {
                self.connection.read(job, &self.metrics);
            }
        }
        self.metrics.connections.dec();
    }
}

impl SqliteConnection {
    /// Runs an operation that only reads.
    pub(super) fn read(&self, mut job: Job, metrics: &StoreMetrics) {
        let snapshot = job.mode == Mode::Snapshot;
        if snapshot && let Err(error) = self.execute("BEGIN DEFERRED") {
            return job.answer(Err(error), metrics);
        }
        self.begin_deadline();
        let mut transaction = Transaction::sqlite(SqliteTransaction::new(self));
        let run = job.run(&mut transaction, metrics);
        self.end_deadline();
        if snapshot {
            // Nothing was written, and the transaction may have ended by itself.
            let _ = self.execute("ROLLBACK");
        }
        job.answer(run.commit.map(|_| ()), metrics);
    }
}
