//! [`Value`]: data that crosses the border between a script and the server.
//!
//! Arguments and answers of service calls, the state of a match in a checkpoint, and payloads of hooks are values. A value
//! has a JSON form and a byte form. The byte form of equal values is equal, so hashes and recordings can use it:
//!
//! ```text
//! value  = 0 nil · 1 false · 2 true · 3 number (8 bytes, little-endian IEEE 754)
//!        · 4 text (length · bytes) · 5 list (count · value × count) · 6 map (count · (key · value) × count, sorted)
//! key    = a value that is a boolean, a number or a text
//! length and count are little-endian base-128 varints
//! ```

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use uuid::Uuid;

/// Deepest nesting of a value: deeper tables are refused, which also stops a table that contains itself.
pub const VALUE_DEPTH_MAX: usize = 64;
/// Most bytes that all texts and entries of one value take together.
pub const VALUE_BYTES_MAX: usize = 8 << 20;
/// Greatest whole number up to which all are exact.
const INTEGER_MAX: f64 = 9_007_199_254_740_992.0;
/// Bytes that a value counts for besides its text.
const VALUE_BYTES: usize = 16;

/// Data without functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Absent.
    #[default]
    Nil,
    /// True or false.
    Boolean(bool),
    /// Number. Scripts have no other kind; integers are exact up to 2^53.
    Number(f64),
    /// Text or bytes.
    Text(Vec<u8>),
    /// Values with the keys 1, 2, 3 and so on.
    List(Vec<Value>),
    /// Values by key. An empty table is an empty map.
    Map(Map),
}

/// Values by key.
pub type Map = BTreeMap<Key, Value>;

/// Key of a [`Map`].
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// True or false.
    Boolean(bool),
    /// Number that is not NaN.
    Number(f64),
    /// Text or bytes.
    Text(Vec<u8>),
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        match (self, other) {
            (Key::Boolean(one), Key::Boolean(other)) => one.cmp(other),
            (Key::Number(one), Key::Number(other)) => one.total_cmp(other),
            (Key::Text(one), Key::Text(other)) => one.cmp(other),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl Key {
    fn kind(&self) -> u8 {
        match self {
            Key::Boolean(_) => 0,
            Key::Number(_) => 1,
            Key::Text(_) => 2,
        }
    }

    /// Returns the key as text: that of a JSON object.
    #[must_use]
    pub fn to_text(&self) -> String {
        match self {
            Key::Boolean(value) => value.to_string(),
            Key::Number(number) => number.to_string(),
            Key::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        }
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Key {
        Key::Text(text.as_bytes().to_vec())
    }
}

/// Bytes that are no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidValue;

impl fmt::Display for InvalidValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are no value of a script; they may come from another version of the server")
    }
}

impl std::error::Error for InvalidValue {}

impl Value {
    /// Returns a map with the given entries. Entries whose value is nil are left out.
    #[must_use]
    pub fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
        let present = entries.into_iter().filter(|(_, value)| *value != Value::Nil);
        Value::Map(present.map(|(key, value)| (Key::from(key), value)).collect())
    }

    /// Returns a list.
    #[must_use]
    pub fn list(values: impl IntoIterator<Item = Value>) -> Value {
        Value::List(values.into_iter().collect())
    }

    /// Returns the text, if the value is a text in UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Returns the entry of a map with a key, or nil.
    #[must_use]
    pub fn get(&self, key: &str) -> &Value {
        match self {
            Value::Map(map) => map.get(&Key::from(key)).unwrap_or(&Value::Nil),
            _ => &Value::Nil,
        }
    }

    /// Returns the number of values in a list or map.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Value::List(values) => values.len(),
            Value::Map(map) => map.len(),
            _ => 0,
        }
    }

    /// Returns true if the value has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name of the value's type, as scripts know it.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Boolean(_) => "boolean",
            Value::Number(_) => "number",
            Value::Text(_) => "string",
            Value::List(_) | Value::Map(_) => "table",
        }
    }

    /// Returns the bytes that the value counts for, to bound it.
    #[must_use]
    pub fn weight(&self) -> usize {
        VALUE_BYTES
            + match self {
                Value::Text(bytes) => bytes.len(),
                Value::List(values) => values.iter().map(Value::weight).sum(),
                Value::Map(map) => map.iter().map(|(key, value)| key.weight() + value.weight()).sum(),
                _ => 0,
            }
    }

    /// Returns the JSON form. Keys become text; bytes that are not UTF-8 become base64; a number without an exact JSON form
    /// becomes null.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Nil => serde_json::Value::Null,
            Value::Boolean(value) => (*value).into(),
            Value::Number(number) => json_number(*number),
            Value::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(_) => STANDARD.encode(bytes).into(),
            },
            Value::List(values) => values.iter().map(Value::to_json).collect(),
            Value::Map(map) => {
                let entries = map.iter().map(|(key, value)| (key.to_text(), value.to_json()));
                serde_json::Value::Object(entries.collect())
            }
        }
    }

    /// Returns the value of a JSON form. Null entries of objects are left out, as tables cannot hold them.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Value {
        match json {
            serde_json::Value::Null => Value::Nil,
            serde_json::Value::Bool(value) => Value::Boolean(*value),
            serde_json::Value::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Value::Text(text.as_bytes().to_vec()),
            serde_json::Value::Array(values) if values.is_empty() => Value::Map(Map::new()),
            serde_json::Value::Array(values) => Value::List(values.iter().map(Value::from_json).collect()),
            serde_json::Value::Object(entries) => {
                let present = entries.iter().filter(|(_, value)| !value.is_null());
                Value::Map(present.map(|(key, value)| (Key::from(key.as_str()), Value::from_json(value))).collect())
            }
        }
    }

    /// Returns the value of a JSON text; nil if it is none.
    #[must_use]
    pub fn from_json_text(text: &str) -> Value {
        serde_json::from_str(text).map_or(Value::Nil, |json| Value::from_json(&json))
    }

    /// Returns a time of the services, which is in milliseconds, as scripts get it: in whole seconds.
    #[must_use]
    pub fn seconds(ms: i64) -> Value {
        Value::from(ms.div_euclid(1_000))
    }

    /// Returns the cursor of a page; nil if it is empty.
    #[must_use]
    pub fn cursor(cursor: &str) -> Value {
        if cursor.is_empty() { Value::Nil } else { Value::from(cursor) }
    }

    /// Returns the whole number, if the value is one that is exact.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Number(number) if number.fract() == 0.0 && number.abs() <= INTEGER_MAX => Some(*number as i64),
            _ => None,
        }
    }

    /// Returns the id, if the value is one.
    #[must_use]
    pub fn as_id(&self) -> Option<Uuid> {
        self.as_str().and_then(|text| Uuid::try_parse(text).ok())
    }

    /// Returns the JSON text of a table with keys, or of an empty one.
    #[must_use]
    pub fn object_text(&self) -> Option<String> {
        matches!(self, Value::Map(_)).then(|| self.to_json().to_string())
    }

    /// Appends the byte form.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Value::Nil => bytes.push(0),
            Value::Boolean(value) => bytes.push(1 + u8::from(*value)),
            Value::Number(number) => write_number(*number, bytes),
            Value::Text(text) => write_text(text, bytes),
            Value::List(values) => {
                bytes.push(5);
                write_count(values.len(), bytes);
                values.iter().for_each(|value| value.write(bytes));
            }
            Value::Map(map) => {
                bytes.push(6);
                write_count(map.len(), bytes);
                for (key, value) in map {
                    key.write(bytes);
                    value.write(bytes);
                }
            }
        }
    }

    /// Returns the byte form.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Reads a byte form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Value, InvalidValue> {
        let mut reader = ValueReader { bytes };
        let value = reader.value(0)?;
        if reader.bytes.is_empty() { Ok(value) } else { Err(InvalidValue) }
    }
}

impl Key {
    fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Key::Boolean(value) => bytes.push(1 + u8::from(*value)),
            Key::Number(number) => write_number(*number, bytes),
            Key::Text(text) => write_text(text, bytes),
        }
    }

    fn weight(&self) -> usize {
        match self {
            Key::Text(bytes) => VALUE_BYTES + bytes.len(),
            _ => VALUE_BYTES,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into_bytes())
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Text(bytes)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Boolean(value)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Number(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number as f64)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Nil, Into::into)
    }
}

/// Returns an integer if the number is one: clients that expect an integer refuse `1.0`.
pub(crate) fn json_number(number: f64) -> serde_json::Value {
    if number.fract() == 0.0 && number.abs() <= INTEGER_MAX { (number as i64).into() } else { number.into() }
}

fn write_number(number: f64, bytes: &mut Vec<u8>) {
    bytes.push(3);
    // One form for both zeros and for all NaN, so that equal states have equal bytes.
    let number = if number == 0.0 { 0.0 } else { number };
    let bits = if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() };
    bytes.extend(bits.to_le_bytes());
}

fn write_text(text: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(4);
    write_count(text.len(), bytes);
    bytes.extend(text);
}

fn write_count(mut count: usize, bytes: &mut Vec<u8>) {
    while count >= 128 {
        bytes.push((count & 127) as u8 | 128);
        count >>= 7;
    }
    bytes.push(count as u8);
}

struct ValueReader<'a> {
    bytes: &'a [u8],
}

impl ValueReader<'_> {
    fn take(&mut self, count: usize) -> Result<&[u8], InvalidValue> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(InvalidValue)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, InvalidValue> {
        Ok(self.take(1)?[0])
    }

    fn count(&mut self) -> Result<usize, InvalidValue> {
        let mut count = 0_usize;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            count |= usize::from(byte & 127) << shift;
            if byte < 128 {
                // Every entry takes at least one byte, so a longer count is invalid before anything is allocated.
                return if count <= self.bytes.len() { Ok(count) } else { Err(InvalidValue) };
            }
        }
        Err(InvalidValue)
    }

    fn value(&mut self, depth: usize) -> Result<Value, InvalidValue> {
        if depth > VALUE_DEPTH_MAX {
            return Err(InvalidValue);
        }
        Ok(match self.byte()? {
            0 => Value::Nil,
            kind @ (1 | 2) => Value::Boolean(kind == 2),
            3 => Value::Number(self.number()?),
            4 => Value::Text(self.text()?),
            5 => {
                let count = self.count()?;
                Value::List((0..count).map(|_| self.value(depth + 1)).collect::<Result<_, _>>()?)
            }
            6 => {
                let count = self.count()?;
                let mut map = Map::new();
                for _ in 0..count {
                    let key = self.key()?;
                    map.insert(key, self.value(depth + 1)?);
                }
                Value::Map(map)
            }
            _ => return Err(InvalidValue),
        })
    }

    fn key(&mut self) -> Result<Key, InvalidValue> {
        match self.byte()? {
            kind @ (1 | 2) => Ok(Key::Boolean(kind == 2)),
            3 => Ok(Key::Number(self.number()?)),
            4 => Ok(Key::Text(self.text()?)),
            _ => Err(InvalidValue),
        }
    }

    fn number(&mut self) -> Result<f64, InvalidValue> {
        let bytes = self.take(8)?.try_into().map_err(|_| InvalidValue)?;
        Ok(f64::from_le_bytes(bytes))
    }

    fn text(&mut self) -> Result<Vec<u8>, InvalidValue> {
        let count = self.count()?;
        Ok(self.take(count)?.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Nil),
            any::<bool>().prop_map(Value::Boolean),
            (-1e12..1e12_f64).prop_map(Value::Number),
            proptest::collection::vec(any::<u8>(), 0..12).prop_map(Value::Text),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            let key = prop_oneof![
                any::<bool>().prop_map(Key::Boolean),
                (-1000..1000_i32).prop_map(|number| Key::Number(f64::from(number))),
                proptest::collection::vec(any::<u8>(), 0..6).prop_map(Key::Text),
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 1..6).prop_map(Value::List),
                proptest::collection::btree_map(key, inner, 0..6).prop_map(Value::Map),
            ]
        })
    }

    proptest! {
        #[test]
        fn bytes_restore_the_value(value in values()) {
            prop_assert_eq!(Value::from_bytes(&value.to_bytes()), Ok(value));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = Value::from_bytes(&bytes);
        }
    }

    #[test]
    fn a_length_beyond_the_bytes_is_refused_before_memory_is_taken() {
        assert_eq!(Value::from_bytes(&[5, 0xff, 0xff, 0xff, 0x7f]), Err(InvalidValue));
        let deep: Vec<u8> = [5, 1].repeat(VALUE_DEPTH_MAX + 2);
        assert_eq!(Value::from_bytes(&deep), Err(InvalidValue));
    }

    #[test]
    fn json_keeps_integers_and_leaves_nil_out() {
        let json = serde_json::json!({ "a": 1, "b": [1.5, "x"], "c": null });
        let value = Value::from_json(&json);
        assert_eq!(value.to_json(), serde_json::json!({ "a": 1, "b": [1.5, "x"] }));
        assert_eq!(value.get("c"), &Value::Nil);
    }
}
