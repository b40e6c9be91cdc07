//! A room and its clients in memory, in virtual time, over a network that is as bad as the test wants.
//!
//! A [`Conditioner`] delays, loses, doubles and reorders datagrams by a seed. A [`Harness`] joins clients to a room
//! through conditioners and moves everything tick by tick. A [`Simulation`] is a whole run from one seed: it picks the
//! clients, their networks and what they do, heals the network, and checks that everyone agrees.

mod client;
mod conditioner;
pub mod games;
mod harness;
pub mod moving;
mod simulation;

pub use client::{ReceivedState, Sighting, TestClient};
pub use conditioner::{Bandwidth, Conditioner, Conditions, Delivery, Traffic};
pub use harness::{ClientNumber, Harness};
pub use simulation::{Failure, Outcome, Simulation};
