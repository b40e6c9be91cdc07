//! Tests of the WebSocket codec and of the upgrade, as peers can use them.

mod websocket_codec;
mod websocket_handshake;
