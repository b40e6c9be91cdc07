//! The pages: their packages, their types, their bundle.

use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process;

use super::{Command, no_arguments, wasm};
use crate::failure::{Failure, Outcome};
use crate::packages::{self, Package};
use crate::process::{find_program, run};
use crate::project::Project;

pub const COMMAND: Command = Command {
    name: "web",
    summary: "Builds the pages that the server shows.",
    help: "
Usage: cargo xtask web

Installs the pages' packages as their lock file names them, checks their types
and bundles them into web/dist, from where the server's build takes them in.
What is up to date is left alone.",
    run: run_command,
};

/// What builds the pages.
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

/// What the bundle is made from; a folder stands for all that is in it.
const SOURCES: &[&str] = &[
    "src",
    "index.html",
    "arena/index.html",
    "outpost/index.html",
    "sandbox/index.html",
    "docs/page.html",
    "icon.svg",
    "build.mjs",
    "book.mjs",
    "tsconfig.json",
    "package.json",
    LOCK,
    "../docs",
    "../ARCHITECTURE.md",
    "../WIRE_FORMAT.md",
    "../sdk/typescript/src",
    "../sdk/typescript/wasm",
    "../games/outpost/web/pkg",
];

const LOCK: &str = "package-lock.json";

/// Names what the installed packages were installed from; it lies among them, so it goes when they go.
const INSTALLED: &str = "node_modules/.installed";

/// Names what the bundle was made from. The server's build leaves out names with a leading dot.
const BUILT: &str = "dist/.built";

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    no_arguments(arguments)?;
    build(project)
}

/// Builds the pages, unless they are up to date.
pub fn build(project: &Project) -> Outcome {
    install(project)?;
    wasm::modules(project)?;
    let folder = folder(project);
    let sources = fingerprint(&folder, SOURCES)?;
    if is_stamped(&folder.join(BUILT), &sources) {
        println!("web: the pages are up to date");
        return Ok(());
    }
    run(npm(project).args(["run", "--silent", "check"]))?;
    run(npm(project).args(["run", "--silent", "build"]))?;
    stamp(&folder.join(BUILT), &sources)
}

/// Installs the pages' packages, unless they are those of the lock file already.
fn install(project: &Project) -> Outcome {
    packages::ensure(PACKAGES)?;
    let folder = folder(project);
    let lock = fingerprint(&folder, &["package.json", LOCK])?;
    if is_stamped(&folder.join(INSTALLED), &lock) {
        return Ok(());
    }
    // None of the packages needs its install script, so none is run.
    run(npm(project).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    stamp(&folder.join(INSTALLED), &lock)
}

/// Where the pages' sources lie.
pub fn folder(project: &Project) -> PathBuf {
    project.root.join("web")
}

fn npm(project: &Project) -> process::Command {
    let mut command = process::Command::new("npm");
    command.current_dir(folder(project));
    command
}

/// A hash over the names and the contents of files.
pub fn fingerprint(folder: &Path, sources: &[&str]) -> Result<String, Failure> {
    let mut files = Vec::new();
    for source in sources {
        collect(&folder.join(source), &mut files)?;
    }
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        let unread = |error| Failure::new(format!("{}: {error}", file.display()));
        file.strip_prefix(folder).unwrap_or(&file).hash(&mut hasher);
        std::fs::read(&file).map_err(unread)?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Outcome {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let unread = |error| Failure::new(format!("{}: {error}", path.display()));
    for entry in std::fs::read_dir(path).map_err(unread)? {
        collect(&entry.map_err(unread)?.path(), files)?;
    }
    Ok(())
}

pub fn is_stamped(path: &Path, fingerprint: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|stamped| stamped == fingerprint)
}

pub fn stamp(path: &Path, fingerprint: &str) -> Outcome {
    std::fs::write(path, fingerprint).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own that is gone when the test ends.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("aether-{name}-{}", std::process::id()));
            std::fs::create_dir_all(path.join("src")).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_changed_or_renamed_source_makes_the_pages_out_of_date() {
        let folder = Folder::new("fingerprint");
        let file = folder.0.join("src/main.ts");
        std::fs::write(&file, "one").unwrap();
        let before = fingerprint(&folder.0, &["src"]).unwrap();
        assert_eq!(fingerprint(&folder.0, &["src"]).unwrap(), before);
        std::fs::rename(&file, folder.0.join("src/other.ts")).unwrap();
        assert_ne!(fingerprint(&folder.0, &["src"]).unwrap(), before);
        std::fs::remove_file(folder.0.join("src/other.ts")).unwrap();
        std::fs::write(&file, "two").unwrap();
        assert_ne!(fingerprint(&folder.0, &["src"]).unwrap(), before);
    }

    #[test]
    fn only_the_same_fingerprint_counts_as_done() {
        let folder = Folder::new("stamp");
        let path = folder.0.join("stamp");
        assert!(!is_stamped(&path, "a"));
        stamp(&path, "a").unwrap();
        assert!(is_stamped(&path, "a") && !is_stamped(&path, "b"));
    }
}
