//! Everything that can be tested, with all the set-up it needs.

use std::ffi::OsString;

use lexopt::Arg::{Long, Value};

use super::{
    Command, bench, browser, check, examples, fuzz, postgres, schemathesis, sdk, sim, soak, text, tidy, typescript,
    wasm, web,
};
use crate::builds::{self, Executable, Kind};
use crate::failure::{Failure, Outcome};
use crate::project::Project;
use crate::steps::{self, Lane, Step};
use crate::{npm, packages, process, runner};

pub const COMMAND: Command = Command {
    name: "test",
    summary: "Runs all tests, with their setup.",
    help: "
Usage: cargo xtask test [--list] [step...]

  --list   shows the steps
  step     runs only these steps

On Debian or Ubuntu, as root, missing system packages are installed; elsewhere
they are listed and the run stops. No step is skipped silently: a step that
cannot run has failed. All steps run even if one fails.

Steps run in three lanes. One compiles at low priority while the others run tests,
which mostly wait. Each line begins with the name of its step. A table at the end
shows the time, the share of compiling and the number of tests of each step; the
last line counts the steps.",
    run,
};

/// The steps, in the order of their lanes: dependencies first, then cheap ones.
const STEPS: &[Step] = &[
    Step {
        name: "build",
        what: "tests, benchmarks and programs compile",
        run: builds::build_everything,
        lane: Lane::Compile,
        after: &[],
    },
    web::PAGES,
    check::LINT,
    DOCS,
    wasm::WASM,
    examples::EXAMPLES,
    fuzz::SHORT_FUZZ,
    Step {
        name: "setup",
        what: "system packages, parts of the toolchain, packages from npm and PyPI",
        run: setup,
        lane: Lane::Test,
        after: &[],
    },
    check::FORMAT,
    tidy::TIDY,
    schemathesis::SHORT_SCHEMATHESIS,
    Step {
        name: "tests",
        what: "unit, property and integration tests",
        run: tests,
        lane: Lane::Test,
        after: &["setup", "build", "pages"],
    },
    soak::SHORT_SOAK,
    sim::SIMULATIONS,
    bench::SHORT_BENCHES,
    sdk::SDK,
    browser::BROWSER,
    typescript::TYPESCRIPT,
];

/// The documentation and its examples.
const DOCS: Step = Step {
    name: "docs",
    what: "the documentation builds without warnings, and its examples run",
    run: docs,
    lane: Lane::Compile,
    after: &[],
};

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut names = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("list") => {
                for step in STEPS {
                    println!("{:<12} {}", step.name, step.what);
                }
                return Ok(());
            }
            Value(name) => names.push(text(name)?),
            other => return Err(other.unexpected().into()),
        }
    }
    steps::run_all(project, &chosen(&names)?)
}

fn chosen(names: &[String]) -> Result<Vec<Step>, Failure> {
    for name in names {
        if !STEPS.iter().any(|step| step.name == name) {
            let message = format!("there is no step `{name}`; `cargo xtask test --list` lists them");
            return Err(Failure::new(message));
        }
    }
    let wanted = |step: &&Step| names.is_empty() || names.iter().any(|name| name == step.name);
    Ok(STEPS.iter().filter(wanted).copied().collect())
}

/// Installs all external dependencies of the steps, while the other lane compiles.
fn setup(project: &Project) -> Outcome {
    for packages in [packages::FOR_TESTS, postgres::PACKAGES, npm::PACKAGES, browser::PACKAGES] {
        packages::ensure(packages)?;
    }
    packages::ensure_components(project)?;
    wasm::find_toolchain(project, None)?;
    web::install(project)?;
    typescript::install(project)?;
    sdk::install(project)?;
    schemathesis::install(project).map(|_| ())
}

fn tests(project: &Project) -> Outcome {
    let database = postgres::running(project)?;
    let built = builds::everything(project)?;
    let tests: Vec<&Executable> = built.iter().filter(|built| built.kind == Kind::Test).collect();
    runner::run(project, &tests, &database.environment())
}

fn docs(project: &Project) -> Outcome {
    let mut command = project.cargo();
    command.env("RUSTDOCFLAGS", "--deny warnings");
    process::compile(command.args(["doc", "--workspace", "--no-deps"]))?;
    let mut command = project.cargo();
    process::compile(command.args(["test", "--workspace", "--doc", "--no-fail-fast"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_names_every_step_is_run_in_order() {
        let names: Vec<&str> = chosen(&[]).unwrap().iter().map(|step| step.name).collect();
        let all: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names, all);
    }

    #[test]
    fn every_step_can_begin_once_those_before_it_have_ended() {
        let mut ended: Vec<&str> = Vec::new();
        while ended.len() < STEPS.len() {
            let begins = |lane: Lane| {
                let next = STEPS.iter().find(|step| step.lane == lane && !ended.contains(&step.name));
                next.filter(|step| step.after.iter().all(|needed| ended.contains(needed))).map(|step| step.name)
            };
            let next = Lane::ALL.into_iter().find_map(begins);
            ended.push(next.unwrap_or_else(|| panic!("after {ended:?} no lane can go on")));
        }
    }

    #[test]
    fn a_misspelt_step_is_refused() {
        assert!(chosen(&["tests".into()]).is_ok_and(|steps| steps.len() == 1));
        assert!(chosen(&["tets".into()]).is_err());
    }
}
