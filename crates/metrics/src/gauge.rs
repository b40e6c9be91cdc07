//! Gauge.

use crate::histogram::add_to_bits;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that goes up and down. Clones share the same number.
///
/// The number is an `f64`, as in Prometheus: whole numbers are exact up to 2^53.
#[derive(Clone, Debug, Default)]
pub struct Gauge {
    /// Bits of an `f64`. All bits zero is the number zero.
    bits: Arc<AtomicU64>,
}

impl Gauge {
    /// Sets the number.
    pub fn set(&self, value: f64) {
        self.bits.store(value.to_bits(), Ordering::Relaxed);
    }

    /// Adds `amount`.
    pub fn add(&self, amount: f64) {
        add_to_bits(&self.bits, amount);
    }

    /// Subtracts `amount`.
    pub fn sub(&self, amount: f64) {
        self.add(-amount);
    }

    /// Adds one.
    pub fn inc(&self) {
        self.add(1.0);
    }

    /// Subtracts one.
    pub fn dec(&self) {
        self.sub(1.0);
    }

    /// Current number.
    pub fn value(&self) -> f64 {
        f64::from_bits(self.bits.load(Ordering::Relaxed))
    }
}
