//! Sending and receiving state through the public surface, one topic per file.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod acknowledgements;
mod budget;
mod common;
mod convergence;
mod descriptors;
mod hostile_packets;
mod interest;
mod joiners;
mod ledger;
mod order_of_arrival;
mod pull;
mod reused_slots;
mod rings;
mod sharing;
mod support;
