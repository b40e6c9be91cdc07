//! Tests of connections and of the WebTransport transport.

mod webtransport;
