//! Our own SDK for TypeScript: its types, its size, and its tests in Node and in a browser.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process;

use lexopt::Arg::Long;

use super::{Command, browser, web};
use crate::failure::Outcome;
use crate::packages;
use crate::process::run;
use crate::project::Project;
use crate::steps::Step;

pub const COMMAND: Command = Command {
    name: "typescript",
    summary: "Builds and tests the SDK for TypeScript.",
    help: "
Usage: cargo xtask typescript [--program FILE]

  --program FILE   tests against this server instead of building one

Checks the types, prints the sizes of the package, and tests it in virtual
time, in Node against a real server, and in headless Chromium.",
    run: run_command,
};

/// The SDK for TypeScript.
pub const TYPESCRIPT: Step = Step {
    name: "typescript",
    what: "the SDK for TypeScript works in Node and in a real browser",
    run: |project| test(project, None),
    needed_by_the_rest: false,
};

const FOLDER: &str = "sdk/typescript";

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut program = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("program") => program = Some(PathBuf::from(parser.value()?)),
            other => return Err(other.unexpected().into()),
        }
    }
    test(project, program)
}

fn test(project: &Project, program: Option<PathBuf>) -> Outcome {
    packages::ensure(web::PACKAGES)?;
    let chromium = browser::chromium()?;
    let program = browser::program(project, program)?;
    let npm = || {
        let mut npm = process::Command::new("npm");
        npm.current_dir(project.root.join(FOLDER)).env("AETHER_PROGRAM", &program).env("AETHER_CHROMIUM", &chromium);
        npm
    };
    // None of the packages needs its install script to be run.
    run(npm().args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    for script in ["check", "build", "test", "test:server", "test:browser"] {
        run(npm().args(["run", "--silent", script]))?;
    }
    Ok(())
}
