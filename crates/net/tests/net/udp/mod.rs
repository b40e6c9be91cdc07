//! Reliable UDP over real sockets on loopback.

#![expect(clippy::unwrap_used, reason = "a test fails on unexpected errors")]

mod connection;
mod driver;
mod handshake;
mod support;
