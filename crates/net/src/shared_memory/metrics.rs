//! Metrics of shared memory.

use super::link::LinkError;
use aether_metrics::{Counter, Gauge, Registry};

/// Metrics of the game's side.
#[derive(Clone, Debug)]
pub(super) struct SharedMemoryMetrics {
    /// Attached drivers.
    pub drivers: Gauge,
    /// Processes that were not attached.
    pub refused: Counter,
    ended: Vec<(&'static str, Counter)>,
}

impl SharedMemoryMetrics {
    pub fn new(registry: &Registry) -> SharedMemoryMetrics {
        let (name, help) = ("aether_shared_memory_drivers_ended_total", "Drivers that have ended, by reason.");
        SharedMemoryMetrics {
            drivers: registry.gauge("aether_shared_memory_drivers", "Attached driver processes.", &[]),
            refused: registry.counter(
                "aether_shared_memory_drivers_refused_total",
                "Processes whose handshake failed.",
                &[],
            ),
            ended: LinkError::LABELS
                .map(|label| (label, registry.counter(name, help, &[("reason", label)])))
                .into_iter()
                .collect(),
        }
    }

    /// Counts the end of a driver.
    pub fn count_end(&self, error: LinkError) {
        if let Some((_, counter)) = self.ended.iter().find(|(label, _)| *label == error.label()) {
            counter.inc();
        }
    }
}
