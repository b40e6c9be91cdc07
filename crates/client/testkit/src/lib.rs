//! Clients connected to a room, in virtual time and over simulated networks.
//!
//! A [`Scene`] runs a room, its clients with their frames, and the networks between them. [`FlightGame`] is the server side
//! of a game with the sandbox's rules, [`SandboxClient`] its client side.

mod flight;
mod sandbox;
mod scene;

pub use aether_engine as engine;
pub use aether_sandbox_rules as rules;
pub use aether_sandbox_server as server;
pub use flight::{FlightGame, PUSH, SINK, serpentine, settings, zigzag};
pub use sandbox::{DrawnShip, SandboxClient};
pub use scene::{Pilot, Scene, network, networks};
