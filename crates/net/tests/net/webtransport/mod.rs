//! WebTransport over real sockets on this machine, as an honest client and as a bad one uses it.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod certificate;
mod handshake;
mod session;
mod table;
