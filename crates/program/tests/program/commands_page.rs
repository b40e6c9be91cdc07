//! The pages on commands list every command and every flag of the program, and no others.

use crate::support::program;
use std::collections::BTreeSet;
use std::process::Command;

const COMMANDS_PAGE: &str = include_str!("../../../../docs/reference/commands.md");
const LOAD_PAGE: &str = include_str!("../../../../docs/how-to/load-test.md");

#[test]
fn every_command_is_listed() {
    let table = COMMANDS_PAGE.split("\n\n").find(|part| part.starts_with("| command |")).expect("there is a table");
    let listed = table.lines().filter_map(|line| line.strip_prefix("| `")?.split([' ', '`']).next());
    assert_eq!(listed.map(str::to_owned).collect::<BTreeSet<_>>(), commands());
}

#[test]
fn every_flag_is_listed() {
    let of_server: BTreeSet<String> =
        commands().iter().filter(|command| *command != "load").flat_map(|command| flags_of(command)).collect();
    assert_eq!(flags_on(COMMANDS_PAGE), of_server);
    assert_eq!(flags_on(LOAD_PAGE), flags_of("load"));
}

/// Returns the commands that the program's help lists.
fn commands() -> BTreeSet<String> {
    let help = help(&["--help"]);
    let commands = help.split_once("Commands:\n").expect("the help lists commands").1;
    let commands = commands.split("\n\n").next().unwrap_or_default();
    // Lines that continue a description are indented further.
    let names = commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' '));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Returns the flags that the help of a command lists.
fn flags_of(command: &str) -> BTreeSet<String> {
    let help = help(&[command, "--help"]);
    let lines = help.lines().map(str::trim_start).map(|line| line.strip_prefix("-h, ").unwrap_or(line));
    lines.filter(|line| line.starts_with("--")).map(flag).filter(|flag| flag != "--help").collect()
}

/// Returns the flags that the tables of a page name.
fn flags_on(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.flat_map(|row| row.split('`').skip(1).step_by(2)).filter(|code| code.starts_with("--")).map(flag).collect()
}

fn flag(text: &str) -> String {
    text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-').next().unwrap_or_default().to_owned()
}

fn help(arguments: &[&str]) -> String {
    let output = Command::new(program()).args(arguments).output().expect("the program starts");
    assert!(output.status.success(), "{arguments:?} failed");
    String::from_utf8(output.stdout).expect("the help is text")
}
