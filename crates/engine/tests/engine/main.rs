//! Tests of rooms, one topic per file.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod authority;
mod durable;
mod events;
mod failures;
mod hostile;
mod inputs;
mod interest;
mod join_metadata;
mod lag_compensation;
mod lifecycle;
mod outside;
mod overload;
mod playground;
mod recording;
mod recording_stream;
mod requests;
mod resume;
mod runtime_rooms;
mod slow_clients;
mod spectators;
mod stages;
mod support;
mod visibility;
mod waking;

use proptest::test_runner::{Config, RngSeed};

/// Property tests use a fixed seed, so that every run has the same cases.
fn cases(count: u32) -> Config {
    Config { rng_seed: RngSeed::Fixed(0x0e49_1e5a), ..Config::with_cases(count) }
}
