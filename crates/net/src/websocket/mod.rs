//! WebSocket as a transport over any stream of bytes.

mod transport;

pub use transport::WebSocket;
