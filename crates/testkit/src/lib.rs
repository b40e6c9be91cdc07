//! A room and its clients in memory, in virtual time, over a simulated bad network.
//!
//! A [`Conditioner`] delays, drops, duplicates and reorders datagrams by a seed. A [`Harness`] connects clients to a
//! room through conditioners and advances everything tick by tick. A [`Simulation`] is a whole run from one seed: it
//! picks the clients, their networks and their actions, then makes the networks perfect and checks that all clients
//! agree with the room.

mod client;
pub mod games;
mod harness;
pub mod moving;
mod simulation;

pub use aether_client::{Bandwidth, Conditioner, Conditions, Delivery, Traffic};
pub use client::{ReceivedState, Sighting, TestClient};
pub use harness::{ClientNumber, Harness};
pub use simulation::{Failure, Outcome, Simulation};
