//! Clients against a room, in virtual time and over networks that are as bad as a seed makes them.
//!
//! A [`Scene`] holds a room, its clients with their frames, and the networks between. [`Flight`] is the sandbox's rules as a
//! room, [`Sandbox`] the same as its clients know it.

mod flight;
mod sandbox;
mod scene;

pub use aether_engine as engine;
pub use aether_sandbox_rules as rules;
pub use aether_sandbox_server as server;
pub use flight::{Flight, PUSH, SINK, serpentine, settings, zigzag};
pub use sandbox::{Drawn, Sandbox};
pub use scene::{Pilot, Scene, network, networks};
