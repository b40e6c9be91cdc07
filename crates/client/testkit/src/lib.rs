//! Clients connected to a room, in virtual time and over simulated networks.
//!
//! A [`Scene`] runs a room, its clients with their frames, and the networks between them. [`Flight`] is the server side
//! of a game with the sandbox's rules, [`Sandbox`] its client side.

mod flight;
mod sandbox;
mod scene;

pub use aether_engine as engine;
pub use aether_sandbox_rules as rules;
pub use aether_sandbox_server as server;
pub use flight::{Flight, PUSH, SINK, serpentine, settings, zigzag};
pub use sandbox::{Drawn, Sandbox};
pub use scene::{Pilot, Scene, network, networks};
