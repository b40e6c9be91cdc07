//! Time limit of operations. One that never ends would block all others.

use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Instructions of SQLite's virtual machine between two checks of the clock: some tens of microseconds.
const CHECK_INSTRUCTIONS: i32 = 4_096;
/// Deadline while no operation runs.
const NONE: u64 = u64::MAX;

/// Interrupts statements after the deadline of their operation.
pub(super) struct StatementDeadline {
    origin: Instant,
    time_max: Duration,
    /// Microseconds after `origin`.
    deadline: Arc<AtomicU64>,
}

impl StatementDeadline {
    /// Installs the check on a connection.
    pub fn install(connection: &mut Connection, time_max: Duration) -> rusqlite::Result<StatementDeadline> {
        let origin = Instant::now();
        let deadline = Arc::new(AtomicU64::new(NONE));
        let checked = Arc::clone(&deadline);
        let is_over = move || origin.elapsed().as_micros() as u64 > checked.load(Ordering::Relaxed);
        connection.progress_handler(CHECK_INSTRUCTIONS, Some(is_over))?;
        Ok(StatementDeadline { origin, time_max, deadline })
    }

    /// Starts the time of an operation.
    pub fn begin(&self) {
        let deadline = (self.origin.elapsed() + self.time_max).as_micros() as u64;
        self.deadline.store(deadline, Ordering::Relaxed);
    }

    /// Removes the deadline until the next operation begins.
    pub fn end(&self) {
        self.deadline.store(NONE, Ordering::Relaxed);
    }
}
