//! Tests, benches and programs that cargo builds, each once.
//!
//! Programs are selected by name out of the whole workspace (`--workspace --bin`), never by package: the features of
//! dependencies are those of all selected packages, and with another selection everything would be compiled again.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;

/// The server.
pub const SERVER: &str = "aether";
/// A server with functions, for tests of client SDKs.
pub const FUNCTIONS: &str = "functions";
/// The program of the network benchmarks and of the soak test. It starts the server that lies beside it.
pub const NETWORK_BENCHES: &str = "aether-bench";
/// The program of the seeded simulations.
pub const SIMULATION: &str = "sim";

/// The packages of these programs.
const RELEASED: [&str; 3] = ["aether", "aether-bench", "aether-testkit"];

/// An executable that cargo built.
#[derive(Clone, Debug)]
pub struct Executable {
    pub kind: Kind,
    /// Name of its package.
    pub package: String,
    /// Name of its target in that package.
    pub target: String,
    pub path: PathBuf,
    /// Folder of the package, which tests run in.
    pub folder: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Test,
    Bench,
    Program,
}

/// A cargo profile for programs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Built fast; see `.cargo/config.toml`.
    Dev,
    /// Runs fast; what is measured and shipped.
    Release,
}

/// Builds all tests, benches and programs of the workspace, once in this process.
pub fn everything(project: &Project) -> Result<&[Executable], Failure> {
    if let Some(built) = project.built.get() {
        return Ok(built);
    }
    let mut command = project.cargo();
    let artifacts = process::compile_artifacts(command.args(["test", "--workspace", "--all-targets", "--no-run"]))?;
    let built = artifacts.iter().filter_map(executable).collect();
    Ok(project.built.get_or_init(|| built))
}

/// Builds programs and returns the folder that they are in.
pub fn programs(project: &Project, names: &[&str], profile: Profile) -> Result<PathBuf, Failure> {
    let folder = match profile {
        Profile::Dev => project.target.join("debug"),
        Profile::Release => project.target.join("release"),
    };
    let is_built = |name: &&str| {
        let built = project.built.get().into_iter().flatten();
        built.filter(|built| built.kind == Kind::Program).any(|built| built.target == **name)
    };
    if profile == Profile::Release || !names.iter().all(is_built) {
        process::compile(&mut build(project, names, profile))?;
    }
    Ok(folder)
}

/// Builds the server for tests and returns its file.
pub fn server(project: &Project) -> Result<PathBuf, Failure> {
    Ok(programs(project, &[SERVER], Profile::Dev)?.join(SERVER))
}

fn build(project: &Project, names: &[&str], profile: Profile) -> std::process::Command {
    let mut command = project.cargo();
    match profile {
        Profile::Dev => command.args(["build", "--workspace"]),
        // The packages alone, so that what is shipped and measured has the features that it needs and no others.
        Profile::Release => {
            command.args(["build", "--release"]).args(RELEASED.iter().flat_map(|name| ["--package", name]))
        }
    };
    command.args(names.iter().flat_map(|name| ["--bin", name]));
    command
}

/// Builds everything as a step.
pub fn build_everything(project: &Project) -> Outcome {
    everything(project).map(|_| ())
}

fn executable(artifact: &Value) -> Option<Executable> {
    let path = PathBuf::from(artifact["executable"].as_str()?);
    let manifest = Path::new(artifact["manifest_path"].as_str()?);
    let target = &artifact["target"];
    let kind = match (target["kind"][0].as_str()?, artifact["profile"]["test"].as_bool()?) {
        ("bench", _) => Kind::Bench,
        // An example is compiled to show that it compiles; it has no tests.
        ("example", _) => return None,
        (_, true) => Kind::Test,
        (_, false) => Kind::Program,
    };
    Some(Executable {
        kind,
        package: package_name(artifact["package_id"].as_str()?).to_owned(),
        target: target["name"].as_str()?.to_owned(),
        path,
        folder: manifest.parent()?.to_owned(),
    })
}

/// Reads the name from an id such as `path+file:///…/crates/api#aether-api@0.1.0` or `path+file:///…/xtask#0.1.0`.
fn package_name(id: &str) -> &str {
    let (path, rest) = id.rsplit_once('#').unwrap_or(("", id));
    match rest.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(kind: &str, is_test: bool) -> Value {
        serde_json::json!({
            "reason": "compiler-artifact",
            "package_id": "path+file:///p/crates/api#aether-api@0.1.0",
            "manifest_path": "/p/crates/api/Cargo.toml",
            "target": { "kind": [kind], "name": "api" },
            "profile": { "test": is_test },
            "executable": "/t/debug/deps/api-1",
        })
    }

    #[test]
    fn tests_benches_and_programs_are_distinguished() {
        let kind = |kind, is_test| executable(&artifact(kind, is_test)).map(|executable| executable.kind);
        assert_eq!(kind("test", true), Some(Kind::Test));
        assert_eq!(kind("lib", true), Some(Kind::Test));
        assert_eq!(kind("bench", true), Some(Kind::Bench));
        assert_eq!(kind("bin", false), Some(Kind::Program));
        assert_eq!(kind("example", true), None);
    }

    #[test]
    fn a_package_is_named_by_its_id() {
        assert_eq!(package_name("path+file:///p/crates/api#aether-api@0.1.0"), "aether-api");
        assert_eq!(package_name("path+file:///p/xtask#0.1.0"), "xtask");
    }
}
