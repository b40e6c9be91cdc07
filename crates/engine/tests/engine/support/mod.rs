//! A small game, a client in memory, and a stage to put them on.

mod client;
mod scene;
mod yard;

pub use client::{Client, read_all};
pub use scene::{Scene, joiner, settings};
pub use yard::{Call, Chat, Crate, Scoreboard, Secret, Yard, home};
