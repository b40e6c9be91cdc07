//! WebSocket: frames, compression of messages, and the handshake.

pub mod codec;
mod deflate;
pub mod handshake;
