//! Runs the executables of tests, several at a time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::builds::Executable;
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;
use crate::report;

/// Executables that measure times under load: they run alone.
const ALONE: &[(&str, &str)] = &[("aether-server", "load")];

/// Executables whose tests mostly wait for sockets and timeouts: they use a fifth of a core with two tests at a time.
const WAITING: &[(&str, &str)] = &[("aether-server", "server")];

/// Number of tests of a waiting executable that run at a time, for each core.
const WAITING_PER_CORE: usize = 2;

/// An executable that runs longer than this hangs. The longest takes some minutes.
const TIME_MAX: Duration = Duration::from_secs(900);

/// Number of tests in the closing list of the longest.
const LONGEST_SHOWN: usize = 12;

/// Seconds that each executable took in the last run, so that the longest begin first.
const TIMES_FILE: &str = "test-times.json";

/// Result of one executable.
struct Ran {
    name: String,
    took: Duration,
    output: String,
    failure: Option<Failure>,
}

/// Runs test executables with additions to their environment, and fails if one of them fails.
pub fn run(project: &Project, executables: &[&Executable], environment: &[(&str, String)]) -> Outcome {
    if executables.is_empty() {
        return Err(Failure::new("there are no tests"));
    }
    let times_file = project.target.join(TIMES_FILE);
    let mut times = read_times(&times_file);
    let mut ordered = executables.to_vec();
    // An unknown one may take long, so it starts first.
    ordered.sort_by(|a, b| {
        let time = |executable: &Executable| times.get(&name(executable)).copied().unwrap_or(f64::MAX);
        time(b).total_cmp(&time(a))
    });
    let (alone, together): (Vec<_>, Vec<_>) = ordered.into_iter().partition(|executable| is_alone(executable));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut results = Vec::new();
    run_group(&together, workers, environment, &mut results);
    run_group(&alone, 1, environment, &mut results);
    times.extend(results.iter().map(|ran| (ran.name.clone(), ran.took.as_secs_f64())));
    // Only the order of the next run depends on it.
    let _ = std::fs::write(&times_file, serde_json::json!(times).to_string());
    report::print(&longest(&results));
    let failed: Vec<&str> = results.iter().filter(|ran| ran.failure.is_some()).map(|ran| ran.name.as_str()).collect();
    if failed.is_empty() { Ok(()) } else { Err(Failure::new(format!("failed: {}", failed.join(", ")))) }
}

/// Runs executables with a number of workers and reports each as it ends.
fn run_group(executables: &[&Executable], workers: usize, environment: &[(&str, String)], results: &mut Vec<Ran>) {
    let queue = Mutex::new(executables.iter());
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (queue, sender) = (&queue, sender.clone());
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next().copied();
                    let Some(executable) = next else { return };
                    // The receiver outlives the workers.
                    let _ = sender.send(run_one(executable, environment));
                }
            });
        }
        drop(sender);
        for ran in receiver {
            show(&ran);
            results.push(ran);
        }
    });
}

fn run_one(executable: &Executable, environment: &[(&str, String)]) -> Ran {
    let started = Instant::now();
    let mut command = Command::new(&executable.path);
    command
        .current_dir(&executable.folder)
        .env("CARGO_MANIFEST_DIR", &executable.folder)
        .env("CARGO_PKG_NAME", &executable.package)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        // The times of single tests are an unstable option of the stable library.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-Zunstable-options", "--report-time"])
        .stdin(Stdio::null());
    if WAITING.contains(&(executable.package.as_str(), executable.target.as_str())) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.arg(format!("--test-threads={}", cores * WAITING_PER_CORE));
    }
    let (output, failure) = process::output_within(&mut command, TIME_MAX);
    Ran { name: name(executable), took: started.elapsed(), output, failure }
}

/// Prints one line for an executable that passed, and everything for one that failed.
fn show(ran: &Ran) {
    let passed: u32 = ran.output.lines().filter_map(report::passed_tests).sum();
    report::add_tests(passed);
    let (mark, time) = (if ran.failure.is_none() { "ok" } else { "FAILED" }, ran.took.as_secs_f64());
    if passed > 0 || ran.failure.is_some() {
        report::print(&format!("{mark:<6} {passed:>4} tests {time:>7.1} s  {}", ran.name));
    }
    if let Some(failure) = &ran.failure {
        report::print(&ran.output);
        report::print(&format!("{}: {failure}", ran.name));
    }
}

/// Lists the longest tests.
fn longest(results: &[Ran]) -> String {
    let mut tests: Vec<(f64, String)> = results
        .iter()
        .flat_map(|ran| {
            ran.output.lines().filter_map(test_time).map(|(test, time)| (time, format!("{} {test}", ran.name)))
        })
        .collect();
    tests.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut text = String::from("the longest tests:\n");
    for (time, test) in tests.iter().take(LONGEST_SHOWN) {
        text += &format!("  {time:>6.1} s  {test}\n");
    }
    text
}

/// Reads a line such as `test a::b ... ok <1.234s>`.
fn test_time(line: &str) -> Option<(&str, f64)> {
    let (test, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let (_, time) = result.split_once('<')?;
    Some((test, time.strip_suffix("s>")?.parse().ok()?))
}

fn name(executable: &Executable) -> String {
    format!("{} {}", executable.package, executable.target)
}

fn is_alone(executable: &Executable) -> bool {
    ALONE.contains(&(executable.package.as_str(), executable.target.as_str()))
}

fn read_times(path: &PathBuf) -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_test_is_read_from_its_line() {
        assert_eq!(test_time("test a::b ... ok <1.250s>"), Some(("a::b", 1.25)));
        assert_eq!(test_time("test a::b ... ok"), None);
        assert_eq!(test_time("running 3 tests"), None);
    }

    #[test]
    fn the_longest_tests_come_first() {
        let output = "test short ... ok <0.100s>\ntest long ... ok <9.000s>\n".to_owned();
        let ran = Ran { name: "p t".into(), took: Duration::ZERO, output, failure: None };
        let text = longest(&[ran]);
        assert!(text.find("p t long").unwrap() < text.find("p t short").unwrap(), "{text}");
    }
}
