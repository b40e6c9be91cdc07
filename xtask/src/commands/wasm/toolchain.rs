//! Source of the standard library for the browser, and the cargo that uses it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::failure::Failure;
use crate::packages::{self, Package};
use crate::process::{find_program, output, run_within};
use crate::project::Project;
use crate::report;

/// Target triple of browsers.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Timeout of rustup. Adding a target takes seconds, but without a network rustup may retry for much longer.
const RUSTUP_LIMIT: Duration = Duration::from_secs(120);

/// Debian's Rust, new enough for browsers, and the sources of its standard library.
const DEBIAN_PACKAGES: &[Package] = &[
    Package {
        debian: "rustc-web",
        purpose: "a compiler that matches the sources of its standard library",
        present: || packages::is_installed("rustc-web"),
    },
    Package {
        debian: "cargo-web",
        purpose: "the cargo of that compiler",
        present: || packages::is_installed("cargo-web"),
    },
    Package {
        debian: "rust-web-src",
        purpose: "the sources of the standard library",
        present: || packages::is_installed("rust-web-src"),
    },
    Package { debian: "lld", purpose: "the linker wasm-ld", present: || find_program("wasm-ld").is_some() },
];

/// Source of the standard library for wasm32.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Toolchain {
    Rustup,
    Debian,
}

impl Toolchain {
    /// `cargo build` for the browser.
    pub fn build(self, project: &Project) -> Command {
        let mut command = match self {
            Toolchain::Rustup => {
                let mut command = project.cargo();
                command.arg("build");
                command
            }
            Toolchain::Debian => debian_build(project),
        };
        command.args(["--target", TARGET]);
        command
    }

    /// Returns the output folder of its builds.
    pub fn folder(self, project: &Project) -> PathBuf {
        match self {
            Toolchain::Rustup => project.target.clone(),
            Toolchain::Debian => project.target.join("wasm-debian"),
        }
    }
}

/// Finds a toolchain, and installs one if possible.
pub fn toolchain(project: &Project, wanted: Option<Toolchain>) -> Result<Toolchain, Failure> {
    if wanted != Some(Toolchain::Debian) {
        if has_target(project) || add_target(project) {
            return Ok(Toolchain::Rustup);
        }
        if wanted == Some(Toolchain::Rustup) || !packages::is_debian() {
            return Err(Failure::new(format!(
                "this toolchain cannot build for {TARGET}; install that target, with `rustup \
                 target add {TARGET}` for example"
            )));
        }
        report::print(&format!("rustup cannot add {TARGET} here; Debian's packages can do the build instead"));
    }
    packages::ensure(DEBIAN_PACKAGES)?;
    Ok(Toolchain::Debian)
}

/// Adds the target with rustup. Returns true if the compiler in use has it now.
fn add_target(project: &Project) -> bool {
    let mut command = Command::new("rustup");
    command.current_dir(&project.root).args(["target", "add", TARGET]);
    match run_within(&mut command, RUSTUP_LIMIT) {
        Ok(()) => has_target(project),
        Err(failure) => {
            report::print(&failure.to_string());
            false
        }
    }
}

/// Returns true if the compiler in use has a standard library for the target.
fn has_target(project: &Project) -> bool {
    let mut command = Command::new("rustc");
    command.current_dir(&project.root).args(["--print", "target-libdir", "--target", TARGET]);
    output(&mut command).is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

/// Returns Debian's cargo, which builds the standard library from source in its own folder.
fn debian_build(project: &Project) -> Command {
    let mut command = Command::new("/usr/bin/cargo");
    command.current_dir(&project.root);
    // Variables of the calling toolchain do not fit this one.
    for variable in ["CARGO", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"] {
        command.env_remove(variable);
    }
    command
        .env("RUSTC", "/usr/bin/rustc")
        // Building the standard library is not stable yet, and Debian's compiler is a stable one.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld")
        .env("CARGO_TARGET_DIR", Toolchain::Debian.folder(project))
        .args(["build", "-Zbuild-std=std,panic_abort"])
        // Debian's version may be older than the declared one; a real incompatibility fails the build.
        .arg("--ignore-rust-version");
    command
}
