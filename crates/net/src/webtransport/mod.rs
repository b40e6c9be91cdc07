//! WebTransport: a session of HTTP/3 over QUIC, with one stream for what must arrive and datagrams for what may be lost.
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

mod counters;
mod http3;
mod server;
mod session;

pub use server::{BindError, WebTransportServer, WebTransportSession, WebTransportSettings};
pub use session::{CODE_VIOLATION_FIRST, WebTransport};
