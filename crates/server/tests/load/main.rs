//! Tests that measure times and memory beside a crowd, so one of them runs at a time.

mod joins;
mod slow_readers;
mod storm;

use tokio::sync::Mutex;

/// Whoever holds it measures.
static ALONE: Mutex<()> = Mutex::const_new(());
