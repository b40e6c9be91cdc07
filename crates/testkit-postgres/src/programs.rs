//! Location of the PostgreSQL programs.

use crate::ClusterError;
use std::path::{Path, PathBuf};

/// Folder of the versions on Debian, which is not in the search path.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Returns true if the PostgreSQL server is installed.
#[must_use]
pub fn is_installed() -> bool {
    folder().is_ok()
}

/// Returns the folder of the programs of the newest version.
pub(crate) fn folder() -> Result<PathBuf, ClusterError> {
    let versions = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut versions: Vec<PathBuf> =
        versions.map(|version| version.join("bin")).filter(|bin| is_complete(bin)).collect();
    versions.sort_by_key(|bin| version_number(bin));
    let path = std::env::var_os("PATH").unwrap_or_default();
    versions.pop().or_else(|| std::env::split_paths(&path).find(|folder| is_complete(folder))).ok_or_else(|| {
        ClusterError::new("the PostgreSQL server is not installed; on Debian: apt-get install postgresql")
    })
}

fn is_complete(folder: &Path) -> bool {
    ["postgres", "initdb", "pg_ctl", "pg_isready"].iter().all(|program| folder.join(program).is_file())
}

fn version_number(bin: &Path) -> u32 {
    let version = bin.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}
