//! [`Budget`]: processor time of a script.

use super::failure::located;
use crate::error::{ErrorKind, ScriptError};
use aether_luau_interrupt::{keep_awake, set_sparse_interrupt};
use mlua::{Lua, VmState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time of metamethods that run beside a call, because the server reads a table of the script.
const BESIDE_TIME_MAX: Duration = Duration::from_millis(20);

/// Time that the current call of a VM may still run. Waiting for the services does not count.
#[derive(Clone, Default)]
pub(crate) struct Budget {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Limit of the call in nanoseconds, for the error.
    limit: AtomicU64,
    /// Nanoseconds that are left.
    left: AtomicU64,
    /// End of the time, in nanoseconds since [`base`]; 0 while no script runs.
    deadline: AtomicU64,
    is_exceeded: AtomicBool,
    /// Stack of the script when it was stopped first. A script may catch the error; the stack then still names the line.
    stopped_at: Mutex<Vec<String>>,
    /// Stack of the last error that reached the guard of the prelude.
    failed_at: Mutex<Vec<String>>,
}

impl Budget {
    /// Stops scripts of a VM that exceed their time.
    pub fn install(&self, lua: &Lua) -> mlua::Result<()> {
        let shared = Arc::clone(&self.shared);
        set_sparse_interrupt(lua, move |safepoint| {
            let deadline = shared.deadline.load(Ordering::Relaxed);
            let now = now();
            if deadline == 0 {
                // No call runs: this is a metamethod of a table that the server reads.
                let limit = u64::try_from(BESIDE_TIME_MAX.as_nanos()).unwrap_or(u64::MAX);
                shared.limit.store(limit, Ordering::Relaxed);
                shared.deadline.store(now.saturating_add(limit), Ordering::Relaxed);
                return Ok(VmState::Continue);
            }
            if now < deadline {
                return Ok(VmState::Continue);
            }
            if !shared.is_exceeded.swap(true, Ordering::Relaxed) {
                *shared.stopped_at.lock().unwrap_or_else(PoisonError::into_inner) = safepoint.stack();
            }
            Err(mlua::Error::external(exceeded(shared.limit.load(Ordering::Relaxed))))
        })
    }

    /// Begins a call that may take `limit`.
    pub fn start(&self, limit: Duration) {
        let nanos = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX / 4);
        self.shared.limit.store(nanos, Ordering::Relaxed);
        self.shared.left.store(nanos, Ordering::Relaxed);
        self.shared.is_exceeded.store(false, Ordering::Relaxed);
        self.resume();
    }

    /// Continues a call with the time that is left.
    pub fn resume(&self) {
        keep_awake();
        let left = self.shared.left.load(Ordering::Relaxed);
        self.shared.deadline.store(now().saturating_add(left), Ordering::Relaxed);
    }

    /// Interrupts the measurement, because the script has returned or waits.
    pub fn pause(&self) {
        let deadline = self.shared.deadline.swap(0, Ordering::Relaxed);
        self.shared.left.store(deadline.saturating_sub(now()), Ordering::Relaxed);
    }

    /// Returns the error of the last call if it exceeded its time, with the line at which it was stopped. The call has
    /// failed even if the script caught the error.
    pub fn violation(&self) -> Option<ScriptError> {
        if !self.shared.is_exceeded.load(Ordering::Relaxed) {
            return None;
        }
        let error = exceeded(self.shared.limit.load(Ordering::Relaxed));
        let lines = |stack: &Mutex<Vec<String>>| stack.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let stopped = located(error, lines(&self.shared.stopped_at));
        // A script that failed on its own after its time is stopped in the prelude, which is no part of the stack.
        Some(if stopped.stack.is_empty() { located(stopped, lines(&self.shared.failed_at)) } else { stopped })
    }

    /// Keeps the stack of an error that reached the guard of the prelude.
    pub fn note_failure(&self, stack: Vec<String>) {
        *self.shared.failed_at.lock().unwrap_or_else(PoisonError::into_inner) = stack;
    }
}

fn exceeded(limit: u64) -> ScriptError {
    let millis = Duration::from_nanos(limit).as_secs_f64() * 1_000.0;
    let sentence = format!("the script exceeded its time of {millis:.1} ms and was stopped; do less work per call");
    ScriptError::new(ErrorKind::Time, sentence)
}

/// Nanoseconds since the first use, at least 1.
fn now() -> u64 {
    static BASE: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let elapsed = BASE.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}
