//! The commands of the program.

pub mod admin;
pub mod backup;
pub mod check;
pub mod driver;
pub mod find;
mod load;
pub mod migrate;
pub mod replay;
pub mod rooms;
pub mod script;
pub mod seed;
pub mod serve;
pub mod spectate;
pub mod token;

use crate::clock::unix_seconds;
use crate::server::Server;
use admin::AdminArguments;
use aether_load::LoadArguments;
use backup::{BackupArguments, RestoreArguments};
use check::CheckArguments;
use driver::DriverArguments;
use find::FindArguments;
use migrate::MigrateArguments;
use replay::ReplayArguments;
use rooms::RoomsArguments;
use script::ScriptArguments;
use seed::SeedArguments;
use serve::ServeArguments;
use spectate::SpectateArguments;
use std::process::ExitCode;
use token::TokenArguments;

/// Commands of a server program. A program with more commands flattens this enum into its own.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Run the server until SIGTERM or SIGINT
    Serve(ServeArguments),
    /// Check the configuration and print the settings that are not defaults
    Check(CheckArguments),
    /// Print a development token for a server on this machine
    Token(TokenArguments),
    /// Apply pending migrations to the database, or list applied and pending ones
    Migrate(MigrateArguments),
    /// Write the whole database to a file; a server may use the database meanwhile
    Backup(BackupArguments),
    /// Restore the database from a backup
    Restore(RestoreArguments),
    /// Add sample players with storage objects, wallets, scores and groups to the database
    Seed(SeedArguments),
    /// List durable rooms or the stored states of one, or write a state to a file; a server may run meanwhile
    Rooms(RoomsArguments),
    /// Manage players and rooms of a running server, record rooms, and drain it
    Admin(AdminArguments),
    /// Check and run Lua modules, or print type definitions and the reference of their functions
    Script(ScriptArguments),
    /// Replay a recorded room, compare every tick with the recording and print the last hash
    Replay(ReplayArguments),
    /// Run the server and record every room
    Record(serve::RecordArguments),
    /// Find servers and rooms on the local network
    Find(FindArguments),
    /// Watch a room on the local network, with a line per second
    Spectate(SpectateArguments),
    /// Own the socket of reliable UDP for a server on this machine, until SIGTERM or SIGINT
    Driver(DriverArguments),
    /// Run bots against a server and print a report
    Load(LoadArguments),
}

impl Command {
    pub(crate) fn run(self, server: Server) -> ExitCode {
        match self {
            Command::Serve(arguments) => serve::run(server, &arguments, None),
            Command::Record(arguments) => serve::run(server, &arguments.serve, Some(arguments.folder)),
            Command::Check(arguments) => print(arguments.run(&server.declared_room_types(), &server.encodings)),
            Command::Token(arguments) => print(arguments.run(unix_seconds()).map(|token| format!("{token}\n"))),
            Command::Migrate(arguments) => print(block_on(arguments.run())),
            Command::Backup(arguments) => print(block_on(arguments.run())),
            Command::Restore(arguments) => print(block_on(arguments.run())),
            Command::Seed(arguments) => print(block_on(arguments.run())),
            Command::Rooms(arguments) => print(block_on(arguments.run())),
            Command::Admin(arguments) => print(block_on(arguments.run())),
            Command::Script(arguments) => print(script::run(server, arguments)),
            Command::Replay(arguments) => print(replay::run(&server, &arguments)),
            Command::Find(arguments) => print(block_on(arguments.run())),
            Command::Spectate(arguments) => print(block_on(arguments.run())),
            Command::Driver(arguments) => driver::run(&arguments),
            Command::Load(arguments) => load::run(&server, arguments),
        }
    }
}

/// Runs an asynchronous command to its end.
fn block_on(command: impl Future<Output = Result<String, String>>) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("Cannot start the async runtime: {error}"))?.block_on(command)
}

/// Prints the output of a command, or its error to standard error.
fn print(result: Result<String, impl std::fmt::Display>) -> ExitCode {
    match result {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => fail(&error),
    }
}

pub(crate) fn fail(error: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("{error}");
    ExitCode::FAILURE
}
