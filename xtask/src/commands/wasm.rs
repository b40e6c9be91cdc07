//! Builds for the browser: every crate that supports it, the modules of the pages, and the tests of the rules of games.

mod toolchain;
mod trial;

use std::ffi::OsString;

use lexopt::Arg::Long;

use super::{Command, text};
use crate::failure::{Failure, Outcome};
use crate::fingerprint::{fingerprint, is_stamped, stamp};
use crate::project::Project;
use crate::steps::{Lane, Step};
use crate::{floors, npm, packages, process, tidy};
use toolchain::TARGET;
pub use toolchain::{Toolchain, toolchain as find_toolchain};

pub const COMMAND: Command = Command {
    name: "wasm",
    summary: "Builds for wasm32, and tests the rules of games there.",
    help: "
Usage: cargo xtask wasm [--with rustup|debian]

  --with rustup   only with the target that rustup installs
  --with debian   only with Debian's packages rustc-web, cargo-web, rust-web-src
                  and lld, which build the standard library from source

Builds the lower floors and the rules of games for wasm32, builds the modules of
the pages, and runs 10,000 ticks of the rules in Node; the hash must equal the
native one. It also compares the hash of each tick of the sandbox's golden run.

Without `--with`, an installed target is used; otherwise rustup adds it;
otherwise, on Debian, its packages are used.",
    run,
};

/// The builds for the browser.
pub const WASM: Step = Step {
    name: "wasm",
    what: "code of the pages builds for wasm32, and rules of games behave there as natively",
    run: |project| test(project, None),
    lane: Lane::Compile,
    after: &["setup"],
};

/// A crate that pages load as a module.
struct Module {
    package: &'static str,
    /// Output folder of the module. It is not committed.
    folder: &'static str,
}

/// All of them. A new one needs a line here and its folder in `.gitignore`.
const MODULES: &[Module] = &[
    Module { package: "aether-client-web", folder: "sdk/typescript/wasm" },
    Module { package: "aether-outpost-web", folder: "games/outpost/web/pkg" },
];

/// Cargo profile of the modules.
const PROFILE: &str = "browser";

/// File with the fingerprint of the build of a module.
const BUILT: &str = ".built";

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
    test(project, wanted)
}

fn test(project: &Project, wanted: Option<Toolchain>) -> Outcome {
    let toolchain = find_toolchain(project, wanted)?;
    // Not in the profile of the modules, so that crates shared with the build of the tests are not compiled again.
    let mut command = toolchain.build(project);
    command.arg("--lib");
    for package in promised(project)? {
        command.args(["--package", &package]);
    }
    process::compile(&mut command)?;
    build_modules(project, toolchain)?;
    make_modules(project, toolchain)?;
    packages::ensure(npm::PACKAGES)?;
    trial::run_all(project, toolchain)
}

/// Builds every module of the pages that is out of date.
pub fn modules(project: &Project) -> Outcome {
    let toolchain = find_toolchain(project, None)?;
    build_modules(project, toolchain)?;
    make_modules(project, toolchain)
}

/// Compiles the crates of all modules.
pub fn build_modules(project: &Project, toolchain: Toolchain) -> Outcome {
    let mut build = toolchain.build(project);
    build.args(["--profile", PROFILE, "--lib"]);
    process::compile(build.args(MODULES.iter().flat_map(|module| ["--package", module.package])))
}

/// Generates out-of-date modules from the compiled crates: `<name>.js`, `<name>.d.ts` and `<name>_bg.wasm`
/// in their folders, where the name is the package's with underscores.
pub fn make_modules(project: &Project, toolchain: Toolchain) -> Outcome {
    for Module { package, folder } in MODULES {
        let folder = project.root.join(folder);
        let name = package.replace('-', "_");
        let built = toolchain.folder(project).join(TARGET).join(PROFILE);
        let file = format!("{name}.wasm");
        let fingerprint = fingerprint(&built, &[&file])?;
        if is_stamped(&folder.join(BUILT), &fingerprint) {
            continue;
        }
        process::compile(bindgen(project).arg(built.join(&file)).arg(&folder).arg(&name))?;
        stamp(&folder.join(BUILT), &fingerprint)?;
    }
    Ok(())
}

/// Returns the program that generates a module. It is outside the workspace.
fn bindgen(project: &Project) -> std::process::Command {
    let mut command = project.cargo();
    command.env("CARGO_TARGET_DIR", &project.target);
    command.args(["run", "--quiet", "--locked", "--manifest-path"]).arg(project.root.join("xtask/bindgen/Cargo.toml"));
    command.arg("--");
    command
}

/// Returns the packages that must build for the browser.
fn promised(project: &Project) -> Result<Vec<String>, Failure> {
    let members = tidy::members(&project.metadata()?, &project.root)?;
    let promises = |member: &tidy::Member| {
        let level = floors::level_of(&member.name, &member.folder);
        level.is_some_and(|level| floors::builds_for_wasm(&member.name, level))
    };
    Ok(members.into_iter().filter(promises).map(|member| member.name).collect())
}
