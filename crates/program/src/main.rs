//! The `aether` program: a server with the built-in games, and a load tool.

use aether_engine::RoomSettings;
use aether_net::relay::RelaySettings;
use aether_sandbox_server::Sandbox;
use aether_server::Server;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// How long a player of the sandbox who lost the connection keeps the ship.
const RESUME_SECONDS: u32 = 15;

/// A multiplayer game server in one program.
#[derive(Parser)]
#[command(name = "aether", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Server(aether_server::commands::Command),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Server(command) => server().run(command),
    }
}

fn server() -> Server {
    let sandbox = aether_sandbox_server::settings();
    let sandbox = RoomSettings { resume_ticks: RESUME_SECONDS * sandbox.tick_hz, ..sandbox };
    Server::new("aether", env!("CARGO_PKG_VERSION"))
        .game(aether_sandbox_server::NAME, sandbox, Sandbox::default)
        .relay("relay", RelaySettings::default())
}
