//! The commands of the program.

pub mod check;
pub mod replay;
pub mod serve;
pub mod token;

use crate::lobby::unix_seconds;
use crate::server::Server;
use check::CheckArguments;
use replay::ReplayArguments;
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
            Command::Replay(arguments) => print(replay::run(&server, &arguments)),
        }
    }
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
