//! The commands of the program.

pub mod backup;
pub mod check;
pub mod migrate;
pub mod replay;
pub mod rooms;
pub mod seed;
pub mod serve;
pub mod token;

use crate::clock::unix_seconds;
use crate::server::Server;
use backup::{BackupArguments, RestoreArguments};
use check::CheckArguments;
use migrate::MigrateArguments;
use replay::ReplayArguments;
use rooms::RoomsArguments;
use seed::SeedArguments;
use serve::ServeArguments;
use std::process::ExitCode;
use token::TokenArguments;

/// What a server program can do. A program with commands of its own flattens this into its own.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Serve games until a signal ends it
    Serve(ServeArguments),
    /// Check the configuration and show what is set
    Check(CheckArguments),
    /// Print a development token for this machine
    Token(TokenArguments),
    /// Bring the tables of the database up to date, or show how far they are
    Migrate(MigrateArguments),
    /// Write everything in the database to a file, also while a server uses it
    Backup(BackupArguments),
    /// Read a backup into the database
    Restore(RestoreArguments),
    /// Fill the database with sample players and what they have
    Seed(SeedArguments),
    /// List the durable rooms, the states that are kept of one, or write one to a file; also while a server runs
    Rooms(RoomsArguments),
    /// Run a recorded room again and print its hash
    Replay(ReplayArguments),
    /// Serve games and record every room
    Record(serve::RecordArguments),
}

impl Command {
    pub(crate) fn run(self, server: Server) -> ExitCode {
        match self {
            Command::Serve(arguments) => serve::run(server, &arguments, None),
            Command::Record(arguments) => serve::run(server, &arguments.serve, Some(arguments.folder)),
            Command::Check(arguments) => print(arguments.run(&server.declared())),
            Command::Token(arguments) => print(arguments.run(unix_seconds()).map(|token| format!("{token}\n"))),
            Command::Migrate(arguments) => print(wait_for(arguments.run())),
            Command::Backup(arguments) => print(wait_for(arguments.run())),
            Command::Restore(arguments) => print(wait_for(arguments.run())),
            Command::Seed(arguments) => print(wait_for(arguments.run())),
            Command::Rooms(arguments) => print(wait_for(arguments.run())),
            Command::Replay(arguments) => print(replay::run(&server, &arguments)),
        }
    }
}

/// Runs a command that waits for something, such as the database.
fn wait_for(command: impl Future<Output = Result<String, String>>) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("The runtime cannot start: {error}"))?.block_on(command)
}

/// Prints what a command has to say, or why it failed.
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
