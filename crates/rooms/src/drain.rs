//! Drain of a node: no new rooms and joins, until it is taken back.

use aether_metrics::{Gauge, Registry};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tracing::info;

/// State of the drain.
pub(crate) struct Drain {
    state: Mutex<DrainState>,
    gauge: Gauge,
}

#[derive(Default)]
struct DrainState {
    since: Option<Instant>,
    /// Number of drains so far.
    count: u32,
}

impl Drain {
    pub fn new(registry: &Registry) -> Drain {
        let help = "1 while the server takes no new rooms and joins, otherwise 0.";
        Drain { state: Mutex::default(), gauge: registry.gauge("aether_draining", help, &[]) }
    }

    /// Begins or ends a drain. Repeated calls change nothing.
    pub fn set(&self, draining: bool) {
        let mut state = self.state();
        if state.since.is_some() == draining {
            return;
        }
        state.since = draining.then(Instant::now);
        state.count += u32::from(draining);
        self.gauge.set(f64::from(u8::from(draining)));
        info!(draining, "drain changed");
    }

    pub fn is_active(&self) -> bool {
        self.state().since.is_some()
    }

    /// Returns the seconds since the drain began.
    pub fn seconds(&self) -> Option<u64> {
        self.state().since.map(|since| since.elapsed().as_secs())
    }

    /// Returns the number of the current drain, from 1; 0 if there is none.
    pub fn number(&self) -> u32 {
        let state = self.state();
        if state.since.is_some() { state.count } else { 0 }
    }

    fn state(&self) -> MutexGuard<'_, DrainState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
