//! Metrics of the store.

use crate::error::StoreError;
use aether_metrics::{Counter, Gauge, Histogram, Registry};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Buckets for operations in one commit.
const BATCH: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
/// Buckets for durations, in seconds.
const SECONDS: &[f64] = &[0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Metric handles, resolved once.
#[derive(Clone)]
pub(crate) struct StoreMetrics {
    pub reads: Counter,
    pub writes: Counter,
    pub refused: Counter,
    pub retries: Counter,
    pub forwarded: Counter,
    pub round_trips: Counter,
    pub statements: Counter,
    pub waiting: Gauge,
    pub connections: Gauge,
    pub batch: Histogram,
    pub commit_seconds: Histogram,
    pub wait_seconds: Histogram,
    unavailable: Counter,
    failed: Counter,
    /// True if the last write failed because the database did not accept it.
    write_failed: Arc<AtomicBool>,
}

impl StoreMetrics {
    pub fn new(registry: &Registry) -> StoreMetrics {
        let operations =
            |kind| registry.counter("aether_database_operations_total", "Operations of the store.", &[("kind", kind)]);
        let errors =
            |kind| registry.counter("aether_database_errors_total", "Operations that failed.", &[("kind", kind)]);
        StoreMetrics {
            reads: operations("read"),
            writes: operations("write"),
            unavailable: errors("unavailable"),
            failed: errors("failed"),
            write_failed: Arc::default(),
            refused: registry.counter(
                "aether_database_refused_total",
                "Operations rejected because the queue was full.",
                &[],
            ),
            retries: registry.counter(
                "aether_database_retries_total",
                "Retries after a conflict with another transaction or a lost connection.",
                &[],
            ),
            forwarded: registry.counter(
                "aether_database_forwarded_total",
                "Operations that waited for a lock on a shared connection and moved to one of their own.",
                &[],
            ),
            round_trips: registry.counter(
                "aether_database_round_trips_total",
                "Round trips to PostgreSQL. Operations of several callers share them.",
                &[],
            ),
            statements: registry.counter(
                "aether_database_statements_total",
                "Statements sent to PostgreSQL, including the begin and end of transactions.",
                &[],
            ),
            waiting: registry.gauge("aether_database_queue_length", "Operations that wait for a thread.", &[]),
            connections: registry.gauge("aether_database_connections", "Connections to the database.", &[]),
            batch: registry.histogram("aether_database_commit_operations", "Operations in one commit.", &[], BATCH),
            commit_seconds: registry.histogram(
                "aether_database_commit_duration_seconds",
                "Duration of commits.",
                &[],
                SECONDS,
            ),
            wait_seconds: registry.histogram(
                "aether_database_queue_wait_seconds",
                "Time that operations waited for a thread.",
                &[],
                SECONDS,
            ),
        }
    }

    /// Returns true if the last write failed because the database did not accept it.
    pub fn has_write_failed(&self) -> bool {
        self.write_failed.load(Ordering::Relaxed)
    }

    /// Records the result of a write.
    pub fn record_write(&self, written: Result<(), &StoreError>) {
        match written {
            Ok(()) => self.write_failed.store(false, Ordering::Relaxed),
            Err(StoreError::Unavailable(_)) => self.write_failed.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
    }

    /// Counts an error. A duplicate key is an expected result and is not counted.
    pub fn count_error(&self, error: &StoreError) {
        match error {
            StoreError::Unavailable(_) => self.unavailable.inc(),
            StoreError::Failed(_) => self.failed.inc(),
            StoreError::BadValue(_) | StoreError::Duplicate(_) | StoreError::Refused(_) => {}
        }
    }
}
