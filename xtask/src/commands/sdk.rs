//! Client SDKs from their registries, against the real server on each database.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Command, browser, postgres};
use crate::builds::{self, Profile};
use crate::failure::Outcome;
use crate::npm::{self, npm};
use crate::packages;
use crate::process::run;
use crate::project::Project;
use crate::steps::{Lane, Step};

pub const COMMAND: Command = Command {
    name: "sdk",
    summary: "Tests the server with existing client SDKs.",
    help: "
Usage: cargo xtask sdk [--program FILE]

  --program FILE   tests against this server instead of building one

Installs nakama-js in the version of the lock file and makes every call that the
server supports, on SQLite and on a new PostgreSQL.",
    run: run_command,
};

/// The SDKs against the server.
pub const SDK: Step = Step {
    name: "sdk",
    what: "existing client SDKs work unchanged, on SQLite and on PostgreSQL",
    run: |project| test(project, None),
    lane: Lane::Browse,
    after: &["setup", "build"],
};

/// Folder of the tests with the JavaScript SDK.
const NAKAMA_JS: &str = "sdk-tests/nakama-js";

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    test(project, browser::named_program(arguments)?)
}

fn test(project: &Project, program: Option<PathBuf>) -> Outcome {
    packages::ensure(postgres::PACKAGES)?;
    install(project)?;
    let program = browser::program(project, program)?;
    let functions = builds::programs(project, &[builds::FUNCTIONS], Profile::Dev)?.join(builds::FUNCTIONS);
    let folder = project.root.join(NAKAMA_JS);
    let tests = || {
        let mut tests = npm(&folder);
        tests.args(["test"]).env("AETHER_PROGRAM", &program).env("AETHER_FUNCTIONS_PROGRAM", &functions);
        tests
    };
    let on_sqlite = run(&mut tests());
    let database = postgres::temporary()?;
    let on_postgres = run(tests().env("AETHER_DATABASE_URL", database.url()));
    on_sqlite.and(on_postgres)
}

/// Installs the SDK.
pub fn install(project: &Project) -> Outcome {
    packages::ensure(npm::PACKAGES)?;
    npm::install(&project.root.join(NAKAMA_JS))
}
