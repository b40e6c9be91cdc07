//! WebSocket transport over any byte stream.

mod transport;

pub use transport::WebSocket;
