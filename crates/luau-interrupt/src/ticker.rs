//! Ticker: a thread that counts milliseconds while scripts run.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// Time between two ticks.
const INTERVAL: Duration = Duration::from_millis(1);
/// Ticks without a script after which the thread sleeps, so that an idle server wakes up for nothing.
const IDLE_TICKS_MAX: u32 = 1_000;

static TICKS: AtomicU32 = AtomicU32::new(0);
/// True if a script ran since the last tick.
static IS_USED: AtomicBool = AtomicBool::new(false);
static IS_PARKED: AtomicBool = AtomicBool::new(false);
static THREAD: OnceLock<Option<Thread>> = OnceLock::new();

/// Starts the thread, once per process. Without it, checks are counted by safepoints alone.
pub(crate) fn start() {
    THREAD.get_or_init(|| {
        let started = std::thread::Builder::new().name("lua-ticker".to_owned()).spawn(run);
        started.ok().map(|handle| handle.thread().clone())
    });
}

/// Number of ticks.
pub(crate) fn count() -> u32 {
    TICKS.load(Ordering::Relaxed)
}

/// Keeps the ticker running. Call it before each run of a script.
pub fn keep_awake() {
    // The order of both accesses must hold against that of `run`, or the thread could sleep on.
    IS_USED.store(true, Ordering::SeqCst);
    if IS_PARKED.load(Ordering::SeqCst)
        && let Some(Some(thread)) = THREAD.get()
    {
        thread.unpark();
    }
}

fn run() {
    let mut idle = 0;
    loop {
        std::thread::sleep(INTERVAL);
        TICKS.fetch_add(1, Ordering::Relaxed);
        idle = if IS_USED.swap(false, Ordering::Relaxed) { 0 } else { idle + 1 };
        if idle >= IDLE_TICKS_MAX {
            IS_PARKED.store(true, Ordering::SeqCst);
            if !IS_USED.load(Ordering::SeqCst) {
                std::thread::park();
            }
            IS_PARKED.store(false, Ordering::SeqCst);
            idle = 0;
        }
    }
}
