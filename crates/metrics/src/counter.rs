//! Counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows. Clones share the same number.
///
/// `Counter::default()` belongs to no registry and is never rendered. Tests and tools use it.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    count: Arc<AtomicU64>,
}

impl Counter {
    /// Adds `amount`.
    pub fn add(&self, amount: u64) {
        // Relaxed is enough: no other memory depends on a count, and readers may see it late.
        self.count.fetch_add(amount, Ordering::Relaxed);
    }

    /// Adds one.
    pub fn inc(&self) {
        self.add(1);
    }

    /// Current count.
    pub fn value(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
