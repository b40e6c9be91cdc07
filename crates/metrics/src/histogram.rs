//! Histogram with fixed buckets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts values by bucket, and sums them. Clones share the same buckets.
#[derive(Clone, Debug)]
pub struct Histogram {
    shared: Arc<Shared>,
}

/// Counts and sum of a histogram at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSnapshot {
    /// Upper bound of each bucket in ascending order, and the number of values at or below it. The last bound is
    /// infinity, so the last count is the number of all values.
    pub cumulative: Vec<(f64, u64)>,
    /// Sum of all values.
    pub sum: f64,
    /// Number of observed values.
    pub count: u64,
}

#[derive(Debug)]
struct Shared {
    /// Upper bounds, ascending. A value equal to a bound belongs to its bucket.
    bounds: Box<[f64]>,
    /// One count per bound, and one for values above the last bound.
    counts: Box<[AtomicU64]>,
    /// Bits of an `f64`.
    sum: AtomicU64,
}

impl Histogram {
    /// A histogram that belongs to no registry, with these upper bounds.
    ///
    /// # Panics
    ///
    /// If the bounds are not finite or not in ascending order.
    pub fn new(buckets: &[f64]) -> Self {
        assert!(
            buckets.iter().all(|bound| bound.is_finite()) && buckets.windows(2).all(|pair| pair[0] < pair[1]),
            "histogram buckets must be finite and ascending, but are {buckets:?}"
        );
        let counts = (0..=buckets.len()).map(|_| AtomicU64::new(0)).collect();
        Self { shared: Arc::new(Shared { bounds: buckets.into(), counts, sum: AtomicU64::new(0) }) }
    }

    /// Adds a value. A value that is not finite is ignored, because it would make the sum invalid.
    pub fn observe(&self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let bucket = self.shared.bounds.partition_point(|bound| *bound < value);
        self.shared.counts[bucket].fetch_add(1, Ordering::Relaxed);
        add_to_bits(&self.shared.sum, value);
    }

    /// Upper bounds, without the infinite one.
    pub fn buckets(&self) -> &[f64] {
        &self.shared.bounds
    }

    /// Returns the current counts and sum. Concurrent values may be in the counts and not yet in the sum.
    pub fn snapshot(&self) -> HistogramSnapshot {
        let bounds = self.shared.bounds.iter().copied().chain([f64::INFINITY]);
        let mut count = 0;
        let cumulative = bounds
            .zip(&self.shared.counts)
            .map(|(bound, bucket)| {
                count += bucket.load(Ordering::Relaxed);
                (bound, count)
            })
            .collect();
        HistogramSnapshot { cumulative, sum: f64::from_bits(self.shared.sum.load(Ordering::Relaxed)), count }
    }
}

/// Adds to an `f64` stored as bits. There is no atomic addition for floats, so this is a compare-and-swap loop.
pub(crate) fn add_to_bits(bits: &AtomicU64, amount: f64) {
    let mut seen = bits.load(Ordering::Relaxed);
    loop {
        let sum = (f64::from_bits(seen) + amount).to_bits();
        match bits.compare_exchange_weak(seen, sum, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(newer) => seen = newer,
        }
    }
}
