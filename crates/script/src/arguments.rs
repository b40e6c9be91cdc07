//! [`Arguments`]: arguments of a call, read with errors that name the parameter.

use crate::error::ScriptError;
use crate::function::Function;
use crate::value::{Map, Value};
use uuid::Uuid;

/// Most ids of one list.
pub(crate) const IDS_MAX: usize = 1_000;

/// Arguments of a call of a [`Function`].
#[derive(Clone)]
pub(crate) struct Arguments {
    function: &'static Function,
    values: Vec<Value>,
}

impl Arguments {
    pub fn new(function: &'static Function, values: Vec<Value>) -> Arguments {
        Arguments { function, values }
    }

    /// Returns an argument, or nil.
    pub fn value(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Nil)
    }

    /// Returns true if the argument is missing or nil.
    pub fn is_nil(&self, index: usize) -> bool {
        *self.value(index) == Value::Nil
    }

    /// Returns a text.
    pub fn text(&self, index: usize) -> Result<&str, ScriptError> {
        self.value(index).as_str().ok_or_else(|| self.expected(index, "a string"))
    }

    /// Returns a text, or none if it is nil or empty.
    pub fn optional_text(&self, index: usize) -> Result<Option<&str>, ScriptError> {
        if self.is_nil(index) { Ok(None) } else { Ok(Some(self.text(index)?).filter(|text| !text.is_empty())) }
    }

    /// Returns the bytes of a string.
    pub fn bytes(&self, index: usize) -> Result<&[u8], ScriptError> {
        match self.value(index) {
            Value::Text(bytes) => Ok(bytes),
            _ => Err(self.expected(index, "a string")),
        }
    }

    /// Returns a number.
    pub fn number(&self, index: usize) -> Result<f64, ScriptError> {
        match self.value(index) {
            Value::Number(number) if number.is_finite() => Ok(*number),
            _ => Err(self.expected(index, "a number")),
        }
    }

    /// Returns an integer.
    pub fn integer(&self, index: usize) -> Result<i64, ScriptError> {
        let number = self.number(index)?;
        if number.fract() != 0.0 || number.abs() > 9_007_199_254_740_992.0 {
            return Err(self.expected(index, "an integer"));
        }
        Ok(number as i64)
    }

    /// Returns an integer, or none if it is nil.
    pub fn optional_integer(&self, index: usize) -> Result<Option<i64>, ScriptError> {
        if self.is_nil(index) { Ok(None) } else { self.integer(index).map(Some) }
    }

    /// Returns a boolean, or a default if it is nil.
    pub fn boolean_or(&self, index: usize, default: bool) -> Result<bool, ScriptError> {
        match self.value(index) {
            Value::Nil => Ok(default),
            Value::Boolean(value) => Ok(*value),
            _ => Err(self.expected(index, "a boolean")),
        }
    }

    /// Returns an id of a user, group or the like.
    pub fn id(&self, index: usize) -> Result<Uuid, ScriptError> {
        let text = self.text(index)?;
        Uuid::try_parse(text).map_err(|_| self.expected(index, "an id (UUID)"))
    }

    /// Returns an id, or none if it is nil or empty.
    pub fn optional_id(&self, index: usize) -> Result<Option<Uuid>, ScriptError> {
        if self.optional_text(index)?.is_none() { Ok(None) } else { self.id(index).map(Some) }
    }

    /// Returns a list of ids.
    pub fn ids(&self, index: usize) -> Result<Vec<Uuid>, ScriptError> {
        let values = self.list(index)?;
        if values.len() > IDS_MAX {
            return Err(self.expected(index, &format!("at most {IDS_MAX} ids")));
        }
        let id = |value: &Value| value.as_str().and_then(|text| Uuid::try_parse(text).ok());
        values.iter().map(|value| id(value).ok_or_else(|| self.expected(index, "a list of ids (UUIDs)"))).collect()
    }

    /// Returns a list of texts.
    pub fn texts(&self, index: usize) -> Result<Vec<String>, ScriptError> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let texts = self.list(index)?.iter().map(text);
        texts.map(|text| text.ok_or_else(|| self.expected(index, "a list of strings"))).collect()
    }

    /// Returns a list; empty if it is nil or an empty table.
    pub fn list(&self, index: usize) -> Result<&[Value], ScriptError> {
        match self.value(index) {
            Value::List(values) => Ok(values),
            Value::Nil => Ok(&[]),
            Value::Map(map) if map.is_empty() => Ok(&[]),
            _ => Err(self.expected(index, "a list")),
        }
    }

    /// Returns a table with keys; none if it is nil.
    pub fn optional_map(&self, index: usize) -> Result<Option<&Map>, ScriptError> {
        match self.value(index) {
            Value::Nil => Ok(None),
            Value::Map(map) => Ok(Some(map)),
            _ => Err(self.expected(index, "a table")),
        }
    }

    /// Returns a table as a JSON object; none if it is nil.
    pub fn optional_object(&self, index: usize) -> Result<Option<serde_json::Value>, ScriptError> {
        Ok(self.optional_map(index)?.map(|_| self.value(index).to_json()))
    }

    /// Returns the JSON text of a table with keys; none if it is nil.
    pub fn optional_object_text(&self, index: usize) -> Result<Option<String>, ScriptError> {
        Ok(self.optional_map(index)?.map(|_| self.value(index).to_json().to_string()))
    }

    /// Returns the entries per page, from 1 to a maximum, which is also the default.
    pub fn limit(&self, index: usize, max: i32) -> Result<i32, ScriptError> {
        match self.optional_integer(index)? {
            None => Ok(max),
            Some(limit) => i32::try_from(limit)
                .ok()
                .filter(|limit| (1..=max).contains(limit))
                .ok_or_else(|| self.expected(index, &format!("a number from 1 to {max}"))),
        }
    }

    /// Returns a text that must not be empty.
    pub fn present_text(&self, index: usize) -> Result<&str, ScriptError> {
        self.optional_text(index)?.ok_or_else(|| self.expected(index, "a string that is not empty"))
    }

    /// Returns the error for an argument of another kind.
    pub fn expected(&self, index: usize, expected: &str) -> ScriptError {
        let name = self.function.parameters.get(index).map_or("?", |parameter| parameter.name);
        let found = match self.value(index) {
            Value::Text(bytes) => format!("`{:.40}`", String::from_utf8_lossy(bytes)),
            Value::Number(number) => format!("`{number}`"),
            other => other.type_name().to_owned(),
        };
        let function = self.function.name;
        ScriptError::invalid(format!(
            "argument {} (`{name}`) of `{function}`: expected {expected}, got {found}",
            index + 1
        ))
    }
}
