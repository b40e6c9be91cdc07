//! The server, killed under load again and again.

use std::ffi::OsString;

use lexopt::Arg::Long;
use lexopt::ValueExt;

use super::{Command, postgres};
use crate::failure::Outcome;
use crate::process;
use crate::project::Project;

pub const COMMAND: Command = Command {
    name: "durability",
    summary: "Kills the server under load repeatedly and checks the stored data.",
    help: "
Usage: cargo xtask durability [--rounds N]

  --rounds N   number of kills of each server; default: 20

Clients write objects, scores, accounts and wallets on SQLite and on PostgreSQL
while the server is killed with SIGKILL and restarted. The command fails if an
acknowledged write is missing or was applied twice. `cargo xtask test` does the
same with 3 rounds.",
    run,
};

const ROUNDS_DEFAULT: u32 = 20;

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut rounds = ROUNDS_DEFAULT;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("rounds") => rounds = parser.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    let database = postgres::running(project)?;
    let mut command = project.cargo();
    command.envs(database.environment()).env("DURABILITY_ROUNDS", rounds.to_string());
    command.args(["test", "--workspace", "--test", "program", "--test", "durability"]);
    // One thread, so that the results of tests are not mixed.
    process::run(command.args(["--", "durability::", "wallets_conserve", "--nocapture", "--test-threads=1"]))
}
