//! Counters of operations: how many calls there were, how long they took, and why they were refused.

use crate::refusal::GrpcCode;
use aether_metrics::{Counter, Histogram, Registry};
use std::sync::OnceLock;
use std::time::Duration;

/// Seconds that operations take.
const SECONDS: &[f64] = &[0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];
/// One more than the highest number of a code.
const CODES: usize = 17;

/// Counters of one operation. Whoever calls it often holds them, so that nothing is looked up for a call.
pub struct OperationMetrics {
    operation: &'static str,
    seconds: OnceLock<Histogram>,
    refused: [OnceLock<Counter>; CODES],
}

impl OperationMetrics {
    /// Counters of an operation, which are registered with the first call that is counted.
    #[must_use]
    pub fn new(operation: &'static str) -> OperationMetrics {
        OperationMetrics { operation, seconds: OnceLock::new(), refused: [const { OnceLock::new() }; CODES] }
    }

    /// Counts a call that was answered or, with a code, refused.
    pub fn count(&self, registry: &Registry, took: Duration, refused: Option<GrpcCode>) {
        let seconds = self.seconds.get_or_init(|| {
            let (name, help) = ("aether_operation_duration_seconds", "What operations of the client API took.");
            registry.histogram(name, help, &[("operation", self.operation)], SECONDS)
        });
        seconds.observe(took.as_secs_f64());
        let Some(code) = refused else { return };
        let Some(counter) = self.refused.get(code as usize) else { return };
        let counter = counter.get_or_init(|| {
            let (name, help) = ("aether_operations_refused_total", "Operations of the client API that were refused.");
            registry.counter(name, help, &[("operation", self.operation), ("code", code.name())])
        });
        counter.inc();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_and_refusals_by_code() {
        let registry = Registry::new();
        let figures = OperationMetrics::new("GetAccount");
        for refused in [None, Some(GrpcCode::NotFound), Some(GrpcCode::NotFound), Some(GrpcCode::Unauthenticated)] {
            figures.count(&registry, Duration::from_millis(1), refused);
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
