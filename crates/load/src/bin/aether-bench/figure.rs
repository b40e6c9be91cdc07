//! Figures as they are printed.

use hdrhistogram::Histogram;
use std::time::Duration;

/// Prints the line that `cargo xtask bench` reads.
pub fn judge(name: &str, figure: f64, unit: &str, aim: &str, met: bool) {
    println!("{name}: {figure:.2} {unit}, aim {aim}: {}", if met { "met" } else { "missed" });
}

/// A minute; whatever takes longer counts as that.
const MICROSECONDS_MAX: u64 = 60_000_000;

/// Times, each with an error of at most a hundredth.
pub struct Times(Histogram<u64>);

impl Times {
    pub fn new() -> Times {
        Times(Histogram::new_with_bounds(1, MICROSECONDS_MAX, 2).expect("the bounds are within what it can do"))
    }

    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record(time.as_micros() as u64);
    }

    /// The time in milliseconds that so many percent stay within.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        self.0.value_at_percentile(percent) as f64 / 1e3
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
