//! Packages from the npm registry, and scripts of their folders.

use std::path::Path;
use std::process::Command;

use crate::failure::Outcome;
use crate::fingerprint::{self, fingerprint};
use crate::packages::Package;
use crate::process::{find_program, run};

/// Programs that install packages and run scripts.
pub const PACKAGES: &[Package] = &[
    Package {
        debian: "nodejs",
        purpose: "Node.js 20 or newer, which builds the pages and runs their tests",
        present: || find_program("node").is_some(),
    },
    Package {
        debian: "npm",
        purpose: "npm, which installs the pages' packages",
        present: || find_program("npm").is_some(),
    },
];

/// Name of the lock file in a folder of packages.
pub const LOCK: &str = "package-lock.json";

/// File with the hash of the lock file of the installed packages. It is among them, so it is deleted with them.
const INSTALLED: &str = "node_modules/.installed";

/// Installs the packages of a folder in the versions of its lock file, unless they are installed.
pub fn install(folder: &Path) -> Outcome {
    let lock = fingerprint(folder, &["package.json", LOCK])?;
    if fingerprint::is_stamped(&folder.join(INSTALLED), &lock) {
        return Ok(());
    }
    // None of the packages needs its install script, so none is run.
    run(npm(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    fingerprint::stamp(&folder.join(INSTALLED), &lock)
}

/// Returns `npm` in a folder of packages.
pub fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder);
    command
}
