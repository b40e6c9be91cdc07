//! Time, schedules, ids, JSON, random bytes and files.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use crate::vm::{VmKind, VmState};
use aether_services::leaderboard::Schedule;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use uuid::Uuid;

/// Most random bytes of one call. A key or a token has far fewer.
pub(crate) const RANDOM_BYTES_MAX: i64 = 4_096;
/// Most bytes of a file: as much as the text of a module.
pub(crate) const FILE_BYTES_MAX: u64 = 1 << 20;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type UtilityDate = {
    year: number,
    month: number,
    day: number,
    hour: number?,
    min: number?,
    sec: number?,
    msec: number?,
}
";

const EXPRESSION: Parameter =
    required("expression", "string", "Minute, hour, day of month, month and day of week, such as `0 0 * * 1`.");
const TIMESTAMP: Parameter = required("timestamp", "number", "Time in seconds since 1970.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::local("time", time)
        .about(
            "Returns the time in milliseconds since 1970: that of the server, or of the room in a match. With a table, \
             returns the time of a date in UTC.",
        )
        .parameters(&[optional("tbl", "UtilityDate", "Date; the hour is 12 if it is left out.")])
        .returns("number"),
    Function::local("cron_next", |_, args| {
        let (schedule, seconds) = schedule(&args)?;
        Ok(vec![schedule.next_after(seconds).into()])
    })
    .about("Returns the first time of a schedule after a time, in seconds since 1970.")
    .parameters(&[EXPRESSION, TIMESTAMP])
    .returns("number?"),
    Function::local("cron_prev", |_, args| {
        let (schedule, seconds) = schedule(&args)?;
        Ok(vec![schedule.last_until(seconds.saturating_sub(1)).into()])
    })
    .about("Returns the last time of a schedule before a time, in seconds since 1970.")
    .parameters(&[EXPRESSION, TIMESTAMP])
    .returns("number?"),
    Function::local("uuid_v4", |state, _| {
        let bytes = random_bytes(state, 16);
        let bytes: [u8; 16] = bytes.try_into().unwrap_or_default();
        let id = uuid::Builder::from_random_bytes(bytes).into_uuid();
        Ok(vec![Value::from(id.to_string())])
    })
    .about("Returns a random id. In a match it comes from the random numbers of the room, so that the match replays.")
    .returns("string"),
    Function::local("uuid_bytes_to_string", |_, args| {
        let id = Uuid::from_slice(args.bytes(0)?).map_err(|_| args.expected(0, "a string of 16 bytes"))?;
        Ok(vec![Value::from(id.to_string())])
    })
    .about("Returns the text of an id.")
    .parameters(&[required("uuidBytes", "string", "The 16 bytes of the id.")])
    .returns("string"),
    Function::local("uuid_string_to_bytes", |_, args| Ok(vec![Value::from(args.id(0)?.as_bytes().to_vec())]))
        .about("Returns the 16 bytes of an id.")
        .parameters(&[required("uuidString", "string", "Text of the id.")])
        .returns("string"),
    Function::local("json_encode", |_, args| Ok(vec![Value::from(args.value(0).to_json().to_string())]))
        .about("Returns the JSON text of a value.")
        .parameters(&[required("value", "any", "Value without functions.")])
        .returns("string"),
    Function::local("json_decode", |_, args| {
        let json = serde_json::from_slice(args.bytes(0)?);
        let json = json.map_err(|error| ScriptError::invalid(format!("the text is no JSON: {error}")))?;
        Ok(vec![Value::from_json(&json)])
    })
    .about("Returns the value of a JSON text.")
    .parameters(&[required("jsonString", "string", "JSON text.")])
    .returns("any"),
    Function::local("secure_random_bytes", |state, args| {
        let count = args.integer(0)?;
        let count = usize::try_from(count).ok().filter(|_| (0..=RANDOM_BYTES_MAX).contains(&count));
        let count = count.ok_or_else(|| args.expected(0, &format!("a number from 0 to {RANDOM_BYTES_MAX}")))?;
        Ok(vec![Value::from(random_bytes(state, count))])
    })
    .about(
        "Returns random bytes that nobody can predict. In a match they come from the random numbers of the room, so that \
         the match replays: there they are no secrets.",
    )
    .parameters(&[required("count", "number", "Number of bytes, 0 to 4,096.")])
    .returns("string"),
    Function::service("file_read", |used, args| Box::pin(read_file(used, args)))
        .about("Returns the content of a file in the folder of the modules.")
        .parameters(&[required("relPath", "string", "Path relative to the folder, without `..`.")])
        .returns("string"),
];

/// Returns random bytes: those of the system, or of the room in a match.
pub(super) fn random_bytes(state: &VmState, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    if state.kind == VmKind::Call {
        getrandom::fill(&mut bytes).expect("the system provides random numbers");
        return bytes;
    }
    let mut random = state.random();
    for part in bytes.chunks_mut(8) {
        part.copy_from_slice(&random.bits().to_le_bytes()[..part.len()]);
    }
    bytes
}

fn time(state: &Arc<VmState>, args: Arguments) -> Outcome {
    let Some(_) = args.optional_map(0)? else { return Ok(vec![Value::from(state.now_ms())]) };
    let field = |name: &str, default: Option<i64>| match args.value(0).get(name) {
        Value::Nil => default.ok_or_else(|| args.expected(0, &format!("a table with {name}"))),
        given => {
            let whole = given.as_integer().filter(|number| number.abs() <= 1_000_000_000);
            whole.ok_or_else(|| args.expected(0, &format!("{name} to be a whole number")))
        }
    };
    let (year, month, day) = (field("year", None)?, field("month", None)?, field("day", None)?);
    let (hour, minute) = (field("hour", Some(12))?, field("min", Some(0))?);
    let (second, ms) = (field("sec", Some(0))?, field("msec", Some(0))?);
    let days = days_since_1970(year, month, day);
    let seconds = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Ok(vec![Value::Number(seconds as f64 * 1_000.0 + ms as f64)])
}

/// Returns the days from 1970 to a date of the Gregorian calendar. Months and days out of range count on.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let months = year * 12 + month - 3;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12));
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days_in_year = (month * 153 + 2) / 5;
    // Days from the first of March of the year 0 to 1970.
    const EPOCH: i64 = 719_468;
    year * 365 + leap_days + days_in_year + day - 1 - EPOCH
}

fn schedule(args: &Arguments) -> Result<(Schedule, i64), ScriptError> {
    let seconds = args.integer(1)?;
    Ok((Schedule::parse(args.text(0)?, seconds)?, seconds))
}

async fn read_file(used: ScriptServices, args: Arguments) -> Outcome {
    let relative = PathBuf::from(args.text(0)?);
    let is_inside = relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_inside || relative.as_os_str().is_empty() {
        return Err(args.expected(0, "a path inside the folder of the modules, without `..`"));
    }
    let folder = used.scripts.settings().folder.clone();
    let read = tokio::task::spawn_blocking(move || read_inside(&folder, &relative)).await;
    let read = read.map_err(|error| ScriptError::invalid(error.to_string()))?;
    let name = args.text(0)?;
    read.map(|bytes| vec![Value::from(bytes)])
        .map_err(|why| ScriptError::invalid(format!("file `{name:.200}` cannot be read: {why}")))
}

/// Reads a file, unless it is outside the folder through a link, or too large.
fn read_inside(folder: &Path, relative: &Path) -> Result<Vec<u8>, String> {
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let file = folder.join(relative).canonicalize().map_err(|error| error.to_string())?;
    if !file.starts_with(&folder) {
        return Err("it is a link to a place outside the folder of the modules".to_owned());
    }
    let about = std::fs::metadata(&file).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is not a file".to_owned());
    }
    if about.len() > FILE_BYTES_MAX {
        return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
    }
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(&file).map_err(|error| error.to_string())?;
    std::io::Read::read_to_end(&mut std::io::Read::take(opened, FILE_BYTES_MAX), &mut bytes)
        .map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sources;
    use crate::vm::{Step, Vm, VmSettings};
    use std::time::Duration;

    const RANDOM: &str = "local nk = require('nakama')
        local vector = nk.aes128_encrypt('a', string.rep('k', 16))
        return nk.uuid_v4() .. nk.base16_encode(nk.secure_random_bytes(20)) .. nk.base16_encode(vector)";

    fn random_text(kind: VmKind, seed: u64) -> Value {
        let sources = Sources::of([("module", RANDOM)]).expect("the name is free");
        let settings = VmSettings { kind, memory_max: 16 << 20, seed };
        let vm = Vm::new(Arc::new(sources), &settings).expect("the machine starts");
        match vm.require("module", Duration::from_secs(5)).expect("the module loads") {
            Step::Done(results) => vm.values(&results).expect("the result is a text").remove(0),
            Step::Suspended(_) => panic!("no function waits for the services"),
        }
    }

    #[test]
    fn random_values_of_a_match_come_from_its_seed_alone() {
        assert_eq!(random_text(VmKind::Match, 7), random_text(VmKind::Match, 7));
        assert_ne!(random_text(VmKind::Match, 7), random_text(VmKind::Match, 8));
        assert_ne!(random_text(VmKind::Call, 7), random_text(VmKind::Call, 7));
    }

    #[test]
    fn dates_are_counted_from_1970() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(2000, 2, 29), 11_016);
        assert_eq!(days_since_1970(2026, 11, 18), 20_775);
        assert_eq!(days_since_1970(2025, 13, 1), days_since_1970(2026, 1, 1));
        assert_eq!(days_since_1970(1969, 12, 31), -1);
    }
}
