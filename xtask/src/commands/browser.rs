//! The pages in a real browser, against a real server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process;

use lexopt::Arg::Long;

use super::{Command, web};
use crate::builds::{self, Profile};
use crate::failure::{Failure, Outcome};
use crate::npm;
use crate::packages::{self, Package};
use crate::process::{find_program, run};
use crate::project::Project;
use crate::steps::{Lane, Step};

pub const COMMAND: Command = Command {
    name: "browser",
    summary: "Tests the pages in headless Chromium against a real server.",
    help: "
Usage: cargo xtask browser [--program FILE]

  --program FILE   tests against this server instead of building one

Signs in, follows every link, plays each game in two browsers over WebSocket and
WebTransport, and restarts the server. Screenshots are written to web/screenshots.",
    run: run_command,
};

/// The pages in a browser.
pub const BROWSER: Step = Step {
    name: "browser",
    what: "pages play, display and resume in a real browser",
    run: |project| test(project, None),
    lane: Lane::Browse,
    after: &["setup", "build", "pages"],
};

/// Program names of Chromium on different systems.
const BROWSER_NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The browser.
pub const PACKAGES: &[Package] = &[Package {
    debian: "chromium",
    purpose: "Chromium, the browser that the pages are tested in",
    present: || browser().is_some(),
}];

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    test(project, named_program(arguments)?)
}

fn test(project: &Project, program: Option<PathBuf>) -> Outcome {
    let chromium = chromium()?;
    web::build(project)?;
    let program = self::program(project, program)?;
    let mut command = npm::npm(&web::folder(project));
    command.env("AETHER_PROGRAM", program).env("AETHER_CHROMIUM", chromium);
    run(command.args(["run", "--silent", "test"]))
}

/// Returns the benchmark of a page: a script in web/bench, with the server and the browser that it needs.
pub fn bench(project: &Project, name: &str, profile: Profile) -> Result<process::Command, Failure> {
    let chromium = chromium()?;
    web::build(project)?;
    let program = builds::programs(project, &[builds::SERVER], profile)?.join(builds::SERVER);
    let mut command = process::Command::new("node");
    command.current_dir(web::folder(project)).env("AETHER_PROGRAM", program).env("AETHER_CHROMIUM", chromium);
    command.arg(format!("bench/{name}.mjs"));
    Ok(command)
}

/// Reads the flag `--program`, the only one of commands that test a program.
pub fn named_program(arguments: Vec<OsString>) -> Result<Option<PathBuf>, Failure> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut program = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("program") => program = Some(PathBuf::from(parser.value()?)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(program)
}

/// Returns the path of Chromium, and installs it if it is missing.
pub fn chromium() -> Result<PathBuf, Failure> {
    packages::ensure(PACKAGES)?;
    browser().ok_or_else(|| Failure::new("Chromium is not on the search path"))
}

/// Returns the server to test: the given one, or a new build.
pub fn program(project: &Project, named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(program) = named {
        // The path is relative to the caller's folder, and the tests run in another one.
        return std::path::absolute(&program).map_err(|error| Failure::new(format!("{}: {error}", program.display())));
    }
    builds::server(project)
}

fn browser() -> Option<PathBuf> {
    BROWSER_NAMES.iter().find_map(|name| find_program(name))
}
