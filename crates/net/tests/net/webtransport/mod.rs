//! Tests of WebTransport over loopback, with correct and with misbehaving clients.

#![expect(clippy::unwrap_used, reason = "a test fails on unexpected errors")]

mod certificate;
mod handshake;
mod session;
mod support;
