//! Tests that measure times and memory beside a crowd, so one of them runs at a time.

mod joins;
mod slow_readers;
mod storm;

use std::time::Duration;
use tokio::sync::Mutex;

/// Whoever holds it measures.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Returns the time that one in a hundred exceeds.
fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() * 99 / 100]
}

/// Returns the middle of several figures.
fn median(figures: &[Duration]) -> Duration {
    let mut figures = figures.to_vec();
    figures.sort_unstable();
    figures[figures.len() / 2]
}
