//! State of a match as data: for hashes, checkpoints, captures and reloads.

use crate::error::ScriptError;
use crate::value::{Key, Map, VALUE_BYTES_MAX, VALUE_DEPTH_MAX, Value};
use mlua::Table;

/// State of a match as data.
pub(crate) struct StateData {
    pub value: Value,
    /// True if nothing of the state was left out: it has no functions, coroutines or metatables.
    pub is_plain: bool,
}

/// Converts a state. Parts that are no data are left out, and the state is then not plain. Fails if the state is too deep or
/// too large.
pub(crate) fn read_state(state: &mlua::Value) -> Result<StateData, ScriptError> {
    let mut reader = StateReader { bytes_left: VALUE_BYTES_MAX, is_plain: true };
    let value = reader.value(state, 0)?;
    Ok(StateData { value: value.unwrap_or_default(), is_plain: reader.is_plain })
}

struct StateReader {
    bytes_left: usize,
    is_plain: bool,
}

impl StateReader {
    /// Returns none for a part that is no data.
    fn value(&mut self, value: &mlua::Value, depth: usize) -> Result<Option<Value>, ScriptError> {
        if depth > VALUE_DEPTH_MAX {
            let sentence = format!("the state is nested more than {VALUE_DEPTH_MAX} deep; does it contain itself?");
            return Err(ScriptError::invalid(sentence));
        }
        self.take(16)?;
        Ok(Some(match value {
            mlua::Value::Nil => Value::Nil,
            mlua::Value::Boolean(value) => Value::Boolean(*value),
            mlua::Value::Integer(number) => Value::Number(*number as f64),
            mlua::Value::Number(number) => Value::Number(*number),
            mlua::Value::String(text) => {
                let bytes = text.as_bytes().to_vec();
                self.take(bytes.len())?;
                Value::Text(bytes)
            }
            mlua::Value::Table(table) => self.table(table, depth)?,
            _ => {
                self.is_plain = false;
                return Ok(None);
            }
        }))
    }

    fn table(&mut self, table: &Table, depth: usize) -> Result<Value, ScriptError> {
        self.is_plain &= table.metatable().is_none();
        let mut map = Map::new();
        let mut failure = Ok(());
        let walked = table.for_each(|key: mlua::Value, value: mlua::Value| {
            if failure.is_ok() {
                failure = self.entry(&key, &value, depth, &mut map);
            }
            Ok(())
        });
        walked.map_err(|error| ScriptError::invalid(error.to_string()))?;
        failure?;
        Ok(into_list(map))
    }

    fn entry(
        &mut self,
        key: &mlua::Value,
        value: &mlua::Value,
        depth: usize,
        map: &mut Map,
    ) -> Result<(), ScriptError> {
        let key = match key {
            mlua::Value::Boolean(value) => Key::Boolean(*value),
            mlua::Value::Integer(number) => Key::Number(*number as f64),
            mlua::Value::Number(number) => Key::Number(*number),
            mlua::Value::String(text) => {
                self.take(16 + text.as_bytes().len())?;
                Key::Text(text.as_bytes().to_vec())
            }
            _ => {
                self.is_plain = false;
                return Ok(());
            }
        };
        if let Some(value) = self.value(value, depth + 1)? {
            map.insert(key, value);
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize) -> Result<(), ScriptError> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or_else(|| {
            ScriptError::invalid(format!("the state of a match must have at most {VALUE_BYTES_MAX} bytes"))
        })?;
        Ok(())
    }
}

/// Returns a list if the keys are 1 to n.
fn into_list(map: Map) -> Value {
    let is_list = !map.is_empty() && map.keys().zip(1..).all(|(key, number)| *key == Key::Number(f64::from(number)));
    if is_list { Value::List(map.into_values().collect()) } else { Value::Map(map) }
}
