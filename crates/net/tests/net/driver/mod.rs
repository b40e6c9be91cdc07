//! The driver with a protocol that knows nothing of rooms: what it promises, it promises for every protocol.

mod echo;
mod memory;
mod websocket;
