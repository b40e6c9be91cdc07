//! Behaviour of the wire, one topic per file.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod allocations;
mod codes_page;
mod crafted;
mod examples;
mod fragments;
mod golden_messages;
mod hostile_input;
mod lan;
mod proto_file;
mod rejected_content;
mod round_trip;
mod sizes;
mod wire_format_text;

use proptest::test_runner::{Config, RngSeed};

/// Property tests use the same cases on every run. Another seed is a deliberate choice.
fn cases(count: u32) -> Config {
    Config { rng_seed: RngSeed::Fixed(0x0a37_4e72), ..Config::with_cases(count) }
}
