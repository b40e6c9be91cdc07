//! Tests of the driver with a protocol that has no rooms: its guarantees hold for every protocol.

pub mod echo;
mod memory;
#[cfg(target_os = "linux")]
mod shared_memory;
mod websocket;
