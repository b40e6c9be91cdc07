//! Client SDKs from their registries, against the real server on each database.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process;

use aether_testkit_postgres::Cluster;

use super::{Command, browser, postgres, web};
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::process::run;
use crate::project::Project;
use crate::steps::Step;

pub const COMMAND: Command = Command {
    name: "sdk",
    summary: "Tests the server through the client SDKs that games use.",
    help: "
Usage: cargo xtask sdk [--program FILE]

  --program FILE   tests against this server instead of building one

Installs nakama-js as the lock file names it, and makes every call of it that
the server has, on SQLite and on a new PostgreSQL.",
    run: run_command,
};

/// The SDKs against the server.
pub const SDK: Step = Step {
    name: "sdk",
    what: "client SDKs work unchanged, on SQLite and on PostgreSQL",
    run: |project| test(project, None),
    needed_by_the_rest: false,
};

/// Where the tests of the SDK for JavaScript lie.
const NAKAMA_JS: &str = "sdk-tests/nakama-js";

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    test(project, browser::named_program(arguments)?)
}

fn test(project: &Project, program: Option<PathBuf>) -> Outcome {
    packages::ensure(web::PACKAGES)?;
    packages::ensure(postgres::PACKAGES)?;
    let program = browser::program(project, program)?;
    let folder = project.root.join(NAKAMA_JS);
    install(&folder)?;
    let on_sqlite = run(npm(&folder).args(["test"]).env("AETHER_PROGRAM", &program));
    let database = new_postgres()?;
    let on_postgres =
        run(npm(&folder).args(["test"]).env("AETHER_PROGRAM", &program).env("AETHER_DATABASE_URL", database.url()));
    on_sqlite.and(on_postgres)
}

/// A PostgreSQL of this run's own, gone when it is dropped: what others left behind is not in the way.
pub fn new_postgres() -> Result<Cluster, Failure> {
    let folder = std::env::temp_dir().join(format!("aether-sdk-postgres-{}", std::process::id()));
    let mut cluster = Cluster::create(&folder)?;
    cluster.start()?;
    Ok(cluster)
}

/// Installs the packages of a folder as its lock file names them. None needs its install script, so none is run.
pub fn install(folder: &Path) -> Outcome {
    run(npm(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))
}

pub fn npm(folder: &Path) -> process::Command {
    let mut command = process::Command::new("npm");
    command.current_dir(folder);
    command
}
