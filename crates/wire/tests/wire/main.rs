//! What the wire promises, one behaviour per file.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod allocations;
mod crafted;
mod examples;
mod fragments;
mod golden_messages;
mod hostile_input;
mod proto_file;
mod refused_content;
mod round_trip;
mod sizes;
mod wire_format_text;

use proptest::test_runner::{Config, RngSeed};

/// Property tests draw the same cases on every run; another seed is a deliberate choice.
fn cases(count: u32) -> Config {
    Config { rng_seed: RngSeed::Fixed(0x0a37_4e72), ..Config::with_cases(count) }
}
