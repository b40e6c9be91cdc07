//! Framing of messages, without I/O: bytes in, messages out, and the reverse.
//!
//! The transports of the server, clients and tests use it. Nothing here owns a socket, a task or a clock.

mod error;
pub mod http3;
mod shared;
pub mod stream;
pub mod websocket;

pub use error::FramingError;
pub use shared::Framing;
