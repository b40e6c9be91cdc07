//! docs/reference/codes.md lists every close reason and every error code, and no others.

use aether_wire::{CloseReason, ErrorCode};
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../docs/reference/codes.md");

#[test]
fn every_close_reason_is_listed() {
    let reasons = CloseReason::ALL.iter().filter(|reason| **reason != CloseReason::Unknown);
    assert_eq!(first_column(section("## Close reasons")), reasons.map(|reason| reason.name()).collect());
}

#[test]
fn every_close_reason_is_listed_with_its_websocket_code() {
    for reason in CloseReason::ALL.iter().filter(|reason| **reason != CloseReason::Unknown) {
        let code = if *reason == CloseReason::Left { 1000 } else { 4000 + reason.number() };
        assert!(PAGE.contains(&format!("| `{}` | {code}", reason.name())), "{reason} has the code {code}");
    }
}

#[test]
fn every_error_code_is_listed() {
    let codes = ErrorCode::ALL.iter().filter(|code| **code != ErrorCode::Unknown);
    assert_eq!(first_column(section("## Error codes")), codes.map(|code| code.name()).collect());
}

/// Returns the part of the page below a heading.
fn section(heading: &str) -> &'static str {
    let below = PAGE.split_once(heading).expect("the heading is there").1;
    below.split_once("\n## ").map_or(below, |(section, _)| section)
}

/// Returns the names in the first column of a section's tables.
fn first_column(section: &str) -> BTreeSet<&str> {
    let columns = section.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    columns.flat_map(|column| column.split(", ")).map(|name| name.trim_matches('`')).collect()
}
