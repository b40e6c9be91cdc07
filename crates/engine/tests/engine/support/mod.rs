//! A small game, a client in memory, and a scene that runs them.

mod client;
mod scene;
mod yard;

pub use client::{Client, read_all};
pub use scene::{Scene, join_request, settings};
pub use yard::{Call, Chat, Crate, Scoreboard, Secret, Yard, home};
