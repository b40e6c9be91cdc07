//! Metrics of scripts, which the server shows with its own.

use super::table::strings;
use crate::arguments::Arguments;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::vm::VmState;
use aether_services::game_metrics::{GameMetrics, Labels, check};

/// Nanoseconds of a second: timers of Nakama modules record nanoseconds.
const SECOND_NS: f64 = 1e9;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

const NAME: Parameter = required("name", "string", "Name. Characters other than letters and digits become `_`.");
const TAGS: Parameter = optional("tags", "{[string]: string}", "Labels. Use few distinct values, and no ids of users.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::local("metrics_counter_add", |state, args| {
        let delta = u64::try_from(args.integer(2)?).map_err(|_| args.expected(2, "0 or more"))?;
        record(state, &args, |metrics, name, labels| metrics.count(name, labels, delta))
    })
    .about("Adds to the counter `game_<name>_total`.")
    .parameters(&[NAME, TAGS, required("delta", "number", "Whole number to add, not negative.")]),
    Function::local("metrics_gauge_set", |state, args| {
        let value = args.number(2)?;
        record(state, &args, |metrics, name, labels| metrics.set(name, labels, value))
    })
    .about("Sets the gauge `game_<name>`.")
    .parameters(&[NAME, TAGS, required("value", "number", "Value.")]),
    Function::local("metrics_timer_record", |state, args| {
        let seconds = args.number(2)? / SECOND_NS;
        record(state, &args, |metrics, name, labels| metrics.time(name, labels, seconds))
    })
    .about("Records a duration in the histogram `game_<name>_seconds`.")
    .parameters(&[NAME, TAGS, required("value", "number", "Duration in nanoseconds.")]),
];

/// Records a value of the name and the labels in the arguments.
fn record(state: &VmState, args: &Arguments, record: impl FnOnce(&GameMetrics, &str, &Labels)) -> Outcome {
    let (name, labels) = (args.text(0)?, strings(args, 1)?);
    // Errors depend on the arguments alone, so that a match replays in the same way without metrics.
    check(name, &labels)?;
    if let Some(metrics) = state.metrics() {
        record(metrics, name, &labels);
    }
    Ok(Vec::new())
}
