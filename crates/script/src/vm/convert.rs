//! Conversion between values of Lua and [`Value`].

use crate::error::ScriptError;
use crate::value::{Key, Map, VALUE_BYTES_MAX, VALUE_DEPTH_MAX, Value};
use mlua::{Lua, Table};

/// Converts a value of Lua. A table with the keys 1 to n becomes a list, every other one a map. Functions, coroutines and
/// tables that contain themselves are refused.
pub(crate) fn from_lua(value: &mlua::Value) -> Result<Value, ScriptError> {
    let mut bytes_left = VALUE_BYTES_MAX;
    convert(value, 0, &mut bytes_left)
}

fn convert(value: &mlua::Value, depth: usize, bytes_left: &mut usize) -> Result<Value, ScriptError> {
    if depth > VALUE_DEPTH_MAX {
        let sentence = format!("a table is nested more than {VALUE_DEPTH_MAX} deep; does it contain itself?");
        return Err(ScriptError::invalid(sentence));
    }
    take(bytes_left, 16)?;
    Ok(match value {
        mlua::Value::Nil => Value::Nil,
        mlua::Value::Boolean(value) => Value::Boolean(*value),
        mlua::Value::Integer(number) => Value::Number(*number as f64),
        mlua::Value::Number(number) => Value::Number(*number),
        mlua::Value::String(text) => {
            let bytes = text.as_bytes().to_vec();
            take(bytes_left, bytes.len())?;
            Value::Text(bytes)
        }
        mlua::Value::Table(table) => convert_table(table, depth, bytes_left)?,
        other => {
            let sentence = format!("a {} cannot leave the script; pass tables, strings, numbers", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
    })
}

fn convert_table(table: &Table, depth: usize, bytes_left: &mut usize) -> Result<Value, ScriptError> {
    let length = table.raw_len();
    if length > 0 && count(table) == length {
        take(bytes_left, length.saturating_mul(16))?;
        let values = (1..=length).map(|index| {
            let value = table.raw_get::<mlua::Value>(index).unwrap_or(mlua::Value::Nil);
            convert(&value, depth + 1, bytes_left)
        });
        return Ok(Value::List(values.collect::<Result<_, _>>()?));
    }
    let mut map = Map::new();
    for pair in table.pairs::<mlua::Value, mlua::Value>() {
        let (key, value) = pair.map_err(|error| ScriptError::invalid(error.to_string()))?;
        let key = match key {
            mlua::Value::Boolean(value) => Key::Boolean(value),
            mlua::Value::Integer(number) => Key::Number(number as f64),
            mlua::Value::Number(number) => Key::Number(number),
            mlua::Value::String(text) => Key::Text(text.as_bytes().to_vec()),
            other => {
                let sentence = format!("a {} cannot be a key of a table that leaves the script", other.type_name());
                return Err(ScriptError::invalid(sentence));
            }
        };
        map.insert(key, convert(&value, depth + 1, bytes_left)?);
    }
    Ok(Value::Map(map))
}

fn count(table: &Table) -> usize {
    table.pairs::<mlua::Value, mlua::Value>().count()
}

fn take(bytes_left: &mut usize, bytes: usize) -> Result<(), ScriptError> {
    *bytes_left = bytes_left.checked_sub(bytes).ok_or_else(|| {
        ScriptError::invalid(format!("the data of one call must have at most {VALUE_BYTES_MAX} bytes; pass less"))
    })?;
    Ok(())
}

/// Converts a value to Lua.
pub(crate) fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<mlua::Value> {
    Ok(match value {
        Value::Nil => mlua::Value::Nil,
        Value::Boolean(value) => mlua::Value::Boolean(*value),
        Value::Number(number) => mlua::Value::Number(*number),
        Value::Text(bytes) => mlua::Value::String(lua.create_string(bytes)?),
        Value::List(values) => {
            let table = lua.create_table_with_capacity(values.len(), 0)?;
            for (index, value) in values.iter().enumerate() {
                table.raw_set(index + 1, to_lua(lua, value)?)?;
            }
            mlua::Value::Table(table)
        }
        Value::Map(map) => {
            let table = lua.create_table_with_capacity(0, map.len())?;
            for (key, value) in map {
                let key = match key {
                    Key::Boolean(value) => mlua::Value::Boolean(*value),
                    Key::Number(number) => mlua::Value::Number(*number),
                    Key::Text(bytes) => mlua::Value::String(lua.create_string(bytes)?),
                };
                table.raw_set(key, to_lua(lua, value)?)?;
            }
            mlua::Value::Table(table)
        }
    })
}
