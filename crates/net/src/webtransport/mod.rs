//! WebTransport: an HTTP/3 session over QUIC, with one stream for reliable messages and datagrams for unreliable ones.
//!
//! ```text
//!  client                                       server
//!    | QUIC handshake, SETTINGS of both sides      |
//!    | CONNECT /rt?encoding=json ----------------> |  stream 0 stays open as long as the session
//!    | <------------------------------------- 200  |
//!    | one bidirectional stream <----------------> |  length, message, length, message …
//!    | datagrams <-------------------------------> |  one message each
//!    | <------------- CLOSE_WEBTRANSPORT_SESSION   |  code and text
//! ```
//!
//! The QUIC connection carries that one session and nothing else, so its limits on streams and windows are tight.

mod http3;
mod metrics;
mod server;
mod session;

pub use server::{BindError, WebTransportServer, WebTransportSession, WebTransportSettings};
pub use session::{CODE_VIOLATION_FIRST, WebTransport};
