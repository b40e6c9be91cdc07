//! WIRE_FORMAT.md lists every message, code and limit.

use aether_wire::{ClientMessage, CloseReason, DecodeError, ErrorCode, FragmentError, ServerMessage};

const TEXT: &str = include_str!("../../../../WIRE_FORMAT.md");
const LIMITS: &str = include_str!("../../src/limits.rs");

#[test]
fn every_message_is_in_its_table() {
    let (client, server) =
        TEXT.split_once("### Server to client").expect("the table of the server follows that of the client");
    for (number, name) in (1..).zip(ClientMessage::NAMES) {
        assert!(client.contains(&format!("| {number} | `{name}` |")), "client message {name}");
    }
    for (number, name) in (1..=8).chain(11..).zip(ServerMessage::NAMES) {
        assert!(server.contains(&format!("| {number} | `{name}` |")), "server message {name}");
    }
    let (table, _) = server.split_once("Codes are numbers").expect("a sentence about codes follows the table");
    for reserved in [9, 10] {
        assert!(!table.contains(&format!("| {reserved} | `")), "server message {reserved} is reserved");
    }
}

#[test]
fn every_code_is_in_its_table() {
    let (errors, reasons) = TEXT.split_once("### Close reasons").expect("close reasons follow error codes");
    for code in ErrorCode::ALL {
        let row = format!("| {} | `{}` |", code.number(), code.name());
        assert!(errors.contains(&row), "error code {row}");
    }
    for reason in CloseReason::ALL {
        let row = format!("| {} | `{}` |", reason.number(), reason.name());
        assert!(reasons.contains(&row), "close reason {row}");
    }
}

#[test]
fn every_label_is_listed() {
    for label in DecodeError::LABELS {
        assert!(TEXT.contains(&format!("`{label}`")), "decode error {label}");
    }
    for error in FragmentError::ALL {
        assert!(TEXT.contains(&format!("`{}`", error.label())), "fragment error {error:?}");
    }
}

#[test]
fn every_limit_is_in_its_table_with_its_value() {
    let mut limits = 0;
    for line in LIMITS.lines().filter_map(|line| line.strip_prefix("pub const ")) {
        let (name, value) = line.split_once(':').expect("a constant has a type");
        let value = value.split_once("= ").expect("a constant has a value").1.trim_end_matches(';');
        // The table has a computed value in another form.
        let row = if value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
            format!("| `{name}` | {} |", value.replace('_', ","))
        } else {
            format!("| `{name}` |")
        };
        assert!(TEXT.contains(&row), "limit {row}");
        limits += 1;
    }
    assert!(limits > 30, "only {limits} limits found");
}
