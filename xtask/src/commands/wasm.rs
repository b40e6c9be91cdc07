//! The build for the browser of every crate that promises one.

use std::ffi::OsString;
use std::path::Path;
use std::process;
use std::time::Duration;

use lexopt::Arg::Long;

use super::{Command, text};
use crate::failure::{Failure, Outcome};
use crate::packages::{self, Package};
use crate::process::{find_program, output, run_within};
use crate::project::Project;
use crate::steps::Step;
use crate::{house, tidy};

pub const COMMAND: Command = Command {
    name: "wasm",
    summary: "Builds the lower floors and the games' rules for wasm32.",
    help: "
Usage: cargo xtask wasm [--with rustup|debian]

  --with rustup   only with the target that rustup installs
  --with debian   only with Debian's packages rustc-web, cargo-web, rust-web-src
                  and lld, which build the standard library from source

Without `--with`, the target is used if it is installed; else rustup is asked
to add it; else, on Debian, its packages are used.",
    run,
};

/// The build for the browser.
pub const WASM: Step = Step {
    name: "wasm",
    what: "the lower floors and the games' rules build for wasm32",
    run: |project| build(project, None),
    needed_by_the_rest: false,
};

const TARGET: &str = "wasm32-unknown-unknown";

/// Adding a target takes seconds; on a closed network rustup may try for much longer.
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

/// Where the standard library for wasm32 comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Toolchain {
    Rustup,
    Debian,
}

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut wanted = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("with") => {
                wanted = Some(match text(parser.value()?)?.as_str() {
                    "rustup" => Toolchain::Rustup,
                    "debian" => Toolchain::Debian,
                    other => {
                        return Err(Failure::new(format!("`--with` knows no `{other}`")));
                    }
                });
            }
            other => return Err(other.unexpected().into()),
        }
    }
    build(project, wanted)
}

fn build(project: &Project, wanted: Option<Toolchain>) -> Outcome {
    let mut command = match toolchain(project, wanted)? {
        Toolchain::Rustup => {
            let mut command = project.cargo();
            command.arg("build");
            command
        }
        Toolchain::Debian => debian_build(project),
    };
    command.args(["--lib", "--target", TARGET]);
    for package in promised(project)? {
        command.args(["--package", &package]);
    }
    crate::process::run(&mut command)
}

/// The packages that promise to build for the browser.
fn promised(project: &Project) -> Result<Vec<String>, Failure> {
    let members = tidy::members(&project.metadata()?, &project.root)?;
    let promises = |member: &tidy::Member| {
        let place = house::place_of(&member.name, &member.folder);
        place.is_some_and(|place| house::builds_for_wasm(&member.name, place))
    };
    Ok(members.into_iter().filter(promises).map(|member| member.name).collect())
}

/// Finds a toolchain, installing what may be installed.
fn toolchain(project: &Project, wanted: Option<Toolchain>) -> Result<Toolchain, Failure> {
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
        println!("rustup cannot add {TARGET} here; Debian's packages can do the build instead");
    }
    packages::ensure(DEBIAN_PACKAGES)?;
    Ok(Toolchain::Debian)
}

/// Asks rustup for the target and looks whether the compiler in use has it now.
fn add_target(project: &Project) -> bool {
    let mut command = process::Command::new("rustup");
    command.current_dir(&project.root).args(["target", "add", TARGET]);
    match run_within(&mut command, RUSTUP_LIMIT) {
        Ok(()) => has_target(project),
        Err(failure) => {
            println!("{failure}");
            false
        }
    }
}

/// Whether the compiler in use has a standard library for the target.
fn has_target(project: &Project) -> bool {
    let mut command = process::Command::new("rustc");
    command.current_dir(&project.root).args(["--print", "target-libdir", "--target", TARGET]);
    output(&mut command).is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

/// Debian's cargo, building the standard library from source in a folder of its own.
fn debian_build(project: &Project) -> process::Command {
    let mut command = process::Command::new("/usr/bin/cargo");
    command.current_dir(&project.root);
    // What the calling toolchain set for itself does not fit this one.
    for variable in ["CARGO", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN", "RUSTFLAGS"] {
        command.env_remove(variable);
    }
    command
        .env("RUSTC", "/usr/bin/rustc")
        // Building the standard library is not stable yet, and Debian's compiler is a stable one.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", "wasm-ld")
        .env("CARGO_TARGET_DIR", project.target.join("wasm-debian"))
        .args(["build", "-Zbuild-std=std,panic_abort"])
        // Debian's version may lag behind ours; what it truly cannot build, it will say.
        .arg("--ignore-rust-version");
    command
}
