//! How often values fell into each of a fixed row of buckets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts values by bucket, and sums them. Clones observe into the same buckets.
#[derive(Clone, Debug)]
pub struct Histogram {
    shared: Arc<Shared>,
}

/// What a histogram held at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSnapshot {
    /// For each bucket in rising order, its upper bound and how many values were at or below it. The last bound is
    /// infinity, so the last count is that of all values.
    pub cumulative: Vec<(f64, u64)>,
    /// The sum of all values.
    pub sum: f64,
    /// How many values were observed.
    pub count: u64,
}

#[derive(Debug)]
struct Shared {
    /// Upper bounds, rising; a value equal to a bound belongs below it.
    bounds: Box<[f64]>,
    /// One count per bound, and one more for values above the last.
    counts: Box<[AtomicU64]>,
    /// The bits of an `f64`.
    sum: AtomicU64,
}

impl Histogram {
    /// A histogram that belongs to no registry, with these upper bounds.
    ///
    /// # Panics
    ///
    /// When the bounds are not finite numbers in rising order: that is a mistake in the program.
    pub fn new(buckets: &[f64]) -> Self {
        assert!(
            buckets.iter().all(|bound| bound.is_finite()) && buckets.windows(2).all(|pair| pair[0] < pair[1]),
            "histogram buckets must be finite and rise, but are {buckets:?}"
        );
        let counts = (0..=buckets.len()).map(|_| AtomicU64::new(0)).collect();
        Self { shared: Arc::new(Shared { bounds: buckets.into(), counts, sum: AtomicU64::new(0) }) }
    }

    /// Counts one value. A value that is not finite is left out, because it would spoil the sum for good.
    pub fn observe(&self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let bucket = self.shared.bounds.partition_point(|bound| *bound < value);
        self.shared.counts[bucket].fetch_add(1, Ordering::Relaxed);
        add_to_bits(&self.shared.sum, value);
    }

    /// The upper bounds given at the start, without the infinite one.
    pub fn buckets(&self) -> &[f64] {
        &self.shared.bounds
    }

    /// What was observed so far. Values observed meanwhile may be in the counts and not yet in the sum.
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

/// Adds to an `f64` kept as bits: the hardware has no atomic addition for it, so it tries until nobody was faster.
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
