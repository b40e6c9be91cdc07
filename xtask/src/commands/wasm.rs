//! The builds for the browser: every crate that promises one, the modules that pages load, and the trials of games' rules.

mod toolchain;
mod trial;

use std::ffi::OsString;

use lexopt::Arg::Long;

use super::{Command, text, web};
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::project::Project;
use crate::steps::Step;
use crate::{house, process, tidy};
use toolchain::{TARGET, Toolchain};

pub const COMMAND: Command = Command {
    name: "wasm",
    summary: "Builds for the browser, and tries the games' rules there.",
    help: "
Usage: cargo xtask wasm [--with rustup|debian]

  --with rustup   only with the target that rustup installs
  --with debian   only with Debian's packages rustc-web, cargo-web, rust-web-src
                  and lld, which build the standard library from source

Builds the lower floors and the games' rules for wasm32, makes the modules that
pages load, and runs 10,000 ticks of the rules of games in Node: their hash has
to be the native one.

Without `--with`, the target is used if it is installed; else rustup is asked
to add it; else, on Debian, its packages are used.",
    run,
};

/// The builds for the browser.
pub const WASM: Step = Step {
    name: "wasm",
    what: "all that pages run builds for wasm32, and games' rules do there what they do natively",
    run: |project| test(project, None),
    needed_by_the_rest: false,
};

/// A crate that pages load as a module.
struct Module {
    package: &'static str,
    /// Where the module goes. It is built, and so it is not committed.
    folder: &'static str,
}

/// All of them. A new one needs a line here and its folder in `.gitignore`.
const MODULES: &[Module] = &[
    Module { package: "aether-client-web", folder: "sdk/typescript/wasm" },
    Module { package: "aether-outpost-web", folder: "games/outpost/web/pkg" },
];

/// The cargo profile of what pages load.
const PROFILE: &str = "browser";

/// Names the build that a module was made from.
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
    let toolchain = toolchain::toolchain(project, wanted)?;
    let mut command = toolchain.build(project);
    command.args(["--profile", PROFILE, "--lib"]);
    for package in promised(project)? {
        command.args(["--package", &package]);
    }
    process::run(&mut command)?;
    MODULES.iter().try_for_each(|module| make(project, toolchain, module))?;
    packages::ensure(web::PACKAGES)?;
    trial::run_all(project, toolchain)
}

/// Builds every module that pages load, where it is out of date.
pub fn modules(project: &Project) -> Outcome {
    let toolchain = toolchain::toolchain(project, None)?;
    MODULES.iter().try_for_each(|module| make(project, toolchain, module))
}

/// Builds one module, where it is out of date: `<name>.js`, `<name>.d.ts` and `<name>_bg.wasm` in its folder, where the
/// name is the package's with underscores.
fn make(project: &Project, toolchain: Toolchain, Module { package, folder }: &Module) -> Outcome {
    let folder = project.root.join(folder);
    let mut build = toolchain.build(project);
    process::run(build.args(["--profile", PROFILE, "--lib", "--package", package]))?;
    let name = package.replace('-', "_");
    let built = toolchain.folder(project).join(TARGET).join(PROFILE);
    let file = format!("{name}.wasm");
    let fingerprint = web::fingerprint(&built, &[&file])?;
    if web::is_stamped(&folder.join(BUILT), &fingerprint) {
        return Ok(());
    }
    let mut bindgen = project.cargo();
    bindgen.args(["run", "--quiet", "--package", "xtask-bindgen", "--"]);
    process::run(bindgen.arg(built.join(&file)).arg(&folder).arg(&name))?;
    web::stamp(&folder.join(BUILT), &fingerprint)
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
