//! The server as a library: register games, run.
//!
//! A Rust game is a program of its own: it makes a [`Server`], registers its games and calls [`Server::main`], which
//! brings the commands `serve`, `check`, `token`, `record` and `replay`. [`Server::start`] runs it inside another program.

mod backend;
pub mod commands;
pub mod config;
mod data;
mod lobby;
pub mod logging;
mod node;
mod platforms;
mod resumes;
mod rooms;
mod running;
mod server;
mod sessions;
mod telemetry;

pub use aether_api::{Asset, PageFile, Pages};
pub use aether_services as services;
pub use aether_services::session::{keys, tokens};
pub use running::{Running, StartError};
pub use server::Server;
pub use sessions::Sessions;
