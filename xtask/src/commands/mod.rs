//! The commands, one file each.

pub mod bench;
pub mod browser;
pub mod check;
pub mod dist;
pub mod durability;
pub mod examples;
pub mod fuzz;
pub mod postgres;
pub mod run;
pub mod schemathesis;
pub mod sdk;
pub mod sim;
pub mod soak;
pub mod test;
pub mod tidy;
mod typescript;
pub mod wasm;
pub mod web;

use std::ffi::OsString;

use crate::failure::{Failure, Outcome};
use crate::project::Project;

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// Help text.
    pub help: &'static str,
    /// Runs the command, with the arguments after its name.
    pub run: fn(&Project, Vec<OsString>) -> Outcome,
}

/// All commands, in the order of the help.
pub const COMMANDS: &[Command] = &[
    run::COMMAND,
    test::COMMAND,
    dist::COMMAND,
    check::COMMAND,
    tidy::COMMAND,
    bench::COMMAND,
    sim::COMMAND,
    soak::COMMAND,
    fuzz::COMMAND,
    wasm::COMMAND,
    web::COMMAND,
    browser::COMMAND,
    sdk::COMMAND,
    typescript::COMMAND,
    schemathesis::COMMAND,
    durability::COMMAND,
    postgres::COMMAND,
];

/// Rejects all arguments.
fn no_arguments(arguments: Vec<OsString>) -> Outcome {
    match lexopt::Parser::from_args(arguments).next()? {
        Some(argument) => Err(argument.unexpected().into()),
        None => Ok(()),
    }
}

/// Converts a value of the command line to text.
fn text(value: OsString) -> Result<String, Failure> {
    value.into_string().map_err(|value| Failure::new(format!("`{}` is not valid UTF-8", value.to_string_lossy())))
}
