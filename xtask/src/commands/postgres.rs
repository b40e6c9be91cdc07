//! PostgreSQL for the tests, in a cluster of the project's own.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use aether_testkit_postgres::{Cluster, ClusterError, REQUIRED_VARIABLE, URL_VARIABLE, can_enter, is_installed};
use lexopt::Arg::Value;

use super::{Command, text};
use crate::failure::{Failure, Outcome};
use crate::packages::{self, Package};
use crate::project::Project;

pub const COMMAND: Command = Command {
    name: "postgres",
    summary: "Starts and stops the PostgreSQL that the tests use.",
    help: "
Usage: cargo xtask postgres start|stop|status

  start    creates and starts a new cluster, and prints its connection string
  stop     stops it and deletes its data
  status   prints its connection string, or fails if it is not running

`cargo xtask test` starts one if none is running, and stops it afterwards. To run
single tests on PostgreSQL, start it and set TEST_POSTGRES_URL to the printed
connection string.",
    run,
};

/// Packages that it needs.
pub const PACKAGES: &[Package] = &[Package {
    debian: "postgresql",
    purpose: "PostgreSQL, one of the two databases that the data layer is tested on",
    present: is_installed,
}];

/// PostgreSQL for the tests. If it was started for them, it is stopped on drop.
pub struct Running(Cluster);

impl Running {
    /// Environment variables for the tests.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        [(URL_VARIABLE, self.0.url()), (REQUIRED_VARIABLE, "1".to_owned())]
    }
}

/// Returns the cluster of this project, and starts it if it is not running.
pub fn running(project: &Project) -> Result<Running, Failure> {
    packages::ensure(PACKAGES)?;
    let folder = folder(project);
    if let Some(cluster) = Cluster::running(&folder) {
        return Ok(Running(cluster));
    }
    let mut cluster = Cluster::create(&folder)?;
    cluster.start()?;
    Ok(Running(cluster))
}

/// Starts a new, empty cluster that is stopped and removed when it is dropped.
pub fn temporary() -> Result<Cluster, Failure> {
    packages::ensure(PACKAGES)?;
    let mut cluster = Cluster::create(&temporary_folder())?;
    cluster.start()?;
    Ok(cluster)
}

/// Returns a new folder for each call: steps of several lanes have their own clusters at the same time.
fn temporary_folder() -> PathBuf {
    static CREATED: AtomicU32 = AtomicU32::new(0);
    let number = CREATED.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("aether-postgres-{}-{number}", std::process::id()))
}

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let word = match parser.next()? {
        Some(Value(word)) => text(word)?,
        Some(other) => return Err(other.unexpected().into()),
        None => return Err(Failure::new("no action given; use `start`, `stop` or `status`")),
    };
    match (word.as_str(), Cluster::running(&folder(project))) {
        ("start", _) => {
            let Running(mut cluster) = running(project)?;
            cluster.leave_running();
            println!("{}", cluster.url());
            Ok(())
        }
        ("stop", Some(mut cluster)) => Ok(cluster.discard()?),
        ("stop", None) => Ok(()),
        ("status", Some(cluster)) => {
            println!("{}", cluster.url());
            Ok(())
        }
        ("status", None) => Err(Failure::new("it does not run; `cargo xtask postgres start` starts it")),
        _ => Err(Failure::new(format!("`{word}` is not one of `start`, `stop` and `status`"))),
    }
}

/// Returns the folder of the cluster: in the build folder, unless the user of PostgreSQL, who is not root, has no
/// access to it.
fn folder(project: &Project) -> PathBuf {
    let name = "aether-postgres";
    if std::fs::create_dir_all(&project.target).is_ok() && can_enter(&project.target) {
        return project.target.join(name);
    }
    let mut hasher = DefaultHasher::new();
    project.root.hash(&mut hasher);
    std::env::temp_dir().join(format!("{name}-{:016x}", hasher.finish()))
}

impl From<ClusterError> for Failure {
    fn from(trouble: ClusterError) -> Self {
        Self::new(trouble.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_temporary_clusters_have_different_folders() {
        assert_ne!(temporary_folder(), temporary_folder());
    }
}
