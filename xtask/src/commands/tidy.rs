//! The project's own rules as a command and as a step.

use std::ffi::OsString;

use super::{Command, no_arguments};
use crate::failure::Outcome;
use crate::project::Project;
use crate::steps::{Lane, Step};
use crate::tidy;

pub const COMMAND: Command = Command {
    name: "tidy",
    summary: "Checks the project's rules: floors, type names, doc comments and more.",
    help: "
Usage: cargo xtask tidy

Prints one line per violation: `path:line: rule: what to do`.

  floors       a crate uses only crates on lower floors (xtask/src/floors.rs);
               rules of games use aether-game with the feature `rules` alone
  runtime      no tokio in the dependencies of the engine, the client or below
  type names   no two crates export types of the same name at their roots
  doc comments begin with their subject, not with What, How, Whether and so on
  environment  std::env and process exit only in programs
  clocks       no clock on floors 0 to 4 and in rules; time is an argument
  hashing      no map with a randomly seeded hasher on floors 0 to 4 and in rules
  floats       rules take sin, powf and similar functions from libm
  locks        examples, fuzz and bindgen have the versions of the main lock file
  length       files have at most 800 lines, better 500",
    run,
};

/// The project's own rules.
pub const TIDY: Step =
    Step { name: "tidy", what: "the project's own rules hold", run: tidy::check, lane: Lane::Test, after: &[] };

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    no_arguments(arguments)?;
    tidy::check(project)
}
