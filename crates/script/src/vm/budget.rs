//! [`Budget`]: processor time of a script.

use super::failure::located;
use crate::error::{ErrorKind, ScriptError};
use aether_luau_interrupt::{keep_awake, set_sparse_interrupt};
use mlua::{Lua, VmState};
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time of metamethods that run beside a call, because the server reads a table of the script.
const BESIDE_TIME_MAX: Duration = Duration::from_millis(20);

/// Processor time that the current call of a VM may still use. Time in which the script waits for the services, or in which
/// the system runs other threads, does not count.
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
    /// Earliest end of the time, in nanoseconds since the first use of the clock; 0 while no script runs. The processor time
    /// is read only after it, because that takes a system call.
    deadline: AtomicU64,
    /// Nanoseconds of processor time from the last resume on.
    allowed: AtomicU64,
    /// Processor time of the thread when the script was resumed, in nanoseconds.
    resumed_at: AtomicU64,
    is_exceeded: AtomicBool,
    /// Stack of the script when it was stopped first. A script may catch the error; the stack then still names the line.
    stopped_at: Mutex<Vec<String>>,
    /// Stack of the last error that reached the guard of the prelude.
    failed_at: Mutex<Vec<String>>,
}

impl Shared {
    /// Returns the processor time since the script was resumed. A script runs on one thread until it is paused.
    fn used(&self) -> u64 {
        thread_time().saturating_sub(self.resumed_at.load(Ordering::Relaxed))
    }

    /// Moves the deadline if the script has used less processor time than it may. Returns false if its time is over.
    fn extend(&self, now: u64) -> bool {
        let left = self.allowed.load(Ordering::Relaxed).saturating_sub(self.used());
        self.deadline.store(now.saturating_add(left), Ordering::Relaxed);
        left > 0
    }
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
                shared.allowed.store(limit, Ordering::Relaxed);
                shared.resumed_at.store(thread_time(), Ordering::Relaxed);
                shared.deadline.store(now.saturating_add(limit), Ordering::Relaxed);
                return Ok(VmState::Continue);
            }
            if now < deadline || shared.extend(now) {
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
        self.shared.allowed.store(left, Ordering::Relaxed);
        self.shared.resumed_at.store(thread_time(), Ordering::Relaxed);
        self.shared.deadline.store(now().saturating_add(left), Ordering::Relaxed);
    }

    /// Interrupts the measurement, because the script has returned or waits.
    pub fn pause(&self) {
        self.shared.deadline.store(0, Ordering::Relaxed);
        let left = self.shared.left.load(Ordering::Relaxed);
        self.shared.left.store(left.saturating_sub(self.shared.used()), Ordering::Relaxed);
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

/// Processor time of this thread, in nanoseconds.
fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

/// Nanoseconds since the first use, at least 1.
fn now() -> u64 {
    static BASE: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let elapsed = BASE.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls a Lua chunk with a function `nap` that sleeps, under a limit of 20 ms.
    fn run(chunk: &str) -> (mlua::Result<()>, Option<ScriptError>) {
        let (lua, budget) = (Lua::new(), Budget::default());
        let nap = lua.create_function(|_, ()| {
            std::thread::sleep(Duration::from_millis(30));
            Ok(())
        });
        lua.globals().set("nap", nap.expect("a function is created")).expect("a global is set");
        budget.install(&lua).expect("the interrupt is set");
        budget.start(Duration::from_millis(20));
        let outcome = lua.load(chunk).exec();
        budget.pause();
        (outcome, budget.violation())
    }

    #[test]
    fn time_in_which_the_thread_does_not_run_does_not_count() {
        let (outcome, violation) = run("nap() for i = 1, 1000 do end nap()");
        assert!(outcome.is_ok() && violation.is_none(), "{outcome:?} {violation:?}");
    }

    #[test]
    fn time_in_which_the_script_runs_counts() {
        let (outcome, violation) = run("nap() while true do end");
        assert!(outcome.is_err());
        assert_eq!(violation.map(|error| error.kind), Some(ErrorKind::Time));
    }
}
