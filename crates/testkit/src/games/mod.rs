//! Small games for tests.

pub mod depot;
mod drift;

pub use drift::{Body, Chime, Drift, Pennant, Steering, Tally};
