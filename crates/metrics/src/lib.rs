//! Counters, gauges and histograms that cost an atomic addition, and their Prometheus text.
//!
//! A handle is asked for once, by name and labels, and then recorded into without a lock, an allocation or a lookup:
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
//! A registry keeps no clock and reads none: a duration is observed as seconds that the caller measured.

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
