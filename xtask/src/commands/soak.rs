//! A server under bots that come and go, for as long as one likes.

use std::ffi::OsString;

use lexopt::Arg::Long;
use lexopt::ValueExt;

use super::{Command, bench};
use crate::builds::Profile;
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;
use crate::steps::{Lane, Step};

pub const COMMAND: Command = Command {
    name: "soak",
    summary: "Lets bots join and leave for a while and checks the server for leaks.",
    help: "
Usage: cargo xtask soak --minutes N [--bots K]

  --minutes N   duration; 0.2 is enough for a quick check
  --bots K      number of bots; default: 100

Bots connect over WebSocket and WebTransport, play for a random time, and leave,
disconnect or resume. Every five seconds a line shows the server's memory, rooms,
connections, players and dropped messages. The command fails if memory grows, if
a room is stuck, or if anything remains after the last bot has left.",
    run,
};

/// The short form for `cargo xtask test`.
pub const SHORT_SOAK: Step = Step {
    name: "soak",
    what: "a server with joining and leaving bots leaks nothing, in a short form",
    run: |project| soak(project, Profile::Dev, MINUTES_IN_TEST, None),
    lane: Lane::Test,
    after: &["build"],
};

/// Long enough for every bot to join and leave, short enough for every test run.
const MINUTES_IN_TEST: f64 = 0.2;

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let (mut minutes, mut bots) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("minutes") => minutes = Some(parser.value()?.parse()?),
            Long("bots") => bots = Some(parser.value()?.parse()?),
            other => return Err(other.unexpected().into()),
        }
    }
    let minutes =
        minutes.ok_or_else(|| Failure::new("no duration given; use for example `cargo xtask soak --minutes 10`"))?;
    soak(project, Profile::Release, minutes, bots)
}

fn soak(project: &Project, profile: Profile, minutes: f64, bots: Option<u32>) -> Outcome {
    let mut command = bench::network_program(project, profile)?;
    command.args(["soak", "--minutes", &minutes.to_string()]);
    if let Some(bots) = bots {
        command.args(["--bots", &bots.to_string()]);
    }
    process::run(&mut command)
}
