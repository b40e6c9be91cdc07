//! The examples, which stand outside the workspace as a user's own project would.

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::{Project, subfolders};
use crate::steps::Step;

/// Every example is built and tested.
pub const EXAMPLES: Step = Step {
    name: "examples",
    what: "programs that use Aether from outside build, start and can be joined",
    run: test,
    needed_by_the_rest: false,
};

fn test(project: &Project) -> Outcome {
    let manifests: Vec<_> = subfolders(&project.root.join("examples"))
        .into_iter()
        .map(|folder| folder.join("Cargo.toml"))
        .filter(|manifest| manifest.is_file())
        .collect();
    if manifests.is_empty() {
        return Err(Failure::new("there are no examples in the folder `examples`"));
    }
    for manifest in manifests {
        let mut command = project.cargo();
        // One build folder for all, so that what the examples share with the workspace is built once.
        command.env("CARGO_TARGET_DIR", &project.target);
        command.args(["test", "--manifest-path"]);
        process::run(command.arg(manifest))?;
    }
    Ok(())
}
