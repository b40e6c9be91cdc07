//! The server as a library: register games, run.
//!
//! A Rust game is a program of its own: it makes a [`Server`], registers its games and calls [`Server::main`], which
//! brings the commands `serve`, `check`, `token`, `record` and `replay`. [`Server::start`] runs it inside another program.

mod backend;
mod clock;
pub mod commands;
pub mod config;
mod data;
pub mod logging;
mod node;
mod platforms;
mod running;
mod server;

pub use aether_api::{PageAsset, PageFile, Pages};
pub use aether_rooms::LiveSessions;
pub use aether_services as services;
pub use aether_services::session::{keys, tokens};
pub use running::{RunningServer, StartError};
pub use server::Server;
