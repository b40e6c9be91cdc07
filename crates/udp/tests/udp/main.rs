//! Tests over real sockets.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod batches;
mod server;
