//! Checks that do not run the code.

use std::ffi::OsString;

use super::{Command, no_arguments, tidy};
use crate::failure::Outcome;
use crate::process;
use crate::project::Project;
use crate::steps::{self, Lane, Step};

pub const COMMAND: Command = Command {
    name: "check",
    summary: "Checks format, lints and the project's own rules; fast.",
    help: "
Usage: cargo xtask check

Runs `cargo fmt --check`, clippy with warnings as errors on all targets, and
`cargo xtask tidy`. `cargo xtask test` does the same and much more.",
    run,
};

/// Shows what rustfmt would change.
pub const FORMAT: Step =
    Step { name: "format", what: "sources are formatted by rustfmt", run: format, lane: Lane::Test, after: &[] };

/// Clippy with warnings as errors.
pub const LINT: Step =
    Step { name: "lint", what: "clippy finds nothing in any target", run: lint, lane: Lane::Compile, after: &[] };

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    no_arguments(arguments)?;
    steps::run_all(project, &[FORMAT, LINT, tidy::TIDY])
}

fn format(project: &Project) -> Outcome {
    process::run(project.cargo().args(["fmt", "--all", "--check"]))?;
    for manifest in project.excluded_manifests() {
        let mut command = project.cargo();
        command.args(["fmt", "--check", "--manifest-path"]);
        process::run(command.arg(manifest))?;
    }
    Ok(())
}

fn lint(project: &Project) -> Outcome {
    let mut command = project.cargo();
    process::compile(command.args(["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"]))
}
