//! Tests of connections and of the transports over UDP.

mod driver;
mod handshake;
mod udp;
mod webtransport;
