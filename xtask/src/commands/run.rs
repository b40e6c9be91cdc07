//! Builds and starts the program.

use std::ffi::OsString;

use super::Command;
use crate::failure::Outcome;
use crate::process;
use crate::project::Project;

pub const COMMAND: Command = Command {
    name: "run",
    summary: "Builds the program in release form and starts it.",
    help: "
Usage: cargo xtask run [arguments]

Starts a headless room of the sandbox game, which prints its ticks. All
arguments are passed on to the program; `cargo xtask run -- --help` shows
which ones it takes.",
    run,
};

/// The package whose program is started.
const PACKAGE: &str = "aether-sandbox-server";

fn run(project: &Project, mut arguments: Vec<OsString>) -> Outcome {
    if arguments.first().is_some_and(|argument| argument == "--") {
        arguments.remove(0);
    }
    let mut command = project.cargo();
    command.args(["run", "--release", "--package", PACKAGE, "--", "run"]);
    process::run(command.args(arguments))
}
