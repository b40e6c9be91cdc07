//! Behaviour of reliable UDP, through its public interface.

mod delivery;
mod handshake;
mod support;
