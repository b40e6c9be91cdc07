//! Commands of the project, started as `cargo xtask <command>`.

mod builds;
mod commands;
mod failure;
mod fingerprint;
mod floors;
mod npm;
mod packages;
mod process;
mod project;
mod report;
mod runner;
mod steps;
mod tidy;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::commands::{COMMANDS, Command};
use crate::failure::{Failure, Outcome};
use crate::project::Project;

fn main() -> ExitCode {
    match dispatch(std::env::args_os().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.is_printed() {
                eprintln!("error: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

fn dispatch(mut arguments: Vec<OsString>) -> Outcome {
    if arguments.is_empty() {
        print_menu();
        return Err(Failure::new("no command given; use one of the commands above"));
    }
    let name = arguments.remove(0);
    if name == "--help" || name == "-h" || name == "help" {
        print_menu();
        return Ok(());
    }
    let command = command_named(&name)?;
    let first = arguments.first();
    if first.is_some_and(|argument| argument == "--help" || argument == "-h") {
        println!("{}\n\n{}", command.summary, command.help.trim());
        return Ok(());
    }
    (command.run)(&Project::open()?, arguments)
}

fn command_named(name: &OsString) -> Result<&'static Command, Failure> {
    COMMANDS.iter().find(|command| name == command.name).ok_or_else(|| {
        Failure::new(format!(
            "command `{}` was not found; `cargo xtask --help` lists the commands",
            name.to_string_lossy()
        ))
    })
}

fn print_menu() {
    println!("Usage: cargo xtask <command> [arguments]\n\nCommands:");
    for command in COMMANDS {
        println!("  {:<12} {}", command.name, command.summary);
    }
    println!("\n`cargo xtask <command> --help` shows the help of a command.");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_rejected_with_a_pointer_to_the_help() {
        let failure = command_named(&OsString::from("tset")).unwrap_err();
        assert!(failure.to_string().contains("cargo xtask --help"));
    }

    #[test]
    fn every_command_explains_its_usage() {
        for command in COMMANDS {
            let usage = format!("Usage: cargo xtask {}", command.name);
            assert!(command.help.contains(&usage), "{}", command.name);
        }
    }
}
