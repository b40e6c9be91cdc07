//! The program as it is shipped.

use std::ffi::OsString;

use super::{Command, no_arguments, web};
use crate::builds::{self, Profile};
use crate::failure::{Failure, Outcome};
use crate::project::Project;

pub const COMMAND: Command = Command {
    name: "dist",
    summary: "Builds the program to ship: optimized, with embedded pages.",
    help: "
Usage: cargo xtask dist

Builds the pages, then the program with full optimization, which takes some
minutes, and prints its path. The program is a single file.",
    run,
};

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    no_arguments(arguments)?;
    web::build(project)?;
    let file = builds::programs(project, &[builds::SERVER], Profile::Release)?.join(builds::SERVER);
    let size = std::fs::metadata(&file).map_err(|error| Failure::new(format!("{}: {error}", file.display())))?.len();
    println!("{} ({} MB)", file.display(), size / 1_000_000);
    Ok(())
}
