//! WebSockets: framing, the upgrade, and a transport over any stream of bytes.

pub mod codec;
mod deflate;
pub mod handshake;
mod transport;

pub use transport::WebSocket;
