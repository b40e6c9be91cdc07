//! Counters, gauges and histograms, and their Prometheus text.
//!
//! A handle is created once, by name and labels. Recording is an atomic addition, without a lock, an allocation or a
//! lookup:
//!
//! ```
//! use aether_metrics::Registry;
//!
//! let registry = Registry::new();
//! let joins = registry.counter("aether_joins_total", "Players that joined.", &[("room_type", "sandbox")]);
//! joins.inc();
//! assert!(registry.render().contains("aether_joins_total{room_type=\"sandbox\"} 1\n"));
//! ```
//!
//! A registry reads no clock: callers measure durations and record them in seconds.

mod counter;
mod gauge;
mod histogram;
mod registry;
mod text;

pub use counter::Counter;
pub use gauge::Gauge;
pub use histogram::{Histogram, HistogramSnapshot};
pub use registry::Registry;
pub use text::CONTENT_TYPE;
