//! Tests of the WebSocket and WebTransport transports.

mod websocket_codec;
mod websocket_handshake;
mod webtransport;
