//! Instructions per tick, counted by callgrind and compared with recorded figures. Unlike times, they hardly depend on
//! the machine and not on its load.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Bench, Kind, Measurement, Row};
use crate::failure::{Failure, Outcome};
use crate::packages::{self, Package};
use crate::process;
use crate::project::Project;
use crate::report;

/// File of the recorded figures, in the root of the project.
const FILE: &str = "xtask/instructions.json";
/// Instructions above the recorded figure, in percent, from which a benchmark fails. Other versions of the compiler and
/// of the C library differ by less.
const INCREASE_MAX_PERCENT: f64 = 2.0;
/// Aim: instructions as a share of the figure at the start, in percent.
const AIM_PERCENT: f64 = 70.0;
/// Function of a benchmark that callgrind measures. Set-up and clients are outside of it.
const MEASURED: &str = "--toggle-collect=*measured_tick*";
/// Caches that callgrind simulates: first level, and a second level of 1 MiB. The defaults depend on the machine.
const CACHES: [&str; 4] = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"];

const VALGRIND: Package = Package {
    debian: "valgrind",
    purpose: "callgrind, which counts instructions",
    present: || process::find_program("valgrind").is_some(),
};

/// Recorded figures of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Recorded {
    /// Instructions per tick at the end of November 2026, from which the aim is computed.
    start: f64,
    /// Instructions per tick when last recorded.
    last: f64,
}

/// Counts of one benchmark, per tick.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Counts {
    instructions: f64,
    /// Reads and writes that miss the second level of the simulated cache.
    misses: f64,
}

/// Counts the instructions of the benchmarks and compares them with the recorded ones. With `record`, writes the new
/// figures instead of comparing.
pub fn count(project: &Project, benches: &[&'static Bench], record: bool) -> Outcome {
    packages::ensure(&[VALGRIND])?;
    let file = project.root.join(FILE);
    let mut recorded = read(&file)?;
    let (mut rows, mut increased) = (Vec::new(), Vec::new());
    for bench in benches {
        let counts = run(project, bench)?;
        let figures = recorded.entry(bench.name.to_owned());
        let figures = figures.or_insert(Recorded { start: counts.instructions, last: counts.instructions });
        report::print(&describe(bench.name, counts, *figures));
        if record {
            figures.last = counts.instructions;
        } else if increase_percent(counts, *figures) > INCREASE_MAX_PERCENT {
            increased.push(bench.name);
        }
        let (name, own) = (format!("{}-instructions", bench.name), measurement(counts, *figures));
        rows.push(Row { name, own, peer: None, peer_ratio_min: None });
    }
    report::print(&format!("\n{}", super::table(&rows)));
    if record {
        return fs::write(&file, text(&recorded)).map_err(|error| Failure::new(format!("{FILE}: {error}")));
    }
    match increased.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "more than {INCREASE_MAX_PERCENT} % above the recorded instructions: {}; find the cause, or accept the new \
             figures with `--record`",
            increased.join(", ")
        ))),
    }
}

fn run(project: &Project, bench: &Bench) -> Result<Counts, Failure> {
    let Kind::Target { package, target } = bench.kind else {
        return Err(Failure::new(format!("the instructions of `{}` are not counted", bench.name)));
    };
    let mut build = project.cargo();
    build.args(["bench", "--package", package, "--bench", target, "--no-run"]);
    let artifacts = process::compile_artifacts(&mut build)?;
    let program = artifacts
        .iter()
        .find_map(|artifact| artifact["executable"].as_str().filter(|_| artifact["target"]["name"] == target));
    let program = program.ok_or_else(|| Failure::new(format!("cargo built no program for the bench `{target}`")))?;
    let out = project.target.join(format!("callgrind.{target}.out"));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet", MEASURED]).args(CACHES);
    command.arg(format!("--callgrind-out-file={}", out.display())).arg(program).arg("--instructions");
    report::print(&format!("\n$ {}", process::line(&command)));
    let output = process::output(&mut command)?;
    let ticks = measured_ticks(&output)
        .ok_or_else(|| Failure::new(format!("no line `measured: <number> ticks` was printed by `{}`", bench.name)))?;
    let profile = fs::read_to_string(&out).map_err(|error| Failure::new(format!("{}: {error}", out.display())))?;
    counts(&profile, ticks).ok_or_else(|| Failure::new(format!("{} has no totals, or they are zero", out.display())))
}

/// Reads `measured: 120 ticks` out of the output of a benchmark.
fn measured_ticks(output: &str) -> Option<f64> {
    let line = output.lines().find_map(|line| line.strip_prefix("measured: "))?;
    line.strip_suffix(" ticks")?.parse().ok().filter(|ticks| *ticks > 0.0)
}

/// Reads the totals of a profile, whose columns are named by the line `events:`.
fn counts(profile: &str, ticks: f64) -> Option<Counts> {
    let words = |start: &str| profile.lines().find_map(|line| Some(line.strip_prefix(start)?.split_whitespace()));
    let totals: BTreeMap<&str, f64> =
        words("events:")?.zip(words("totals:")?.filter_map(|number| number.parse().ok())).collect();
    let instructions = *totals.get("Ir").filter(|total| **total > 0.0)?;
    let misses = totals.get("DLmr")? + totals.get("DLmw")?;
    Some(Counts { instructions: (instructions / ticks).round(), misses: (misses / ticks).round() })
}

fn increase_percent(counts: Counts, recorded: Recorded) -> f64 {
    (counts.instructions / recorded.last - 1.0) * 100.0
}

fn measurement(counts: Counts, recorded: Recorded) -> Measurement {
    let aim = (recorded.start * AIM_PERCENT / 100.0).round();
    let verdict = Some((format!("{AIM_PERCENT} % of {}", recorded.start), counts.instructions <= aim));
    Measurement { value: counts.instructions, unit: "instructions per tick".to_owned(), verdict }
}

fn describe(name: &str, counts: Counts, recorded: Recorded) -> String {
    format!(
        "{name}: {} instructions and {} cache misses per tick; {:+.1} % of the recorded {}, {:+.1} % of {} at the start",
        counts.instructions,
        counts.misses,
        increase_percent(counts, recorded),
        recorded.last,
        (counts.instructions / recorded.start - 1.0) * 100.0,
        recorded.start,
    )
}

fn read(file: &Path) -> Result<BTreeMap<String, Recorded>, Failure> {
    let failure = |problem: String| Failure::new(format!("{}: {problem}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| failure(error.to_string()))?;
    parse(&text).ok_or_else(|| failure("not of the form {\"<benchmark>\": {\"start\": 1, \"last\": 1}}".to_owned()))
}

fn parse(text: &str) -> Option<BTreeMap<String, Recorded>> {
    let figures: Value = serde_json::from_str(text).ok()?;
    let entry = |(name, figures): (&String, &Value)| {
        let recorded = Recorded { start: figures["start"].as_f64()?, last: figures["last"].as_f64()? };
        Some((name.clone(), recorded))
    };
    figures.as_object()?.iter().map(entry).collect()
}

fn text(recorded: &BTreeMap<String, Recorded>) -> String {
    let entry = |(name, figures): (&String, &Recorded)| {
        (name.clone(), json!({ "start": figures.start as u64, "last": figures.last as u64 }))
    };
    let figures: serde_json::Map<String, Value> = recorded.iter().map(entry).collect();
    format!("{:#}\n", Value::Object(figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "version: 1\nevents: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\nfn=(1)\n1 5 5\n\
                           totals: 6000 50 40 1 2 3 4 400 200\n";

    #[test]
    fn totals_of_a_profile_are_divided_by_the_ticks() {
        assert_eq!(measured_ticks("a\nmeasured: 20 ticks\n"), Some(20.0));
        assert_eq!(measured_ticks("measured: 0 ticks"), None);
        assert_eq!(counts(PROFILE, 20.0), Some(Counts { instructions: 300.0, misses: 30.0 }));
        assert_eq!(counts("events: Ir\ntotals: 0\n", 20.0), None);
    }

    #[test]
    fn an_increase_and_the_aim_are_judged_by_their_own_figures() {
        let recorded = Recorded { start: 1_000.0, last: 600.0 };
        let counts = |instructions| Counts { instructions, misses: 0.0 };
        assert!(increase_percent(counts(611.0), recorded) < INCREASE_MAX_PERCENT);
        assert!(increase_percent(counts(613.0), recorded) > INCREASE_MAX_PERCENT);
        let is_met = |instructions| measurement(counts(instructions), recorded).verdict.unwrap().1;
        assert!(is_met(700.0));
        assert!(!is_met(701.0));
    }

    #[test]
    fn recorded_figures_survive_a_round_trip() {
        let recorded = BTreeMap::from([("world".to_owned(), Recorded { start: 7.0, last: 5.0 })]);
        assert_eq!(parse(&text(&recorded)), Some(recorded));
        assert_eq!(parse("{\"world\": 7}"), None);
    }

    #[test]
    fn every_counted_benchmark_has_a_recorded_figure() {
        let recorded = parse(include_str!("../../../instructions.json")).unwrap();
        let counted: Vec<&str> = super::super::counted().iter().map(|bench| bench.name).collect();
        assert_eq!(recorded.keys().map(String::as_str).collect::<Vec<_>>(), counted);
    }
}
