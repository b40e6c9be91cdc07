//! Behaviour of reliable UDP, through its public interface.

mod allocations;
mod bad_packets;
mod congestion;
mod delivery;
mod handshake;
mod lifetime;
mod simulation;
mod support;
