//! The benchmarks, their aims, and the peers they are compared with.

mod instructions;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use lexopt::Arg::{Long, Value};

use super::{Command, browser, text};
use crate::builds::{self, Executable, Profile};
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;
use crate::report;
use crate::steps::{Lane, Step};

pub const COMMAND: Command = Command {
    name: "bench",
    summary: "Runs the benchmarks and compares each result with its aim.",
    help: "
Usage: cargo xtask bench [--short] [--peers] [name...]
       cargo xtask bench --instructions [--record] [name...]
       cargo xtask bench list

  name      runs only the benchmarks named
  list      shows the names
  --short   a quick form in a development build that only checks that they run;
            its results mean little
  --peers   also runs other libraries on the same workload and shows the ratio:
            bevy_replicon, and for `udp` renet and quinn
  --instructions
            counts the instructions per tick of replicate-dense, rooms and world
            with callgrind, and fails if one is more than 2 % above the figure
            in xtask/instructions.json
  --record  writes the new figures to that file

The last line of a benchmark is `<name>: <value> <unit>, aim <aim>: met` (or
`missed`). A benchmark with several aims prints more such lines before it, whose
names begin with its own. A time that is only for orientation has a note in
brackets instead of an aim: its aim is a count (--instructions) or a ratio
(--peers). The table at the end repeats the lines.",
    run,
};

/// The short form for `cargo xtask test`. A missed aim is not a failure there; a broken benchmark is.
pub const SHORT_BENCHES: Step = Step {
    name: "benches",
    what: "benchmarks run, in a short form whose results mean little",
    run: |project| {
        let chosen: Vec<&Bench> = BENCHES.iter().filter(|bench| bench.in_test).collect();
        measure(project, &chosen, Options { short: true, peers: false })
    },
    lane: Lane::Test,
    after: &["build"],
};

/// One benchmark.
struct Bench {
    /// Name, also on its last line.
    name: &'static str,
    kind: Kind,
    /// True if bevy_replicon runs this workload too.
    has_peer: bool,
    /// Folder of peers that the benchmark starts itself, and compares itself with.
    own_peers: Option<&'static str>,
    /// Aim: multiple of our result that the peer takes in the same run.
    peer_ratio_min: Option<f64>,
    /// True if `cargo xtask test` runs its short form.
    in_test: bool,
    /// True if its instructions are counted.
    is_counted: bool,
}

/// Build and start of a benchmark.
enum Kind {
    /// A bench target of a package, in the bench profile.
    Target { package: &'static str, target: &'static str },
    /// A whole server over real sockets, in the release build that is also shipped.
    Network,
    /// Such a server with bots, and a page in a real browser.
    Browser,
}

/// All benchmarks, in the order they run.
const BENCHES: &[Bench] = &[
    bench("interest", "aether-space", "interest"),
    bench("queries", "aether-world", "queries"),
    counting(with_ratio(60.0, bench("replicate-dense", "aether-replication", "replicate_dense"))),
    with_peer(bench("replicate-idle", "aether-replication", "replicate_idle")),
    with_peer(bench("bytes", "aether-replication", "bytes")),
    bench("cubes", "aether-replication", "cubes"),
    counting(bench("world", "aether-engine", "world")),
    counting(bench("rooms", "aether-engine", "rooms")),
    bench("encode-parallel", "aether-engine", "encode_parallel"),
    bench("rank", "aether-ranks", "rank"),
    bench("query", "aether-query", "query"),
    bench("matchmaker", "aether-services", "matchmaker"),
    bench("store", "aether-store", "store"),
    network("relay"),
    network("relay-ws"),
    network("relay-udp"),
    network("chat"),
    network("lua"),
    network("lua-hooks"),
    network("crowd"),
    network("spatial-300"),
    network("connections"),
    network("api"),
    with_own_peers("udp", network("udp")),
    Bench {
        name: "arena",
        kind: Kind::Browser,
        has_peer: false,
        own_peers: None,
        peer_ratio_min: None,
        in_test: false,
        is_counted: false,
    },
];

/// The folder of the peer, outside the workspace so that the product does not depend on it.
const PEER: &str = "bevy_replicon";

#[derive(Clone, Copy)]
struct Options {
    short: bool,
    peers: bool,
}

/// Last line of a benchmark.
#[derive(Clone, Debug, PartialEq)]
struct Measurement {
    value: f64,
    unit: String,
    /// The aim, and true if it was met; none for a peer, and if the aim is a count or a ratio.
    verdict: Option<(String, bool)>,
}

/// A row of the final table.
struct Row {
    name: String,
    own: Measurement,
    peer: Option<Measurement>,
    peer_ratio_min: Option<f64>,
}

fn run(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut options = Options { short: false, peers: false };
    let (mut has_instructions, mut record) = (false, false);
    let mut names = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("short") => options.short = true,
            Long("peers") => options.peers = true,
            Long("instructions") => has_instructions = true,
            Long("record") => record = true,
            Value(name) => names.push(text(name)?),
            other => return Err(other.unexpected().into()),
        }
    }
    if names == ["list"] {
        for bench in BENCHES {
            println!("{}", bench.name);
        }
        return Ok(());
    }
    match (has_instructions, record) {
        (true, _) => {
            let benches = if names.is_empty() { counted() } else { chosen(&names)? };
            instructions::count(project, &benches, record)
        }
        (false, true) => Err(Failure::new("only instructions are recorded; use `--instructions --record`")),
        (false, false) => measure(project, &chosen(&names)?, options),
    }
}

/// Benchmarks whose instructions are counted, by name.
fn counted() -> Vec<&'static Bench> {
    let mut benches: Vec<&Bench> = BENCHES.iter().filter(|bench| bench.is_counted).collect();
    benches.sort_by_key(|bench| bench.name);
    benches
}

fn chosen(names: &[String]) -> Result<Vec<&'static Bench>, Failure> {
    if names.is_empty() {
        return Ok(BENCHES.iter().collect());
    }
    names
        .iter()
        .map(|name| {
            BENCHES
                .iter()
                .find(|bench| bench.name == name)
                .ok_or_else(|| Failure::new(format!("there is no benchmark `{name}`; `cargo xtask bench list`")))
        })
        .collect()
}

/// Runs the benchmarks one after the other and prints the table. A missed aim is shown and is not a failure.
fn measure(project: &Project, benches: &[&'static Bench], options: Options) -> Outcome {
    let mut rows = Vec::new();
    let mut broken = Vec::new();
    let mut collect = |name: String, results: Result<Vec<(String, Measurement)>, Failure>| {
        results.unwrap_or_else(|failure| {
            report::print(&format!("{name}: {failure}"));
            broken.push(name);
            Vec::new()
        })
    };
    for bench in benches {
        let own = collect(bench.name.into(), own_results(project, bench, options));
        let mut peer = None;
        if options.peers && bench.has_peer {
            peer = collect(format!("{} of {PEER}", bench.name), peer_results(project, bench)).pop();
        }
        for (name, own) in own {
            let peer = peer.take_if(|_| name == bench.name).map(|(_, peer)| peer);
            rows.push(Row { name, own, peer, peer_ratio_min: bench.peer_ratio_min });
        }
    }
    report::print(&format!("\n{}", table(&rows)));
    if broken.is_empty() {
        Ok(())
    } else {
        Err(Failure::new(format!("benchmarks without a result: {}", broken.join(", "))))
    }
}

fn own_results(project: &Project, bench: &Bench, options: Options) -> Result<Vec<(String, Measurement)>, Failure> {
    let profile = if options.short { Profile::Dev } else { Profile::Release };
    let mut command = match bench.kind {
        Kind::Target { package, target } => target_program(project, package, target, profile)?,
        Kind::Network => {
            let mut command = network_program(project, profile)?;
            command.arg(bench.name);
            command
        }
        Kind::Browser => browser::bench(project, bench.name, profile)?,
    };
    if options.short {
        command.arg("--short");
    }
    if let Some(folder) = bench.own_peers.filter(|_| options.peers) {
        command.arg("--peers").arg(peers_program(project, folder)?);
    }
    results(&mut command, "", bench.name)
}

/// Builds the bench target of a package, unless this process has built it with everything else.
fn target_program(
    project: &Project,
    package: &str,
    target: &str,
    profile: Profile,
) -> Result<std::process::Command, Failure> {
    if profile == Profile::Release {
        let mut command = project.cargo();
        command.args(["bench", "--package", package, "--bench", target, "--"]);
        return Ok(command);
    }
    let is_it = |built: &&Executable| built.kind == builds::Kind::Bench && built.target == target;
    if let Some(built) = project.built.get().into_iter().flatten().find(is_it) {
        let mut command = std::process::Command::new(&built.path);
        command.current_dir(&built.folder);
        return Ok(command);
    }
    let mut command = project.cargo();
    command.args(["bench", "--workspace", "--profile", "dev", "--bench", target, "--"]);
    Ok(command)
}

/// Builds the program of the network benchmarks, and the server beside it.
pub fn network_program(project: &Project, profile: Profile) -> Result<std::process::Command, Failure> {
    let folder = builds::programs(project, &[builds::NETWORK_BENCHES, builds::SERVER], profile)?;
    Ok(std::process::Command::new(folder.join(builds::NETWORK_BENCHES)))
}

/// Builds the program of peers and returns its path.
fn peers_program(project: &Project, folder: &str) -> Result<std::path::PathBuf, Failure> {
    let target = project.target.join("peers");
    let mut command = project.cargo();
    command.env("CARGO_TARGET_DIR", &target);
    command.args(["build", "--release", "--locked", "--manifest-path"]);
    command.arg(project.root.join("peers").join(folder).join("Cargo.toml"));
    process::run(&mut command)?;
    Ok(target.join("release").join(format!("peer-{folder}")))
}

fn peer_results(project: &Project, bench: &Bench) -> Result<Vec<(String, Measurement)>, Failure> {
    let mut command = project.cargo();
    command.env("CARGO_TARGET_DIR", project.target.join("peers"));
    command.args(["run", "--release", "--locked"]);
    // Bevy declares a newer compiler than it needs.
    command.args(["--ignore-rust-version", "--manifest-path"]);
    command.arg(project.root.join("peers").join(PEER).join("Cargo.toml"));
    command.args(["--", bench.name]);
    results(&mut command, "peer ", bench.name)
}

/// Runs a benchmark, prints its output, and reads the results from its last lines.
fn results(
    command: &mut std::process::Command,
    start: &str,
    name: &str,
) -> Result<Vec<(String, Measurement)>, Failure> {
    report::print(&format!("\n$ {}", process::line(command)));
    let unread = |error| Failure::new(format!("its output could not be read: {error}"));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(unread)?;
    let mut found = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            let line = line.map_err(unread)?;
            report::print(&line);
            found.extend(line.strip_prefix(start).and_then(|line| named_measurement(line, name)));
        }
    }
    let status = child.wait().map_err(unread)?;
    if !status.success() {
        return Err(Failure::new(format!("`{}` ended with {status}", process::line(command))));
    }
    match found.iter().any(|(found, _)| found == name) {
        true => Ok(found),
        false => {
            Err(Failure::new(format!("no line `{start}{name}: <value> <unit>, aim <aim>: met|missed` was printed")))
        }
    }
}

/// Reads a line that begins with the name of a benchmark, or with a name that has it as a prefix.
fn named_measurement(line: &str, bench: &str) -> Option<(String, Measurement)> {
    let (name, rest) = line.split_once(": ")?;
    let further = name.strip_prefix(bench)?;
    if !further.is_empty() && !further.starts_with('-') {
        return None;
    }
    Some((name.to_owned(), parse(rest)?))
}

/// Reads the text after the name: `0.61 ms, aim under 0.8 ms: met`, or `61 ms (a note)`.
fn parse(line: &str) -> Option<Measurement> {
    let (measured, judged) = match line.split_once(", aim ") {
        Some((measured, judged)) => (measured, Some(judged)),
        None => (line.split(" (").next()?, None),
    };
    let (value, unit) = measured.trim().split_once(' ')?;
    let verdict = match judged {
        Some(judged) => {
            let (aim, verdict) = judged.rsplit_once(": ")?;
            let met = match verdict.trim() {
                "met" => true,
                "missed" => false,
                _ => return None,
            };
            Some((aim.to_owned(), met))
        }
        None => None,
    };
    let value = value.replace([',', '_'], "").parse().ok()?;
    Some(Measurement { value, unit: unit.to_owned(), verdict })
}

fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let measured = format!("{} {}", row.own.value, row.own.unit);
        text += &format!("{:<20} {measured:<32}", row.name);
        if let Some((aim, met)) = &row.own.verdict {
            let verdict = if *met { "met" } else { "missed" };
            text += &format!(" aim {aim}: {verdict}");
        }
        if let Some(peer) = &row.peer {
            text += &format!("; {PEER} {} {}", peer.value, peer.unit);
            if peer.unit == row.own.unit && row.own.value > 0.0 {
                let ratio = peer.value / row.own.value;
                text += &format!(", {ratio:.1} times ours");
                if let Some(aim) = row.peer_ratio_min {
                    text += &format!(", aim {aim} times: {}", if ratio >= aim { "met" } else { "missed" });
                }
            }
        }
        text.push('\n');
    }
    text
}

const fn bench(name: &'static str, package: &'static str, target: &'static str) -> Bench {
    Bench {
        name,
        kind: Kind::Target { package, target },
        has_peer: false,
        own_peers: None,
        peer_ratio_min: None,
        in_test: true,
        is_counted: false,
    }
}

const fn network(name: &'static str) -> Bench {
    Bench {
        name,
        kind: Kind::Network,
        has_peer: false,
        own_peers: None,
        peer_ratio_min: None,
        in_test: true,
        is_counted: false,
    }
}

const fn with_own_peers(folder: &'static str, bench: Bench) -> Bench {
    Bench { own_peers: Some(folder), ..bench }
}

const fn with_peer(bench: Bench) -> Bench {
    Bench { has_peer: true, ..bench }
}

const fn with_ratio(peer_ratio_min: f64, bench: Bench) -> Bench {
    Bench { peer_ratio_min: Some(peer_ratio_min), ..with_peer(bench) }
}

const fn counting(bench: Bench) -> Bench {
    Bench { is_counted: true, ..bench }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_benchmark_is_read() {
        let measurement = parse("0.61 ms, aim under 0.8 ms: met").unwrap();
        assert_eq!((measurement.value, measurement.unit.as_str()), (0.61, "ms"));
        assert_eq!(measurement.verdict, Some(("under 0.8 ms".to_owned(), true)));
        let measurement = parse("1,200 B per cube, aim 80 % of 7.1 B: missed").unwrap();
        assert_eq!((measurement.value, measurement.unit.as_str()), (1200.0, "B per cube"));
        assert_eq!(measurement.verdict, Some(("80 % of 7.1 B".to_owned(), false)));
    }

    #[test]
    fn a_benchmark_may_have_more_results_under_names_with_its_prefix() {
        let line =
            |name: &str| named_measurement(&format!("{name}: 1 ms, aim 2 ms: met"), "relay").map(|(name, _)| name);
        assert_eq!(line("relay"), Some("relay".to_owned()));
        assert_eq!(line("relay-latency"), Some("relay-latency".to_owned()));
        assert_eq!(line("relays"), None);
        assert_eq!(line("crowd"), None);
    }

    #[test]
    fn a_line_without_value_or_verdict_is_rejected() {
        assert_eq!(parse("fast, aim under 0.8 ms: met"), None);
        assert_eq!(parse("0.61 ms, aim under 0.8 ms: perhaps"), None);
    }

    #[test]
    fn the_table_shows_the_ratio_to_a_peer_with_the_same_unit() {
        let own = parse("0.5 ms, aim under 0.8 ms: met").unwrap();
        let peer = parse("60 ms (bevy_replicon 0.45)").unwrap();
        let row = |peer_ratio_min| {
            let (own, peer) = (own.clone(), Some(peer.clone()));
            table(&[Row { name: "replicate-dense".into(), own, peer, peer_ratio_min }])
        };
        let text = row(Some(60.0));
        assert!(text.contains("aim under 0.8 ms: met"), "{text}");
        assert!(text.contains("120.0 times ours, aim 60 times: met"), "{text}");
        assert!(row(Some(121.0)).contains("aim 121 times: missed"));
        assert!(!row(None).contains("times:"));
    }

    #[test]
    fn an_unknown_benchmark_is_refused() {
        assert!(chosen(&["interest".into()]).is_ok());
        assert!(chosen(&["interets".into()]).is_err());
    }
}
