//! Folders of the project, and calls of cargo.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::builds::Executable;
use crate::failure::Failure;
use crate::process;

/// The work tree and its build folder.
pub struct Project {
    /// The workspace's root folder.
    pub root: PathBuf,
    /// The build folder, which follows `CARGO_TARGET_DIR`.
    pub target: PathBuf,
    /// Tests and programs that this process has built.
    pub built: OnceLock<Vec<Executable>>,
}

impl Project {
    /// Finds the project around the current folder.
    pub fn open() -> Result<Self, Failure> {
        let mut metadata = cargo_program();
        if let Some(own) = std::env::var_os("CARGO_MANIFEST_DIR") {
            metadata.current_dir(own);
        }
        metadata.args(["metadata", "--format-version=1", "--no-deps"]);
        let metadata = parse(&process::output(&mut metadata)?)?;
        Ok(Self::at(path_at(&metadata, "workspace_root")?, path_at(&metadata, "target_directory")?))
    }

    /// Returns the project with these folders.
    pub fn at(root: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), target: target.into(), built: OnceLock::new() }
    }

    /// Returns the cargo that started this program, in the root of the project.
    pub fn cargo(&self) -> Command {
        let mut command = cargo_program();
        command.current_dir(&self.root);
        command
    }

    /// Returns cargo's metadata of the workspace and its dependencies.
    pub fn metadata(&self) -> Result<Value, Failure> {
        let mut command = self.cargo();
        parse(&process::output(command.args(["metadata", "--format-version=1"]))?)
    }

    /// Manifests of the packages that are excluded from the workspace.
    pub fn excluded_manifests(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.root.join("fuzz"), self.root.join("xtask/bindgen")];
        folders.extend(subfolders(&self.root.join("peers")));
        folders.extend(subfolders(&self.root.join("examples")));
        folders.into_iter().map(|folder| folder.join("Cargo.toml")).filter(|manifest| manifest.is_file()).collect()
    }
}

/// The folders directly in a folder, sorted by name; none if it does not exist.
pub fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Reads cargo's JSON.
pub fn parse(json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|error| Failure::new(format!("cargo's metadata cannot be parsed: {error}")))
}

fn path_at(metadata: &Value, key: &str) -> Result<PathBuf, Failure> {
    metadata[key].as_str().map(PathBuf::from).ok_or_else(|| Failure::new(format!("cargo's metadata lacks `{key}`")))
}

fn cargo_program() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}
