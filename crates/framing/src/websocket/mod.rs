//! WebSocket: frames, compression of single messages, and the upgrade.

pub mod codec;
mod deflate;
pub mod handshake;
