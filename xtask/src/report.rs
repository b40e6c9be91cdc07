//! Output and results of the step that runs on this thread.
//!
//! Steps run concurrently, so every line they print begins with the step's name. Outside a step, lines are printed as
//! they are.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    static CURRENT: Cell<Option<Report>> = const { Cell::new(None) };
}

/// Results of one step.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Name of the step.
    pub step: &'static str,
    /// Time spent in commands that compile.
    pub compiling: Duration,
    /// Number of tests that passed.
    pub tests: u32,
}

/// Begins a step on this thread.
pub fn begin(step: &'static str) {
    CURRENT.set(Some(Report { step, ..Report::default() }));
}

/// Ends the step on this thread and returns its results.
pub fn end() -> Report {
    CURRENT.take().unwrap_or_default()
}

/// Name of the step on this thread.
pub fn step() -> Option<&'static str> {
    CURRENT.get().map(|report| report.step)
}

/// Adds time spent compiling to the step on this thread.
pub fn add_compiling(time: Duration) {
    CURRENT.set(CURRENT.get().map(|report| Report { compiling: report.compiling + time, ..report }));
}

/// Adds tests that passed to the step on this thread.
pub fn add_tests(count: u32) {
    CURRENT.set(CURRENT.get().map(|report| Report { tests: report.tests + count, ..report }));
}

/// Prints text for the step on this thread.
pub fn print(text: &str) {
    print_for(step(), text);
}

/// Prints text, each line behind the name of its step.
pub fn print_for(step: Option<&str>, text: &str) {
    match step {
        None => println!("{text}"),
        Some(step) => {
            for line in text.lines() {
                println!("{step:>12} | {line}");
            }
        }
    }
}

/// Number of passed tests that a line of a test runner's closing report names: libtest's or Node's.
pub fn passed_tests(line: &str) -> Option<u32> {
    if let Some(result) = line.trim_start().strip_prefix("test result: ") {
        let (_, counts) = result.split_once(". ")?;
        return counts.split_once(" passed;")?.0.parse().ok();
    }
    let (_, count) = line.strip_prefix("ℹ pass ").map(|count| ("", count)).or_else(|| line.split_once("# pass "))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_of_test_runners_are_counted() {
        assert_eq!(passed_tests("test result: ok. 79 passed; 0 failed; 0 ignored; finished in 1.00s"), Some(79));
        assert_eq!(passed_tests("ℹ pass 45"), Some(45));
        assert_eq!(passed_tests("# pass 62"), Some(62));
        assert_eq!(passed_tests("test a_password_is_refused ... ok"), None);
    }

    #[test]
    fn results_belong_to_the_step_on_the_thread() {
        add_tests(7);
        begin("lint");
        add_tests(2);
        add_compiling(Duration::from_secs(3));
        let report = end();
        assert_eq!((report.step, report.tests, report.compiling), ("lint", 2, Duration::from_secs(3)));
        assert_eq!(step(), None);
    }
}
