//! The examples, which stand outside the workspace as a user's own project would.

use crate::failure::Outcome;
use crate::process;
use crate::project::Project;
use crate::steps::{Lane, Step};

/// Builds and tests every example.
pub const EXAMPLES: Step = Step {
    name: "examples",
    what: "programs outside the workspace build, start and accept joins",
    run: test,
    lane: Lane::Compile,
    after: &[],
};

/// The workspace of the examples.
const MANIFEST: &str = "examples/Cargo.toml";

fn test(project: &Project) -> Outcome {
    process::compile(cargo_test(project).arg("--no-run"))?;
    process::run(&mut cargo_test(project))
}

fn cargo_test(project: &Project) -> std::process::Command {
    let mut command = project.cargo();
    // One build folder for all, so that shared crates are compiled once.
    command.env("CARGO_TARGET_DIR", &project.target);
    command.args(["test", "--locked", "--workspace", "--manifest-path"]).arg(project.root.join(MANIFEST));
    command
}
