//! The server as a library: configuration, wiring of the lower crates, and the command line.
//!
//! A game in Rust is a program of its own. It creates a [`Server`], adds room types ([`Server::game`], [`Server::relay`]),
//! hooks, functions and pages, and calls [`Server::main`]. That parses the command line and runs one of the
//! [commands](commands::Command): `serve`, `check`, `token`, `migrate`, `backup`, `restore`, `seed`, `rooms`, `admin`,
//! `replay`, `record`, `driver`, `find`, `spectate` or `load`. [`Server::start`] runs a server inside another program and
//! returns a [`RunningServer`].
//!
//! - [`config`] declares every setting once: default, bounds, description, file key, environment variable and flag.
//! - [`services`] has accounts, storage, leaderboards and the other services, for hooks and functions.
//! - [`logging`] sets up log output as configured.

mod admin_key;
mod backend;
mod clock;
pub mod commands;
pub mod config;
mod data;
mod lan;
pub mod logging;
mod matchmaking;
mod node;
mod old_metrics;
mod platforms;
mod running;
mod script_editor;
mod scripting;
mod server;
mod shared_memory;
mod udp;

pub use aether_api::{PageAsset, PageFile, Pages};
pub use aether_net::relay::RelaySettings;
pub use aether_rooms::{GameSetup, LiveSessions, ReloadReport, RoomDefinition, RoomHost, RoomType};
pub use aether_services as services;
pub use aether_services::session::{keys, tokens};
pub use running::{RunningServer, StartError};
pub use server::Server;
