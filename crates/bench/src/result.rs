//! Results of benchmarks.

use hdrhistogram::Histogram;
use std::time::Duration;

/// Prints a result in the form that `cargo xtask bench` parses.
pub fn print_result(name: &str, value: f64, unit: &str, aim: &str, met: bool) {
    println!("{name}: {value:.2} {unit}, aim {aim}: {}", if met { "met" } else { "missed" });
}

/// Largest recorded time: a minute.
const MICROSECONDS_MAX: u64 = 60_000_000;

/// Distribution of times, accurate to 1 %.
pub struct Times(Histogram<u64>);

impl Times {
    pub fn new() -> Times {
        Times(Histogram::new_with_bounds(1, MICROSECONDS_MAX, 2).expect("valid bounds"))
    }

    pub fn record(&mut self, time: Duration) {
        self.0.saturating_record(time.as_micros() as u64);
    }

    /// Percentile in milliseconds.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        self.0.value_at_percentile(percent) as f64 / 1e3
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
