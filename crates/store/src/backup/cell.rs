//! Values of rows, converted between database and JSON.

use crate::error::StoreError;
use crate::row::SqlRow;
use crate::value::SqlValue;
use serde_json::Value as Json;
use std::fmt::Write as _;
use uuid::Uuid;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Boolean,
    Integer,
    Real,
    Text,
    Bytes,
    Uuid,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Boolean(bool),
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    Uuid(Uuid),
}

impl ColumnKind {
    /// Returns the kind for a column type of either database.
    pub fn from_declared(name: &str) -> Option<ColumnKind> {
        Some(match name.to_ascii_lowercase().as_str() {
            "boolean" => ColumnKind::Boolean,
            "bigint" => ColumnKind::Integer,
            "double precision" => ColumnKind::Real,
            "text" => ColumnKind::Text,
            "blob" | "bytea" => ColumnKind::Bytes,
            "uuid" => ColumnKind::Uuid,
            _ => return None,
        })
    }

    /// Returns the name in a backup.
    pub fn name(self) -> &'static str {
        match self {
            ColumnKind::Boolean => "boolean",
            ColumnKind::Integer => "integer",
            ColumnKind::Real => "real",
            ColumnKind::Text => "text",
            ColumnKind::Bytes => "bytes",
            ColumnKind::Uuid => "uuid",
        }
    }

    /// Reads a column of a row.
    pub fn read(self, row: &SqlRow<'_>, index: usize) -> Result<Cell, StoreError> {
        Ok(match self {
            ColumnKind::Boolean => row.get::<Option<bool>>(index)?.map_or(Cell::Null, Cell::Boolean),
            ColumnKind::Integer => row.get::<Option<i64>>(index)?.map_or(Cell::Null, Cell::Integer),
            ColumnKind::Real => row.get::<Option<f64>>(index)?.map_or(Cell::Null, Cell::Real),
            ColumnKind::Text => row.get::<Option<String>>(index)?.map_or(Cell::Null, Cell::Text),
            ColumnKind::Bytes => row.get::<Option<Vec<u8>>>(index)?.map_or(Cell::Null, Cell::Bytes),
            ColumnKind::Uuid => row.get::<Option<Uuid>>(index)?.map_or(Cell::Null, Cell::Uuid),
        })
    }

    /// Parses a JSON value. Returns `None` if it has another kind.
    pub fn parse(self, value: Json) -> Option<Cell> {
        Some(match (self, value) {
            (_, Json::Null) => Cell::Null,
            (ColumnKind::Boolean, Json::Bool(value)) => Cell::Boolean(value),
            (ColumnKind::Integer, Json::Number(value)) => Cell::Integer(value.as_i64()?),
            (ColumnKind::Real, Json::String(value)) => Cell::Real(value.parse().ok()?),
            (ColumnKind::Text, Json::String(value)) => Cell::Text(value),
            (ColumnKind::Bytes, Json::String(value)) => Cell::Bytes(unhex(&value)?),
            (ColumnKind::Uuid, Json::String(value)) => Cell::Uuid(value.parse().ok()?),
            _ => return None,
        })
    }
}

impl Cell {
    /// Converts the value to JSON. A number with a fraction becomes a string, so that it is restored exactly.
    pub fn json(self) -> Json {
        match self {
            Cell::Null => Json::Null,
            Cell::Boolean(value) => Json::Bool(value),
            Cell::Integer(value) => Json::from(value),
            Cell::Real(value) => Json::String(format!("{value:?}")),
            Cell::Text(value) => Json::String(value),
            Cell::Bytes(value) => Json::String(hex(&value)),
            Cell::Uuid(value) => Json::String(value.to_string()),
        }
    }

    /// Returns the value as a parameter of a statement.
    pub fn value(&self) -> SqlValue<'_> {
        match self {
            Cell::Null => SqlValue::Null,
            Cell::Boolean(value) => SqlValue::Boolean(*value),
            Cell::Integer(value) => SqlValue::Integer(*value),
            Cell::Real(value) => SqlValue::Real(*value),
            Cell::Text(value) => SqlValue::Text(value),
            Cell::Bytes(value) => SqlValue::Bytes(value),
            Cell::Uuid(value) => SqlValue::Uuid(*value),
        }
    }

    /// Returns the approximate size in memory.
    pub fn size(&self) -> usize {
        match self {
            Cell::Text(value) => value.len(),
            Cell::Bytes(value) => value.len(),
            _ => size_of::<Cell>(),
        }
    }
}

/// Formats bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_a_round_trip_through_json() {
        let cells = [
            (ColumnKind::Boolean, Cell::Boolean(true)),
            (ColumnKind::Integer, Cell::Integer(i64::MIN)),
            (ColumnKind::Integer, Cell::Integer(i64::MAX)),
            (ColumnKind::Real, Cell::Real(0.1 + 0.2)),
            (ColumnKind::Real, Cell::Real(f64::NEG_INFINITY)),
            (ColumnKind::Text, Cell::Text("\u{1}\"\\\u{10FFFF}\n".to_owned())),
            (ColumnKind::Bytes, Cell::Bytes((0..=255).collect())),
            (ColumnKind::Uuid, Cell::Uuid(Uuid::from_u128(u128::MAX))),
            (ColumnKind::Text, Cell::Null),
        ];
        for (kind, cell) in cells {
            let line = serde_json::to_string(&cell.clone().json()).unwrap();
            assert_eq!(kind.parse(serde_json::from_str(&line).unwrap()), Some(cell), "{line}");
        }
    }

    #[test]
    fn a_value_of_another_kind_is_rejected() {
        for (kind, text) in [
            (ColumnKind::Boolean, "1"),
            (ColumnKind::Integer, "1.5"),
            (ColumnKind::Integer, "9223372036854775808"),
            (ColumnKind::Real, "1"),
            (ColumnKind::Text, "[]"),
            (ColumnKind::Bytes, "\"abc\""),
            (ColumnKind::Bytes, "\"zz\""),
            (ColumnKind::Bytes, "\"é\""),
            (ColumnKind::Uuid, "\"x\""),
        ] {
            assert_eq!(kind.parse(serde_json::from_str(text).unwrap()), None, "{text}");
        }
    }
}
