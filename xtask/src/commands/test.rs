//! Everything that can be tested, with all the set-up it needs.

use std::ffi::OsString;

use lexopt::Arg::{Long, Value};

use super::{
    Command, bench, browser, check, examples, fuzz, postgres, schemathesis, sdk, sim, soak, text, tidy, typescript,
    wasm,
};
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::process;
use crate::project::Project;
use crate::steps::{self, Step};

pub const COMMAND: Command = Command {
    name: "test",
    summary: "Tests everything that can be tested, with all the set-up it needs.",
    help: "
Usage: cargo xtask test [--list] [step...]

  --list   shows the steps
  step     runs only the steps named

On Debian or Ubuntu, as root, missing system packages are installed; elsewhere
what is missing is named and the run stops. Nothing is left out in silence: a
step that cannot run has failed. All steps run even when one fails; the last
line counts them.",
    run,
};

/// The steps, in order: cheap ones first, and what others need before them.
const STEPS: &[Step] = &[
    Step { name: "setup", what: "system packages and toolchain parts are there", run: setup, needed_by_the_rest: true },
    check::FORMAT,
    check::LINT,
    tidy::TIDY,
    Step {
        name: "tests",
        what: "unit, property and integration tests, and the examples in the documentation",
        run: tests,
        needed_by_the_rest: false,
    },
    Step { name: "docs", what: "the documentation builds without a warning", run: docs, needed_by_the_rest: false },
    examples::EXAMPLES,
    browser::BROWSER,
    sdk::SDK,
    typescript::TYPESCRIPT,
    schemathesis::SHORT_SCHEMATHESIS,
    soak::SHORT_SOAK,
    wasm::WASM,
    fuzz::SHORT_FUZZ,
    sim::SIMULATIONS,
    bench::SHORT_BENCHES,
];

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

fn setup(project: &Project) -> Outcome {
    packages::ensure(packages::FOR_TESTS)?;
    packages::ensure(postgres::PACKAGES)?;
    packages::ensure_components(project)
}

fn tests(project: &Project) -> Outcome {
    let database = postgres::running(project)?;
    let mut command = project.cargo();
    command.envs(database.environment());
    // One failing package must not hide the others.
    process::run(command.args(["test", "--workspace", "--no-fail-fast"]))
}

fn docs(project: &Project) -> Outcome {
    let mut command = project.cargo();
    command.env("RUSTDOCFLAGS", "--deny warnings");
    process::run(command.args(["doc", "--workspace", "--no-deps"]))
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
    fn a_misspelt_step_is_refused() {
        assert!(chosen(&["tests".into()]).is_ok_and(|steps| steps.len() == 1));
        assert!(chosen(&["tets".into()]).is_err());
    }
}
