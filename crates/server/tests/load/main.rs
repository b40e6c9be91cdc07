//! Tests that measure times and memory under load, one at a time.

mod joins;
mod slow_readers;
mod storm;

use std::time::Duration;
use tokio::sync::Mutex;

/// Locked while a test measures.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Returns the 99th percentile.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Returns the median.
fn median(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2]
}
