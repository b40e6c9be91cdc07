//! The project's own rules as a command and as a step.

use std::ffi::OsString;

use super::{Command, no_arguments};
use crate::failure::Outcome;
use crate::project::Project;
use crate::steps::{Lane, Step};
use crate::tidy;

pub const COMMAND: Command = Command {
    name: "tidy",
    summary: "Checks the project's own rules: floors, clocks, maps, file lengths and more.",
    help: "
Usage: cargo xtask tidy

Prints one line per broken rule: `path:line: rule: what to do`.

  floors       a crate uses only crates on lower floors (xtask/src/house.rs)
  runtime      no tokio in the dependencies of the engine, the client or below
  environment  std::env and process exit only in programs
  clocks       time is passed in on floors 0 to 4 and in games' rules
  hashing      no map with a randomly seeded hasher on floors 0 to 4 and in rules
  floats       games' rules take sin, powf and the like from libm
  locks        examples, fuzz and bindgen have the versions of the main lock file
  length       files aim at 500 lines and end at 800",
    run,
};

/// The project's own rules.
pub const TIDY: Step =
    Step { name: "tidy", what: "the project's own rules hold", run: tidy::check, lane: Lane::Test, after: &[] };

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    no_arguments(arguments)?;
    tidy::check(project)
}
