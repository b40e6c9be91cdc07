//! Entities and components through the public API, one topic per file.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod change_detection;
mod components;
mod described;
mod hashing;
mod model;
mod ownership;
mod queries;
mod rewinding;
mod spawning;
mod support;
mod versions;
mod visiting;

use proptest::test_runner::{Config, RngSeed};

/// Property tests use the same cases on every run. Another seed is a deliberate choice.
fn cases(count: u32) -> Config {
    Config { rng_seed: RngSeed::Fixed(0x0a37_4e72), ..Config::with_cases(count) }
}
