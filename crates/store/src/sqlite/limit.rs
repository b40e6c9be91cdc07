//! How long an operation may keep a connection: one that never ends would keep everyone else waiting.

use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Steps of SQLite's machine between two looks at the clock: some tens of microseconds.
const STEPS: i32 = 4_096;
/// There is no limit at the moment.
const NEVER: u64 = u64::MAX;

/// Interrupts statements after the deadline of the operation they belong to.
pub(super) struct StatementDeadline {
    origin: Instant,
    time_max: Duration,
    /// Microseconds after `origin`.
    deadline: Arc<AtomicU64>,
}

impl StatementDeadline {
    /// Watches over a connection.
    pub fn watch(connection: &mut Connection, time_max: Duration) -> rusqlite::Result<StatementDeadline> {
        let origin = Instant::now();
        let deadline = Arc::new(AtomicU64::new(NEVER));
        let watched = Arc::clone(&deadline);
        let is_over = move || origin.elapsed().as_micros() as u64 > watched.load(Ordering::Relaxed);
        connection.progress_handler(STEPS, Some(is_over))?;
        Ok(StatementDeadline { origin, time_max, deadline })
    }

    /// From now on the time runs.
    pub fn begin(&self) {
        let deadline = (self.origin.elapsed() + self.time_max).as_micros() as u64;
        self.deadline.store(deadline, Ordering::Relaxed);
    }

    /// There is no limit until the next time it begins.
    pub fn end(&self) {
        self.deadline.store(NEVER, Ordering::Relaxed);
    }
}
