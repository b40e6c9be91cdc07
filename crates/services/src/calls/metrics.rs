//! Metrics of operations: durations, and errors by code.

use crate::error::GrpcCode;
use aether_metrics::{Counter, Histogram, Registry};
use std::sync::OnceLock;
use std::time::Duration;

/// Histogram buckets of durations, in seconds.
const SECONDS: &[f64] = &[0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];
/// Number of counters: one more than the highest code.
const CODES: usize = 17;

/// Metrics of one operation. Frequent callers hold them, so that a call needs no lookup.
pub struct OperationMetrics {
    operation: &'static str,
    seconds: OnceLock<Histogram>,
    failed: [OnceLock<Counter>; CODES],
}

impl OperationMetrics {
    /// Creates the metrics of an operation. They are registered on first use.
    #[must_use]
    pub fn new(operation: &'static str) -> OperationMetrics {
        OperationMetrics { operation, seconds: OnceLock::new(), failed: [const { OnceLock::new() }; CODES] }
    }

    /// Counts a call, with the code of its error if it failed.
    pub fn count(&self, registry: &Registry, took: Duration, failed: Option<GrpcCode>) {
        let seconds = self.seconds.get_or_init(|| {
            let (name, help) = ("aether_operation_duration_seconds", "Duration of operations of the client API.");
            registry.histogram(name, help, &[("operation", self.operation)], SECONDS)
        });
        seconds.observe(took.as_secs_f64());
        let Some(code) = failed else { return };
        let Some(counter) = self.failed.get(code as usize) else { return };
        let counter = counter.get_or_init(|| {
            let (name, help) =
                ("aether_operations_refused_total", "Operations of the client API that failed, by code.");
            registry.counter(name, help, &[("operation", self.operation), ("code", code.name())])
        });
        counter.inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_and_errors_by_code() {
        let registry = Registry::new();
        let metrics = OperationMetrics::new("GetAccount");
        for failed in [None, Some(GrpcCode::NotFound), Some(GrpcCode::NotFound), Some(GrpcCode::Unauthenticated)] {
            metrics.count(&registry, Duration::from_millis(1), failed);
        }
        let text = registry.render();
        for line in [
            "aether_operation_duration_seconds_count{operation=\"GetAccount\"} 4\n",
            "aether_operations_refused_total{code=\"not_found\",operation=\"GetAccount\"} 2\n",
            "aether_operations_refused_total{code=\"unauthenticated\",operation=\"GetAccount\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }
}
