//! A number that only grows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows. Clones count into the same number.
///
/// `Counter::default()` belongs to no registry: it counts, and nobody renders it. Tests and tools use it that way.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    count: Arc<AtomicU64>,
}

impl Counter {
    /// Adds `amount`.
    pub fn add(&self, amount: u64) {
        // Relaxed is enough: a count orders nothing else, and a reader may see it a moment late.
        self.count.fetch_add(amount, Ordering::Relaxed);
    }

    /// Adds one.
    pub fn inc(&self) {
        self.add(1);
    }

    /// The count so far.
    pub fn value(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
