//! Tests of the WebSocket codec and handshake through the public API.

mod websocket_codec;
mod websocket_handshake;
