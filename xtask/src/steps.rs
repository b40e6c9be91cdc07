//! Named steps in concurrent lanes, with a table at the end.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::Project;
use crate::report::{self, Report};

/// A named part of a longer command.
#[derive(Clone, Copy)]
pub struct Step {
    /// Name on the command line and in the table.
    pub name: &'static str,
    /// Description, as a clause.
    pub what: &'static str,
    /// Runs the step.
    pub run: fn(&Project) -> Outcome,
    /// The lane it runs in.
    pub lane: Lane,
    /// Steps that must have passed before this one starts, as far as they are run at all.
    pub after: &'static [&'static str],
}

/// A sequence of steps. One lane compiles with the processor time that the others, which mostly wait, leave over. Cargo
/// locks its build folder, so only that lane may call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Calls cargo.
    Compile,
    /// Runs tests in Rust and against the server.
    Test,
    /// Runs scripts in Node and in a browser.
    Browse,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Lane; 3] = [Lane::Compile, Lane::Test, Lane::Browse];
}

/// End of one step.
enum StepEnd {
    Ran {
        took: Duration,
        report: Report,
        outcome: Outcome,
    },
    /// A step it needs did not pass.
    NotRun,
}

impl StepEnd {
    fn is_ok(&self) -> bool {
        matches!(self, StepEnd::Ran { outcome: Ok(()), .. })
    }
}

/// The ends of all steps in order, set by the lanes.
struct StepEnds {
    ended: Mutex<Vec<Option<StepEnd>>>,
    changed: Condvar,
}

impl StepEnds {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<StepEnd>>> {
        // A lane that panics ends the command anyway; the table may still be printed.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, index: usize, ended: StepEnd) {
        self.lock()[index] = Some(ended);
        self.changed.notify_all();
    }

    /// Waits for the steps that a step needs, and returns true if all of them passed.
    fn wait_for(&self, needed: &[usize]) -> bool {
        let mut ended = self.lock();
        loop {
            if needed.iter().all(|&index| ended[index].is_some()) {
                return needed.iter().all(|&index| ended[index].as_ref().is_some_and(StepEnd::is_ok));
            }
            ended = self.changed.wait(ended).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Runs the steps, each lane in order, all of them even when one fails, and prints the table.
pub fn run_all(project: &Project, steps: &[Step]) -> Outcome {
    let started = Instant::now();
    let step_ends = StepEnds { ended: Mutex::new(steps.iter().map(|_| None).collect()), changed: Condvar::new() };
    thread::scope(|scope| {
        for lane in Lane::ALL {
            let step_ends = &step_ends;
            scope.spawn(move || run_lane(project, steps, lane, step_ends));
        }
    });
    let ended = step_ends.ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    // The counts are the last line of the output, whatever happened.
    println!("{}", table(steps, &ended, started.elapsed()));
    if ended.iter().flatten().filter(|ended| ended.is_ok()).count() == steps.len() {
        Ok(())
    } else {
        Err(Failure::printed())
    }
}

fn run_lane(project: &Project, steps: &[Step], lane: Lane, step_ends: &StepEnds) {
    if lane == Lane::Compile {
        process::lower_priority();
    }
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.lane == lane) {
        let is_needed = |other: &Step| step.after.contains(&other.name);
        let needed: Vec<usize> = (0..steps.len()).filter(|&other| is_needed(&steps[other])).collect();
        if step_ends.wait_for(&needed) {
            step_ends.end(index, run_step(project, step));
        } else {
            report::print_for(Some(step.name), "not run, because a step it needs did not pass");
            step_ends.end(index, StepEnd::NotRun);
        }
    }
}

fn run_step(project: &Project, step: &Step) -> StepEnd {
    report::begin(step.name);
    report::print(&format!("begins: {}", step.what));
    let started = Instant::now();
    let outcome = (step.run)(project);
    let took = started.elapsed();
    match &outcome {
        Ok(()) => report::print(&format!("passed after {:.1} s", took.as_secs_f64())),
        Err(failure) => report::print(&format!("FAILED after {:.1} s: {failure}", took.as_secs_f64())),
    }
    StepEnd::Ran { took, report: report::end(), outcome }
}

/// Prints each step with its time, the share of it spent compiling, and the number of tests that passed.
fn table(steps: &[Step], ended: &[Option<StepEnd>], took: Duration) -> String {
    let mut text = format!("\n{:<14} {:<7} {:>9} {:>11} {:>7}\n", "step", "result", "time", "compiling", "tests");
    for (step, ended) in steps.iter().zip(ended) {
        match ended {
            Some(StepEnd::Ran { took, report, outcome }) => {
                let result = if outcome.is_ok() { "ok" } else { "FAILED" };
                let time = format!("{:.1} s", took.as_secs_f64());
                let compiling = share(report.compiling, *took);
                let tests = if report.tests == 0 { "-".to_owned() } else { report.tests.to_string() };
                text += &format!("{:<14} {result:<7} {time:>9} {compiling:>11} {tests:>7}\n", step.name);
                if let Err(failure) = outcome {
                    text += &format!("{:<14} {}\n", "", failure.to_string().lines().next().unwrap_or_default());
                }
            }
            Some(StepEnd::NotRun) | None => text += &format!("{:<14} NOT RUN\n", step.name),
        }
    }
    let tests: u32 = ended
        .iter()
        .flatten()
        .map(|ended| if let StepEnd::Ran { report, .. } = ended { report.tests } else { 0 })
        .sum();
    text += &format!(
        "all steps took {:.1} s ({:.1} minutes) and ran {tests} tests\n",
        took.as_secs_f64(),
        took.as_secs_f64() / 60.0
    );
    let passed = ended.iter().flatten().filter(|ended| ended.is_ok()).count();
    text += &format!("{passed} passed, {} failed", steps.len() - passed);
    text
}

fn share(part: Duration, whole: Duration) -> String {
    if part.is_zero() {
        return "-".to_owned();
    }
    format!("{:.0} %", 100.0 * part.as_secs_f64() / whole.as_secs_f64().max(f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &'static str, lane: Lane, after: &'static [&'static str]) -> Step {
        Step { name, what: "", run: |_| Ok(()), lane, after }
    }

    fn project() -> Project {
        Project::at("/", "/")
    }

    fn ran(outcome: Outcome) -> Option<StepEnd> {
        Some(StepEnd::Ran { took: Duration::from_secs(2), report: Report::default(), outcome })
    }

    #[test]
    fn the_last_line_counts_what_passed_and_what_failed() {
        let steps = [step("format", Lane::Test, &[]), step("lint", Lane::Compile, &[])];
        let text = table(&steps, &[ran(Ok(())), ran(Err(Failure::new("no")))], Duration::from_secs(4));
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
    }

    #[test]
    fn steps_that_were_not_run_count_as_failed() {
        let steps = [step("setup", Lane::Test, &[]), step("lint", Lane::Compile, &["setup"])];
        let text = table(&steps, &[ran(Err(Failure::new("no"))), Some(StepEnd::NotRun)], Duration::ZERO);
        assert!(text.contains("NOT RUN"));
        assert_eq!(text.lines().last(), Some("0 passed, 2 failed"));
    }

    #[test]
    fn a_failed_step_makes_the_whole_fail_but_the_rest_still_runs() {
        let failing = Step { run: |_| Err(Failure::new("no")), ..step("format", Lane::Test, &[]) };
        assert!(run_all(&project(), &[failing, step("lint", Lane::Test, &[])]).is_err());
        assert!(run_all(&project(), &[step("lint", Lane::Test, &[])]).is_ok());
    }

    #[test]
    fn a_step_waits_for_the_other_lane_and_is_not_run_if_that_failed() {
        let broken = Step { run: |_| Err(Failure::new("no")), ..step("build", Lane::Compile, &[]) };
        let never = Step { run: |_| panic!("it must not run"), ..step("tests", Lane::Test, &["build"]) };
        assert!(run_all(&project(), &[never, broken]).is_err());
    }

    #[test]
    fn a_step_that_is_not_among_those_run_is_not_waited_for() {
        assert!(run_all(&project(), &[step("tests", Lane::Test, &["build"])]).is_ok());
    }

    #[test]
    fn the_table_shows_the_share_spent_compiling() {
        let report = Report { compiling: Duration::from_secs(1), tests: 12, ..Report::default() };
        let ended = Some(StepEnd::Ran { took: Duration::from_secs(2), report, outcome: Ok(()) });
        let text = table(&[step("docs", Lane::Compile, &[])], &[ended], Duration::from_secs(2));
        assert!(text.contains("50 %") && text.contains("12"), "{text}");
    }
}
