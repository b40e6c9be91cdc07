//! Starting other programs and judging how they ended.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};

/// How often a program with a deadline is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Shows the command line, runs it with our own terminal, and fails if it fails.
pub fn run(command: &mut Command) -> Outcome {
    println!("$ {}", line(command));
    let status = command.status().map_err(|error| unstarted(command, error))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}` ended with {status}", line(command)))) }
}

/// Runs a program quietly and returns what it wrote to standard output.
pub fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| unstarted(command, error))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Failure::new(format!(
            "`{}` ended with {}:\n{}",
            line(command),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        )))
    }
}

/// Whether a quiet run of the program succeeds.
pub fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok()
}

/// Runs a program that may hang, on a closed network for example, and ends it at the deadline.
pub fn run_within(command: &mut Command, limit: Duration) -> Outcome {
    println!("$ {}", line(command));
    let mut child = command.spawn().map_err(|error| unstarted(command, error))?;
    let started = Instant::now();
    loop {
        let ended = child.try_wait().map_err(|error| unstarted(command, error))?;
        match ended {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(Failure::new(format!("`{}` ended with {status}", line(command))));
            }
            None if started.elapsed() > limit => {
                // The child may have ended by itself just now; either way it is gone.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::new(format!("`{}` was ended after {} s", line(command), limit.as_secs())));
            }
            None => thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Where a program lies on the search path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// The command as one would type it, without the folder of the program.
pub fn line(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = name.to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

fn unstarted(command: &Command, error: std::io::Error) -> Failure {
    Failure::new(format!("`{}` could not run: {error}", line(command)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_fails_is_a_failure_with_its_words() {
        let failure = output(Command::new("sh").args(["-c", "echo broken >&2; exit 3"]));
        assert!(failure.unwrap_err().to_string().contains("broken"));
    }

    #[test]
    fn a_program_that_hangs_is_ended_at_the_deadline() {
        let outcome = run_within(Command::new("sleep").arg("60"), Duration::from_millis(1));
        assert!(outcome.unwrap_err().to_string().contains("was ended"));
    }

    #[test]
    fn a_missing_program_is_named() {
        let failure = output(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(failure.to_string().contains("no-such-program-here"));
    }
}
