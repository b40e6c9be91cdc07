//! Coverage-guided fuzzing of every decoder, on the stable toolchain.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use lexopt::Arg::{Long, Value};
use lexopt::ValueExt;

use super::{Command, text};
use crate::failure::{Failure, Outcome};
use crate::packages;
use crate::process::{compile, output, run};
use crate::project::{Project, parse};
use crate::report;
use crate::steps::{Lane, Step};

pub const COMMAND: Command = Command {
    name: "fuzz",
    summary: "Fuzzes the decoders, guided by coverage.",
    help: "
Usage: cargo xtask fuzz [--seconds N] [target...]
       cargo xtask fuzz <target> --input FILE
       cargo xtask fuzz list

  target       fuzzes only these targets
  --seconds N  seconds per target; default: 60
  --input F    runs only this input
  list         shows the targets

The target `lua` is a test in the debug profile that calls every function of
scripts with random values. Each run has another seed, which is printed.

An input that breaks a target is written to fuzz/artifacts/<target>. After the
fix, move it to fuzz/seeds/<target>; every run starts from these seeds.",
    run: run_command,
};

/// The short form for `cargo xtask test`.
pub const SHORT_FUZZ: Step = Step {
    name: "fuzz",
    what: "decoders survive a short fuzzing run",
    run: |project| fuzz(project, &targets(project)?, SECONDS_IN_TEST),
    lane: Lane::Compile,
    after: &["setup"],
};

/// Long enough to load the corpus of earlier runs and to try some hundred thousand inputs.
const SECONDS_IN_TEST: u64 = 5;

const SECONDS_DEFAULT: u64 = 60;

/// Target that is a test of the debug profile: instrumented builds of Luau and the services would take minutes. The short
/// form runs with the other tests.
const SCRIPTS: &str = "lua";

/// Longer than the longest frame of a client, so that inputs beyond the limit are tried too.
const INPUT_BYTES_MAX: u32 = 10_240;

/// Memory limit in MB. A decoder that needs more for one input is not bounded.
const MEMORY_MB_MAX: u32 = 512;

/// Time limit in seconds. A decoder that needs longer for one input is not bounded.
const INPUT_SECONDS_MAX: u32 = 5;

/// The cargo profile of the targets.
const PROFILE: &str = "fuzz";

/// Compiler flags with which stable rustc reports branches and comparisons to libFuzzer. Fuzzers set `cfg(fuzzing)` by
/// convention.
const COMPILER_FLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut names = Vec::new();
    let mut seconds = SECONDS_DEFAULT;
    let mut input = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seconds") => seconds = parser.value()?.parse()?,
            Long("input") => input = Some(PathBuf::from(parser.value()?)),
            Value(name) => names.push(text(name)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let all = targets(project)?;
    if names == ["list"] {
        println!("{}\n{SCRIPTS}", all.join("\n"));
        return Ok(());
    }
    let wants_scripts = names.is_empty() || names.iter().any(|name| name == SCRIPTS);
    if names == [SCRIPTS] && input.is_none() {
        return fuzz_scripts(project, seconds);
    }
    names.retain(|name| name != SCRIPTS);
    if let Some(unknown) = names.iter().find(|name| !all.contains(name)) {
        let message = format!("there is no target `{unknown}`; `cargo xtask fuzz list`");
        return Err(Failure::new(message));
    }
    let chosen = if names.is_empty() { all } else { names };
    match input {
        None if wants_scripts => fuzz(project, &chosen, seconds).and_then(|()| fuzz_scripts(project, seconds)),
        None => fuzz(project, &chosen, seconds),
        Some(input) => rerun(project, &chosen, &input),
    }
}

/// The fuzz targets, which are the programs of the fuzz package.
fn targets(project: &Project) -> Result<Vec<String>, Failure> {
    let mut command = project.cargo();
    command.args(["metadata", "--format-version=1", "--no-deps", "--manifest-path"]);
    let metadata = parse(&output(command.arg(manifest(project)))?)?;
    let listed = metadata["packages"][0]["targets"].as_array().cloned().unwrap_or_default();
    let names: Vec<String> = listed.iter().filter_map(|target| target["name"].as_str().map(str::to_owned)).collect();
    if names.is_empty() { Err(Failure::new("fuzz/Cargo.toml has no targets")) } else { Ok(names) }
}

fn fuzz(project: &Project, targets: &[String], seconds: u64) -> Outcome {
    let programs = build(project, targets)?;
    let workers = thread::available_parallelism().map_or(1, usize::from);
    report::print(&format!("{} targets, {workers} at a time, {seconds} s each", targets.len()));
    let queue = Mutex::new(targets.iter());
    let (sender, receiver) = mpsc::channel();
    let mut broken = Vec::new();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (queue, sender, programs) = (&queue, sender.clone(), &programs);
            scope.spawn(move || {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(target) = next else { return };
                    // The receiver outlives the workers.
                    let _ = sender.send((target, fuzz_one(project, target, programs, seconds)));
                }
            });
        }
        drop(sender);
        for (target, outcome) in receiver {
            match outcome {
                Ok(progress) => report::print(&format!("{target}: {progress}")),
                Err(failure) => {
                    report::print(&failure.to_string());
                    broken.push(target.as_str());
                }
            }
        }
    });
    if broken.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!("broken by their input: {}", broken.join(", "))))
}

/// Calls every function of scripts with random values, from a new seed.
fn fuzz_scripts(project: &Project, seconds: u64) -> Outcome {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let seed = since.as_secs() % 1_000_000_007;
    report::print(&format!("{SCRIPTS}: {seconds} s, AETHER_FUZZ_SEED={seed}"));
    let mut command = project.cargo();
    command.args(["nextest", "run", "--package", "aether-script", "--no-capture", "-E", "test(/^fuzz::values/)"]);
    run(command.env("AETHER_FUZZ_SECONDS", seconds.to_string()).env("AETHER_FUZZ_SEED", seed.to_string()))
}

/// Fuzzes one target and returns the number of inputs and the coverage.
fn fuzz_one(project: &Project, target: &str, programs: &Path, seconds: u64) -> Result<String, Failure> {
    let artifacts = project.root.join("fuzz/artifacts").join(target);
    // The corpus is stored beside the build, so that the next run continues from it.
    let corpus = project.target.join("fuzz-corpus").join(target);
    for folder in [&artifacts, &corpus] {
        std::fs::create_dir_all(folder).map_err(|error| Failure::new(format!("{}: {error}", folder.display())))?;
    }
    let mut command = limited(project, target, programs);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={INPUT_BYTES_MAX}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1")
        .arg(&corpus);
    let seeds = project.root.join("fuzz/seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let ended = command.output();
    let ended = ended.map_err(|error| Failure::new(format!("{target} did not start: {error}")))?;
    let text = String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() {
        return Ok(progress(&text));
    }
    // Lines that begin with `#` are progress reports.
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    Err(Failure::new(format!("{}\n{}", lines.join("\n"), broken_text(target, &text))))
}

/// Runs a single stored input.
fn rerun(project: &Project, targets: &[String], input: &Path) -> Outcome {
    let [target] = targets else {
        return Err(Failure::new("name the one target that the input is for"));
    };
    let programs = build(project, targets)?;
    // The program runs in the root of the project, so a relative path must be resolved here.
    let input = std::path::absolute(input).map_err(|error| Failure::new(format!("{}: {error}", input.display())))?;
    if !input.is_file() {
        return Err(Failure::new(format!("there is no file {}", input.display())));
    }
    run(limited(project, target, &programs).env("RUST_BACKTRACE", "1").arg(input))
}

/// Builds the targets and returns the folder of their programs.
fn build(project: &Project, targets: &[String]) -> Result<PathBuf, Failure> {
    packages::ensure(packages::FOR_TESTS)?;
    let host = host(project)?;
    let folder = project.target.join("fuzz");
    let mut command = project.cargo();
    // Naming the host as the target keeps these flags away from build scripts and macros.
    command.args(["build", "--profile", PROFILE, "--locked", "--target", &host, "--manifest-path"]);
    command.arg(manifest(project));
    for target in targets {
        command.args(["--bin", target]);
    }
    command.env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", COMPILER_FLAGS.join(" "));
    compile(&mut command)?;
    Ok(folder.join(host).join(PROFILE))
}

fn limited(project: &Project, target: &str, programs: &Path) -> process::Command {
    let mut command = process::Command::new(programs.join(target));
    command
        .current_dir(&project.root)
        .arg(format!("-rss_limit_mb={MEMORY_MB_MAX}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"));
    command
}

fn host(project: &Project) -> Result<String, Failure> {
    let mut command = process::Command::new("rustc");
    let version = output(command.current_dir(&project.root).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::new("`rustc -vV` names no host"))
}

fn manifest(project: &Project) -> PathBuf {
    project.root.join("fuzz/Cargo.toml")
}

/// Formats the number of inputs and the coverage.
fn progress(report: &str) -> String {
    let runs = report.lines().rev().find_map(|line| line.strip_prefix("Done "));
    let reached = report.lines().rev().find_map(|line| {
        let (_, rest) = line.split_once("cov: ")?;
        rest.split_whitespace().next()
    });
    format!("{}, {} branches reached", runs.unwrap_or("no runs"), reached.unwrap_or("no"))
}

/// Returns the path of the failing input and the command that repeats the failure.
fn broken_text(target: &str, report: &str) -> String {
    let artifact = report.lines().find_map(|line| {
        let (_, path) = line.split_once("Test unit written to ")?;
        let start = path.find("fuzz/artifacts").unwrap_or(0);
        Some(&path[start..])
    });
    match artifact {
        Some(path) => format!(
            "{target} broke; see it again with `cargo xtask fuzz {target} --input {path}`, and \
             once it is mended move that file to fuzz/seeds/{target}/"
        ),
        None => format!("{target} failed, and libFuzzer wrote no input; see the output above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_target_says_how_to_see_it_again() {
        let report = "artifact_prefix='/p/'; Test unit written to /p/fuzz/artifacts/bits/crash-1\n";
        let text = broken_text("bits", report);
        assert!(text.contains("cargo xtask fuzz bits --input fuzz/artifacts/bits/crash-1"), "{text}");
    }

    #[test]
    fn progress_is_read_from_the_report() {
        let report = "#2\tINITED cov: 3 ft: 4\n#9\tDONE   cov: 12 ft: 40 corp: 1\nDone 9 runs in 5 second(s)\n";
        assert_eq!(progress(report), "9 runs in 5 second(s), 12 branches reached");
    }
}
