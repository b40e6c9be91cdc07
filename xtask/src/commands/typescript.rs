//! Our own SDK for TypeScript: its types, its size, and its tests in Node and in a browser.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Command, browser, wasm};
use crate::failure::Outcome;
use crate::npm::{self, npm};
use crate::packages;
use crate::process::run;
use crate::project::Project;
use crate::steps::{Lane, Step};

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
    lane: Lane::Browse,
    after: &["setup", "build", "pages"],
};

const FOLDER: &str = "sdk/typescript";

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    test(project, browser::named_program(arguments)?)
}

fn test(project: &Project, program: Option<PathBuf>) -> Outcome {
    install(project)?;
    let chromium = browser::chromium()?;
    wasm::modules(project)?;
    let program = browser::program(project, program)?;
    let folder = project.root.join(FOLDER);
    for script in ["check", "build", "test", "test:server", "test:browser"] {
        let mut npm = npm(&folder);
        npm.env("AETHER_PROGRAM", &program).env("AETHER_CHROMIUM", &chromium);
        run(npm.args(["run", "--silent", script]))?;
    }
    Ok(())
}

/// Installs the packages that build and test the SDK.
pub fn install(project: &Project) -> Outcome {
    packages::ensure(npm::PACKAGES)?;
    npm::install(&project.root.join(FOLDER))
}
