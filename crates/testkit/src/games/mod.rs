//! Small games to test with.

pub mod depot;
mod drift;

pub use drift::{Body, Chime, Drift, Pennant, Steering, Tally};
