//! Named steps, timed, with a summary at the end.

use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::project::Project;

/// One named piece of a longer command.
#[derive(Clone, Copy)]
pub struct Step {
    /// What it is called on the command line and in the summary.
    pub name: &'static str,
    /// What it does, in half a sentence.
    pub what: &'static str,
    /// Does it.
    pub run: fn(&Project) -> Outcome,
    /// Whether the steps after it cannot mean anything when it fails.
    pub needed_by_the_rest: bool,
}

/// How one step ended.
struct Ended {
    name: &'static str,
    took: Duration,
    outcome: Outcome,
}

/// Runs the steps in order, all of them even when one fails, and sums up.
pub fn run_all(project: &Project, steps: &[Step]) -> Outcome {
    let mut ended = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n[{}/{}] {}: {}", index + 1, steps.len(), step.name, step.what);
        let started = Instant::now();
        let outcome = (step.run)(project);
        let took = started.elapsed();
        if let Err(failure) = &outcome {
            println!("{} failed: {failure}", step.name);
        }
        let stop = outcome.is_err() && step.needed_by_the_rest;
        ended.push(Ended { name: step.name, took, outcome });
        if stop {
            break;
        }
    }
    // The counts are the last line of the output, whatever happened.
    println!("{}", summary(&ended, steps));
    if ended.iter().all(|step| step.outcome.is_ok()) { Ok(()) } else { Err(Failure::told()) }
}

fn summary(ended: &[Ended], steps: &[Step]) -> String {
    let mut text = String::from("\nSummary\n");
    for step in ended {
        let mark = if step.outcome.is_ok() { "ok" } else { "FAILED" };
        text += &format!("  {mark:<7} {:>7.1} s  {}\n", step.took.as_secs_f64(), step.name);
        if let Err(failure) = &step.outcome {
            let first_line = failure.to_string();
            let first_line = first_line.lines().next().unwrap_or_default();
            text += &format!("                     {first_line}\n");
        }
    }
    for step in &steps[ended.len()..] {
        text += &format!("  NOT RUN            {}\n", step.name);
    }
    let passed = ended.iter().filter(|step| step.outcome.is_ok()).count();
    text += &format!("{passed} passed, {} failed", steps.len() - passed);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, needed_by_the_rest: bool) -> Step {
        Step { name, what: "", run: |_| Ok(()), needed_by_the_rest }
    }

    fn ended(name: &'static str, outcome: Outcome) -> Ended {
        Ended { name, took: Duration::ZERO, outcome }
    }

    #[test]
    fn the_last_line_counts_what_passed_and_what_failed() {
        let steps = [step("format", false), step("lint", false)];
        let ended = [ended("format", Ok(())), ended("lint", Err(Failure::new("no")))];
        let text = summary(&ended, &steps);
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
    }

    #[test]
    fn steps_that_were_not_run_count_as_failed() {
        let steps = [step("setup", true), step("lint", false)];
        let text = summary(&[ended("setup", Err(Failure::new("no")))], &steps);
        assert!(text.contains("NOT RUN"));
        assert_eq!(text.lines().last(), Some("0 passed, 2 failed"));
    }

    #[test]
    fn a_failed_step_makes_the_whole_fail_but_the_rest_still_runs() {
        let project = Project { root: "/".into(), target: "/".into() };
        let failing = Step { run: |_| Err(Failure::new("no")), ..step("format", false) };
        assert!(run_all(&project, &[failing, step("lint", false)]).is_err());
        assert!(run_all(&project, &[step("lint", false)]).is_ok());
    }
}
