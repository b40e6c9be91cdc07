//! Conversion between JSON and values of Lua without a step in between: payloads of hooks pass it in every call.

use crate::error::ScriptError;
use crate::value::{VALUE_BYTES_MAX, VALUE_DEPTH_MAX, json_number};
use mlua::{Lua, Table};
use serde_json::{Map, Value};

/// Converts JSON to Lua. Null entries of objects are left out, as tables cannot hold them.
pub(crate) fn json_to_lua(lua: &Lua, json: &Value) -> mlua::Result<mlua::Value> {
    Ok(match json {
        Value::Null => mlua::Value::Nil,
        Value::Bool(value) => mlua::Value::Boolean(*value),
        Value::Number(number) => mlua::Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => mlua::Value::String(lua.create_string(text)?),
        Value::Array(values) => {
            let table = lua.create_table_with_capacity(values.len(), 0)?;
            for (index, value) in values.iter().enumerate() {
                table.raw_seti(index + 1, json_to_lua(lua, value)?)?;
            }
            mlua::Value::Table(table)
        }
        Value::Object(entries) => {
            let table = lua.create_table_with_capacity(0, entries.len())?;
            for (key, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
                table.raw_set(key.as_str(), json_to_lua(lua, value)?)?;
            }
            mlua::Value::Table(table)
        }
    })
}

/// Converts a message that a hook returned. An empty table within it becomes null, the absent value of every field: Lua
/// does not tell an empty list from an empty object.
pub(crate) fn message_from_lua(table: &Table) -> Result<Value, ScriptError> {
    let mut bytes_left = VALUE_BYTES_MAX;
    match convert_table(table, 0, &mut bytes_left)? {
        Value::Null => Ok(Value::Object(Map::new())),
        message => Ok(message),
    }
}

fn convert(value: &mlua::Value, depth: usize, bytes_left: &mut usize) -> Result<Value, ScriptError> {
    if depth > VALUE_DEPTH_MAX {
        let sentence = format!("a table is nested more than {VALUE_DEPTH_MAX} deep; does it contain itself?");
        return Err(ScriptError::invalid(sentence));
    }
    take(bytes_left, 16)?;
    Ok(match value {
        mlua::Value::Nil => Value::Null,
        mlua::Value::Boolean(value) => Value::Bool(*value),
        mlua::Value::Integer(number) => json_number(*number as f64),
        mlua::Value::Number(number) => json_number(*number),
        mlua::Value::String(text) => {
            let bytes = text.as_bytes();
            take(bytes_left, bytes.len())?;
            let text = std::str::from_utf8(&bytes);
            Value::String(text.map_err(|_| ScriptError::invalid("a text of a message must be UTF-8"))?.to_owned())
        }
        mlua::Value::Table(table) => convert_table(table, depth, bytes_left)?,
        other => {
            let sentence = format!("a {} cannot be in a message; use tables, strings, numbers", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
    })
}

fn convert_table(table: &Table, depth: usize, bytes_left: &mut usize) -> Result<Value, ScriptError> {
    let length = table.raw_len();
    if length == 0 {
        return convert_object(table, depth, bytes_left);
    }
    take(bytes_left, length.saturating_mul(16))?;
    let mut values = Vec::with_capacity(length);
    let mut problem = None;
    let read = table.for_each(|key: mlua::Value, value: mlua::Value| {
        if key.as_usize() != Some(values.len() + 1) {
            problem = Some(None);
        } else if problem.is_none() {
            match convert(&value, depth + 1, bytes_left) {
                Ok(value) => values.push(value),
                Err(error) => problem = Some(Some(error)),
            }
        }
        Ok(())
    });
    read.map_err(|error| ScriptError::invalid(error.to_string()))?;
    match problem {
        None => Ok(Value::Array(values)),
        Some(Some(error)) => Err(error),
        // Not a list after all.
        Some(None) => convert_object(table, depth, bytes_left),
    }
}

fn convert_object(table: &Table, depth: usize, bytes_left: &mut usize) -> Result<Value, ScriptError> {
    let mut entries = Map::new();
    let mut problem = None;
    let read = table.for_each(|key: mlua::Value, value: mlua::Value| {
        if problem.is_none() {
            match convert_entry(&key, &value, depth, bytes_left) {
                Ok((key, value)) => drop(entries.insert(key, value)),
                Err(error) => problem = Some(error),
            }
        }
        Ok(())
    });
    read.map_err(|error| ScriptError::invalid(error.to_string()))?;
    match problem {
        Some(error) => Err(error),
        None if entries.is_empty() => Ok(Value::Null),
        None => Ok(Value::Object(entries)),
    }
}

fn convert_entry(
    key: &mlua::Value,
    value: &mlua::Value,
    depth: usize,
    bytes_left: &mut usize,
) -> Result<(String, Value), ScriptError> {
    let key = match key {
        mlua::Value::String(text) => text.to_string_lossy(),
        mlua::Value::Integer(number) => number.to_string(),
        mlua::Value::Number(number) => number.to_string(),
        other => {
            let sentence = format!("a {} cannot be a key of a message; use strings", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
    };
    take(bytes_left, key.len())?;
    Ok((key, convert(value, depth + 1, bytes_left)?))
}

fn take(bytes_left: &mut usize, bytes: usize) -> Result<(), ScriptError> {
    *bytes_left = bytes_left.checked_sub(bytes).ok_or_else(|| {
        ScriptError::invalid(format!("a message must have at most {VALUE_BYTES_MAX} bytes; return less"))
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn evaluated(text: &str) -> Result<Value, ScriptError> {
        let lua = Lua::new();
        let table: Table = lua.load(text).eval().expect("the text is a table");
        message_from_lua(&table)
    }

    #[test]
    fn json_passes_through_lua_unchanged() {
        let lua = Lua::new();
        let message = json!({ "a": [1, 2.5, "x", [true]], "b": { "c": "ü", "d": -7 }, "12": false });
        let mlua::Value::Table(table) = json_to_lua(&lua, &message).expect("it is converted") else {
            panic!("an object is a table")
        };
        assert_eq!(message_from_lua(&table), Ok(message));
    }

    #[test]
    fn empty_tables_are_absent_and_mixed_ones_are_objects() {
        assert_eq!(evaluated("{}"), Ok(json!({})));
        assert_eq!(evaluated("{ a = {}, b = { {} } }"), Ok(json!({ "a": null, "b": [null] })));
        assert_eq!(evaluated("{ 1, 2, x = 3 }"), Ok(json!({ "1": 1, "2": 2, "x": 3 })));
    }

    #[test]
    fn what_json_cannot_hold_is_refused() {
        for text in [
            "{ a = print }",
            "{ [true] = 1 }",
            "{ a = '\\255' }",
            "(function() local t = {}; t.t = t; return t end)()",
            "{ { { print } } }",
            "{ ('x'):rep(9000000) }",
        ] {
            assert!(evaluated(text).is_err(), "{text}");
        }
    }
}
