//! Entities and components through the public surface, one topic per file.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod change_detection;
mod components;
mod described;
mod hashing;
mod model;
mod ownership;
mod rewinding;
mod spawning;
mod support;
mod versions;
mod visiting;

use proptest::test_runner::{Config, RngSeed};

/// Property tests draw the same cases on every run; another seed is a deliberate choice.
fn cases(count: u32) -> Config {
    Config { rng_seed: RngSeed::Fixed(0x0a37_4e72), ..Config::with_cases(count) }
}
