//! Starts other programs and checks their exit status.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::report;

/// Interval at which a program with a deadline is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Shows the command line, runs it, and fails if it fails. In a step, each line of its output is labelled.
pub fn run(command: &mut Command) -> Outcome {
    report::print(&format!("$ {}", line(command)));
    let status = match report::step() {
        None => command.status().map_err(|error| unstarted(command, error))?,
        Some(step) => {
            let mut passed = 0;
            let status = run_labelled(command, step, |line| {
                passed += report::passed_tests(line).unwrap_or(0);
                report::print_for(Some(step), line);
            })?;
            report::add_tests(passed);
            status
        }
    };
    if status.success() { Ok(()) } else { Err(Failure::new(format!("`{}` ended with {status}", line(command)))) }
}

/// Runs a command that compiles, and counts its time as such.
pub fn compile(command: &mut Command) -> Outcome {
    let started = Instant::now();
    let outcome = run(command);
    report::add_compiling(started.elapsed());
    outcome
}

/// Runs `cargo` with messages in JSON and returns the artifacts it reports. Counts as compiling.
pub fn compile_artifacts(command: &mut Command) -> Result<Vec<Value>, Failure> {
    let started = Instant::now();
    command.arg("--message-format=json-render-diagnostics");
    report::print(&format!("$ {}", line(command)));
    let mut messages = Vec::new();
    let status = run_labelled(command, report::step().unwrap_or_default(), |line| {
        messages.extend(serde_json::from_str::<Value>(line).ok());
    })?;
    report::add_compiling(started.elapsed());
    if !status.success() {
        return Err(Failure::new(format!("`{}` ended with {status}", line(command))));
    }
    messages.retain(|message| message["reason"] == "compiler-artifact");
    Ok(messages)
}

/// Runs a program, hands each line of its standard output to a function, and prints those of its standard error.
fn run_labelled(
    command: &mut Command,
    step: &'static str,
    mut handle_line: impl FnMut(&str),
) -> Result<ExitStatus, Failure> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| unstarted(command, error))?;
    let label = Some(step).filter(|step| !step.is_empty());
    let errors = child.stderr.take().map(|errors| {
        thread::spawn(move || {
            for line in BufReader::new(errors).split(b'\n').map_while(Result::ok) {
                report::print_for(label, &String::from_utf8_lossy(&line));
            }
        })
    });
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            handle_line(&String::from_utf8_lossy(&line));
        }
    }
    if let Some(errors) = errors {
        // The thread only copies lines; it ends when the program has closed its standard error.
        let _ = errors.join();
    }
    child.wait().map_err(|error| unstarted(command, error))
}

/// Lowers the priority of this thread and of the programs that it starts.
pub fn lower_priority() {
    // Linux names threads as processes: `/proc/thread-self` points to `<process>/task/<thread>`.
    let Ok(own) = std::fs::read_link("/proc/thread-self") else { return };
    let Some(thread) = own.file_name() else { return };
    // Without it everything works too, only less evenly.
    let _ = Command::new("renice").args(["-n", "10", "-p"]).arg(thread).stdout(Stdio::null()).status();
}

/// Runs a program quietly and returns its standard output.
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

/// Returns true if a quiet run of the program succeeds.
pub fn succeeds(command: &mut Command) -> bool {
    output(command).is_ok()
}

/// Runs a program that may hang, for example without a network, and kills it at the deadline.
pub fn run_within(command: &mut Command, limit: Duration) -> Outcome {
    report::print(&format!("$ {}", line(command)));
    let mut child = command.spawn().map_err(|error| unstarted(command, error))?;
    wait_within(&mut child, command, limit)
}

/// Waits for a program, and kills it at the deadline.
fn wait_within(child: &mut Child, command: &Command, limit: Duration) -> Outcome {
    let started = Instant::now();
    loop {
        let ended = child.try_wait().map_err(|error| unstarted(command, error))?;
        match ended {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                return Err(Failure::new(format!("`{}` ended with {status}", line(command))));
            }
            None if started.elapsed() > limit => {
                // The child may have exited just now; both results are fine.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::new(format!("`{}` was ended after {} s", line(command), limit.as_secs())));
            }
            None => thread::sleep(POLL_INTERVAL),
        }
    }
}

/// Runs a program and returns its output, and a failure if it failed or was killed at the deadline.
pub fn output_within(command: &mut Command, limit: Duration) -> (String, Option<Failure>) {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match piped.spawn() {
        Ok(child) => child,
        Err(error) => return (String::new(), Some(unstarted(command, error))),
    };
    let readers = [child.stdout.take().map(read_all), child.stderr.take().map(read_all)];
    let ended = wait_within(&mut child, command, limit);
    let texts = readers.into_iter().flatten().filter_map(|reader| reader.join().ok());
    (texts.collect::<Vec<String>>().join("\n"), ended.err())
}

fn read_all(mut stream: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // Output before a read error is still useful.
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Returns the path of a program on the search path.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|candidate| candidate.is_file())
}

/// Returns the command line, without the folder of the program.
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
