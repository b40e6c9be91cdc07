//! docs/how-to/watch.md lists every metric and every kind of room event, and no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../../../../docs/how-to/watch.md");
/// Crates whose metrics a server has.
const CRATES: [&str; 7] = ["api", "net", "rooms", "script", "server", "services", "store"];
/// Names in quotes that are no metrics: a log target.
const OTHERS: [&str; 1] = ["aether_audit"];

#[test]
fn every_metric_is_listed() {
    let mut metrics = BTreeSet::new();
    for name in CRATES {
        for file in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src")) {
            let source = fs::read_to_string(&file).expect("a source file can be read");
            let code = source.split("#[cfg(test)]").next().unwrap_or_default();
            metrics.extend(quoted_names(code).map(str::to_owned));
        }
    }
    for other in OTHERS {
        metrics.remove(other);
    }
    let columns = rows().into_iter().filter(|row| row.starts_with("| `aether_"));
    let listed = columns.flat_map(first_column).map(str::to_owned);
    assert_eq!(listed.collect::<BTreeSet<_>>(), metrics);
}

#[test]
fn every_kind_of_room_event_is_listed() {
    let kinds = aether_engine::RoomCounts::default();
    // Interest queries have a metric of their own.
    let kinds: BTreeSet<&str> = kinds.each().map(|(kind, _)| kind).filter(|kind| *kind != "interest_queries").collect();
    let table = PAGE.split("\n\n").find(|part| part.starts_with("| kind |")).expect("there is a table of kinds");
    let listed = table.lines().filter(|line| line.starts_with("| `")).flat_map(first_column);
    assert_eq!(listed.collect::<BTreeSet<_>>(), kinds);
}

/// Returns the source files below a folder, without the list of old metric names.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let files = paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    files.filter(|file| !file.ends_with("old_metrics.rs")).collect()
}

/// Returns the names of our own between quotes.
fn quoted_names(code: &str) -> impl Iterator<Item = &str> {
    let is_name =
        |text: &&str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    code.split('"').filter(|text| text.starts_with("aether_")).filter(is_name)
}

fn rows() -> Vec<&'static str> {
    PAGE.lines().filter(|line| line.starts_with("| `")).collect()
}

/// Returns the names in the first column of a row.
fn first_column(row: &str) -> impl Iterator<Item = &str> {
    let column = row.trim_start_matches("| ").split(" | ").next().unwrap_or_default();
    column.split(", ").map(|name| name.trim_matches('`'))
}
