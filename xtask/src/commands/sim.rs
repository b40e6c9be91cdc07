//! Seeded simulations over a bad network: of a room and its clients, and of two endpoints of reliable UDP.

use std::ffi::OsString;

use lexopt::Arg::Long;
use lexopt::ValueExt;

use super::Command;
use crate::builds::{self, Profile};
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;
use crate::steps::{Lane, Step};

pub const COMMAND: Command = Command {
    name: "sim",
    summary: "Simulates a room and its clients, or reliable UDP, over a bad network, by seed.",
    help: "
Usage: cargo xtask sim [--rudp] --seed N [--count K]

  --rudp      simulates two endpoints of reliable UDP instead of a room

  --seed N    the first seed; the same seed gives the same run
  --count K   number of consecutive seeds; default: 1

A failing seed is printed; rerun it alone with `--seed`.",
    run,
};

/// The short form for `cargo xtask test`.
pub const SIMULATIONS: Step = Step {
    name: "sim",
    what: "a room and its clients agree despite a bad network",
    run: |project| simulate(project, Profile::Dev, 1, SEEDS_IN_TEST),
    lane: Lane::Test,
    after: &["build"],
};

/// Enough seeds to trigger every fault of the conditioner, few enough for every test run.
const SEEDS_IN_TEST: u64 = 20;

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut seed = None;
    let mut count = 1;
    let mut is_rudp = false;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => seed = Some(parser.value()?.parse()?),
            Long("rudp") => is_rudp = true,
            Long("count") => count = parser.value()?.parse()?,
            other => return Err(other.unexpected().into()),
        }
    }
    let seed = seed.ok_or_else(|| Failure::new("no seed given; use for example `cargo xtask sim --seed 1`"))?;
    if is_rudp { simulate_rudp(project, seed, count) } else { simulate(project, Profile::Release, seed, count) }
}

/// Runs the simulation of two endpoints, which is a test of their package, for other seeds than the test command does.
fn simulate_rudp(project: &Project, seed: u64, count: u64) -> Outcome {
    let mut command = project.cargo();
    command.args(["test", "--release", "--package", "aether-rudp", "--test", "rudp", "simulation::"]);
    process::run(command.env("AETHER_SIM_SEED", seed.to_string()).env("AETHER_SIM_COUNT", count.to_string()))
}

fn simulate(project: &Project, profile: Profile, seed: u64, count: u64) -> Outcome {
    let program = builds::programs(project, &[builds::SIMULATION], profile)?.join(builds::SIMULATION);
    let mut command = std::process::Command::new(program);
    process::run(command.args(["--seed", &seed.to_string(), "--count", &count.to_string()]))
}
