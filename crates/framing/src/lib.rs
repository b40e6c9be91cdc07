//! Framing of messages, without I/O: bytes in, messages out, and the reverse.
//!
//! Both ends of a connection use it: the server's transports, clients, and whatever tests them. Nothing here owns a socket,
//! a task or a clock.

pub mod http3;
mod shared;
pub mod stream;
mod violation;
pub mod websocket;

pub use shared::Framing;
pub use violation::FramingError;
