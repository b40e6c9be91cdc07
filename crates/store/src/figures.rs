//! What the store tells about itself.

use crate::error::StoreError;
use aether_metrics::{Counter, Gauge, Histogram, Registry};

/// Operations in one commit.
const BATCH: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
/// Seconds that something takes.
const SECONDS: &[f64] = &[0.000_05, 0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// Handles, resolved once.
#[derive(Clone)]
pub(crate) struct StoreMetrics {
    pub reads: Counter,
    pub writes: Counter,
    pub refused: Counter,
    pub retries: Counter,
    pub waiting: Gauge,
    pub connections: Gauge,
    pub batch: Histogram,
    pub commit_seconds: Histogram,
    pub wait_seconds: Histogram,
    unavailable: Counter,
    failed: Counter,
}

impl StoreMetrics {
    pub fn new(registry: &Registry) -> StoreMetrics {
        let operations = |kind| {
            registry.counter("aether_database_operations_total", "Operations of the data layer.", &[("kind", kind)])
        };
        let errors =
            |kind| registry.counter("aether_database_errors_total", "What the database did not do.", &[("kind", kind)]);
        StoreMetrics {
            reads: operations("read"),
            writes: operations("write"),
            unavailable: errors("unavailable"),
            failed: errors("failed"),
            refused: registry.counter(
                "aether_database_refused_total",
                "Operations that were refused because too many were waiting.",
                &[],
            ),
            retries: registry.counter(
                "aether_database_retries_total",
                "Operations begun anew because another one was in their way, or the connection was lost.",
                &[],
            ),
            waiting: registry.gauge("aether_database_waiting", "Operations that wait for a thread.", &[]),
            connections: registry.gauge("aether_database_connections", "Connections to the database.", &[]),
            batch: registry.histogram("aether_database_commit_operations", "Operations in one commit.", &[], BATCH),
            commit_seconds: registry.histogram("aether_database_commit_seconds", "What commits took.", &[], SECONDS),
            wait_seconds: registry.histogram(
                "aether_database_wait_seconds",
                "How long operations waited for a thread.",
                &[],
                SECONDS,
            ),
        }
    }

    /// Counts an error. A duplicate is an answer like any other.
    pub fn note(&self, error: &StoreError) {
        match error {
            StoreError::Unavailable(_) => self.unavailable.inc(),
            StoreError::Failed(_) => self.failed.inc(),
            StoreError::Duplicate(_) | StoreError::Refused(_) => {}
        }
    }
}
