//! Runs simulations by seed: `sim --seed N [--count K] [--verbose]`.

use aether_testkit::Simulation;
use lexopt::Arg::Long;
use lexopt::ValueExt;
use std::process::ExitCode;

struct Arguments {
    seed: u64,
    count: u64,
    verbose: bool,
}

fn main() -> ExitCode {
    let Arguments { seed, count, verbose } = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\nusage: sim --seed N [--count K] [--verbose]");
            return ExitCode::from(2);
        }
    };
    let mut failures = 0_u64;
    for seed in seed..seed.saturating_add(count) {
        let (journal, line) = match Simulation::new(seed).run() {
            Ok(outcome) => (outcome.journal.clone(), outcome.to_string()),
            Err(failure) => {
                failures += 1;
                (failure.journal.clone(), failure.to_string())
            }
        };
        if verbose {
            journal.iter().for_each(|entry| println!("  {entry}"));
        }
        println!("{line}");
    }
    if failures == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{failures} of {count} seeds failed");
    ExitCode::FAILURE
}

fn arguments() -> Result<Arguments, lexopt::Error> {
    let mut parser = lexopt::Parser::from_env();
    let mut seed = None;
    let mut arguments = Arguments { seed: 0, count: 1, verbose: false };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => seed = Some(parser.value()?.parse()?),
            Long("count") => arguments.count = parser.value()?.parse()?,
            Long("verbose") => arguments.verbose = true,
            other => return Err(other.unexpected()),
        }
    }
    arguments.seed = seed.ok_or("missing --seed: give the first seed to run")?;
    Ok(arguments)
}
