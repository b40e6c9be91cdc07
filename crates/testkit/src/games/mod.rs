//! Small games to test with.

mod drift;

pub use drift::{Body, Chime, Drift, Pennant, Steering, Tally};
