//! Sending and receiving state through the public API, one topic per file.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod acknowledgements;
mod any_room;
mod budget;
mod common;
mod component_bits;
mod convergence;
mod descriptors;
mod hostile_packets;
mod interest;
mod joining;
mod order_of_arrival;
mod pull;
mod reused_slots;
mod rings;
mod sharing;
mod support;
