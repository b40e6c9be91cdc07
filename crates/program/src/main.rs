//! The `aether` program: a server with the built-in games, and a load tool.

mod pages;

use aether_arena_server::Arena;
use aether_engine::RoomSettings;
use aether_load::LoadArguments;
use aether_net::relay::RelaySettings;
use aether_outpost_server::Outpost;
use aether_sandbox_server::Sandbox;
use aether_server::Server;
use aether_server::services::leaderboard::Definition;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Time in which a player of the sandbox can resume after a lost connection.
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
    /// Run bots against a server and print a report
    Load(LoadArguments),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Server(command) => server().run(command),
        Command::Load(arguments) => load(arguments),
    }
}

/// Runs the load tool. Fails if a bot could not join or was disconnected, so that scripts notice.
fn load(arguments: LoadArguments) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("Cannot start the async runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let json = arguments.json;
    match runtime.block_on(aether_load::run(arguments)) {
        Ok(report) => {
            print!("{}", report.render(json));
            if report.all_stayed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn server() -> Server {
    let sandbox = aether_sandbox_server::settings();
    let sandbox = RoomSettings { resume_ticks: RESUME_SECONDS * sandbox.tick_hz, ..sandbox };
    Server::new("aether", env!("CARGO_PKG_VERSION"))
        .game(aether_sandbox_server::NAME, sandbox, Sandbox::default)
        .game(aether_arena_server::NAME, aether_arena_server::settings(), Arena::default)
        .game(aether_outpost_server::NAME, aether_outpost_server::settings(), Outpost::default)
        .relay("relay", RelaySettings::default())
        .reserve_collection(aether_sandbox_server::COLLECTION)
        .reserve_collection(aether_arena_server::COLLECTION)
        .pages(pages::pages())
        .on_start(async |services| {
            for board in [aether_sandbox_server::NAME, aether_arena_server::BOARD] {
                services.leaderboards.create(Definition::new(board)).await?;
            }
            Ok(())
        })
}
