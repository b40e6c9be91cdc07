//! Tests of connections and of the WebTransport transport.

mod driver;
mod handshake;
mod webtransport;
