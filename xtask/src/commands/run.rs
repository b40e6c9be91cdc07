//! Builds and starts the program.

use std::ffi::OsString;

use super::{Command, web};
use crate::failure::Outcome;
use crate::process;
use crate::project::Project;

pub const COMMAND: Command = Command {
    name: "run",
    summary: "Builds the program in release form and starts it.",
    help: "
Usage: cargo xtask run [arguments]

Builds the page and the server, and serves at http://127.0.0.1:7350/ until
Ctrl-C. All arguments are passed on to `aether serve`; `cargo xtask run --
--help` shows which ones it takes.",
    run,
};

/// The package whose program is started.
const PACKAGE: &str = "aether";

fn run(project: &Project, mut arguments: Vec<OsString>) -> Outcome {
    if arguments.first().is_some_and(|argument| argument == "--") {
        arguments.remove(0);
    }
    web::build(project)?;
    let mut command = project.cargo();
    command.args(["run", "--release", "--package", PACKAGE, "--", "serve"]);
    process::run(command.args(arguments))
}
