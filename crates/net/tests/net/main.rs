//! Tests of connections and of the WebTransport transport.

mod driver;
mod opening;
mod webtransport;
