//! One value of one row, on its way between a database and a line.

use crate::error::StoreError;
use crate::row::SqlRow;
use crate::value::SqlValue;
use serde_json::Value as Json;
use std::fmt::Write as _;
use uuid::Uuid;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    Integer,
    Real,
    Text,
    Bytes,
    Uuid,
}

/// A value.
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

impl Kind {
    /// By what a database says of a column.
    pub fn declared(name: &str) -> Option<Kind> {
        Some(match name.to_ascii_lowercase().as_str() {
            "boolean" => Kind::Boolean,
            "bigint" => Kind::Integer,
            "double precision" => Kind::Real,
            "text" => Kind::Text,
            "blob" | "bytea" => Kind::Bytes,
            "uuid" => Kind::Uuid,
            _ => return None,
        })
    }

    /// What it is called in a backup.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Real => "real",
            Kind::Text => "text",
            Kind::Bytes => "bytes",
            Kind::Uuid => "uuid",
        }
    }

    /// Reads a column of a row.
    pub fn read(self, row: &SqlRow<'_>, index: usize) -> Result<Cell, StoreError> {
        Ok(match self {
            Kind::Boolean => row.get::<Option<bool>>(index)?.map_or(Cell::Null, Cell::Boolean),
            Kind::Integer => row.get::<Option<i64>>(index)?.map_or(Cell::Null, Cell::Integer),
            Kind::Real => row.get::<Option<f64>>(index)?.map_or(Cell::Null, Cell::Real),
            Kind::Text => row.get::<Option<String>>(index)?.map_or(Cell::Null, Cell::Text),
            Kind::Bytes => row.get::<Option<Vec<u8>>>(index)?.map_or(Cell::Null, Cell::Bytes),
            Kind::Uuid => row.get::<Option<Uuid>>(index)?.map_or(Cell::Null, Cell::Uuid),
        })
    }

    /// Reads a value of a line, if it is one of this kind.
    pub fn parse(self, value: Json) -> Option<Cell> {
        Some(match (self, value) {
            (_, Json::Null) => Cell::Null,
            (Kind::Boolean, Json::Bool(value)) => Cell::Boolean(value),
            (Kind::Integer, Json::Number(value)) => Cell::Integer(value.as_i64()?),
            (Kind::Real, Json::String(value)) => Cell::Real(value.parse().ok()?),
            (Kind::Text, Json::String(value)) => Cell::Text(value),
            (Kind::Bytes, Json::String(value)) => Cell::Bytes(unhex(&value)?),
            (Kind::Uuid, Json::String(value)) => Cell::Uuid(value.parse().ok()?),
            _ => return None,
        })
    }
}

impl Cell {
    /// As it stands in a line. A number with a fraction is a text, so that it is read back to the last bit.
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

    /// As a parameter of a statement.
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

    /// About how much memory it takes.
    pub fn size(&self) -> usize {
        match self {
            Cell::Text(value) => value.len(),
            Cell::Bytes(value) => value.len(),
            _ => size_of::<Cell>(),
        }
    }
}

/// Bytes as hexadecimal digits.
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
    fn values_are_the_same_after_a_line() {
        let cells = [
            (Kind::Boolean, Cell::Boolean(true)),
            (Kind::Integer, Cell::Integer(i64::MIN)),
            (Kind::Integer, Cell::Integer(i64::MAX)),
            (Kind::Real, Cell::Real(0.1 + 0.2)),
            (Kind::Real, Cell::Real(f64::NEG_INFINITY)),
            (Kind::Text, Cell::Text("\u{1}\"\\\u{10FFFF}\n".to_owned())),
            (Kind::Bytes, Cell::Bytes((0..=255).collect())),
            (Kind::Uuid, Cell::Uuid(Uuid::from_u128(u128::MAX))),
            (Kind::Text, Cell::Null),
        ];
        for (kind, cell) in cells {
            let line = serde_json::to_string(&cell.clone().json()).unwrap();
            assert_eq!(kind.parse(serde_json::from_str(&line).unwrap()), Some(cell), "{line}");
        }
    }

    #[test]
    fn a_value_of_another_kind_is_none() {
        for (kind, text) in [
            (Kind::Boolean, "1"),
            (Kind::Integer, "1.5"),
            (Kind::Integer, "9223372036854775808"),
            (Kind::Real, "1"),
            (Kind::Text, "[]"),
            (Kind::Bytes, "\"abc\""),
            (Kind::Bytes, "\"zz\""),
            (Kind::Bytes, "\"é\""),
            (Kind::Uuid, "\"x\""),
        ] {
            assert_eq!(kind.parse(serde_json::from_str(text).unwrap()), None, "{text}");
        }
    }
}
