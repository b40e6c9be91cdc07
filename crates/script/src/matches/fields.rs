//! Conversion between values of Lua and fields of records.
//!
//! A vector is a list of numbers in Lua, a choice is its name, a nested record is a table by field names. Errors name the
//! record and the field.

use aether_bits::runtime::{DynamicValue, FieldHandle, Record, RecordMut, RecordType, ValueError};
use aether_bits::{FieldKind, SchemaValue};
use mlua::{Lua, Table, Value};

/// Most numbers of a vector.
const VECTOR_LEN_MAX: usize = 4;
/// Deepest nesting of a value that is converted. A schema allows less.
const DEPTH_MAX: u32 = 6;

/// Field of a record type, found by name.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub record: &'a RecordType,
    pub handle: FieldHandle,
    /// Packing; none if the field is private.
    pub kind: Option<&'a FieldKind>,
}

impl<'a> Field<'a> {
    /// Finds a field by name.
    pub fn find(record: &'a RecordType, name: &str) -> mlua::Result<Field<'a>> {
        let handle = record.field(name).map_err(|error| refused(record, &error))?;
        let kind = record.fields().iter().find(|field| field.name == name).map(|field| &field.kind);
        Ok(Field { record, handle, kind })
    }

    /// Number of numbers that the field takes in a column: those of a vector, else one.
    pub fn width(&self) -> usize {
        match self.kind {
            Some(FieldKind::Number { len, .. }) => usize::from(*len),
            Some(FieldKind::Rotation { .. }) => 4,
            Some(FieldKind::UnitVector { .. }) => 3,
            _ => 1,
        }
    }

    /// Returns the value as Lua has it.
    pub fn get(&self, lua: &Lua, record: &Record) -> mlua::Result<Value> {
        match self.kind {
            Some(kind) => record.get(self.handle).map_or(Ok(Value::Nil), |value| to_lua(lua, kind, value)),
            None => record.private(self.handle).map_or(Ok(Value::Nil), |value| private_to_lua(lua, value)),
        }
    }

    /// Sets the field.
    pub fn set(&self, record: &mut RecordMut<'_>, value: &Value) -> mlua::Result<()> {
        let outcome = match (self.kind, value) {
            (Some(FieldKind::Whole { .. }), Value::Integer(number)) => record.set_whole(self.handle, *number),
            (Some(FieldKind::Whole { .. }), Value::Number(number)) if number.fract() == 0.0 => {
                record.set_whole(self.handle, *number as i64)
            }
            (Some(FieldKind::Number { len: 1, .. } | FieldKind::Angle { .. }), Value::Number(number)) => {
                record.set_number(self.handle, *number)
            }
            (Some(FieldKind::Number { len: 1, .. } | FieldKind::Angle { .. }), Value::Integer(number)) => {
                record.set_number(self.handle, *number as f64)
            }
            (Some(FieldKind::Flag), Value::Boolean(flag)) => record.set_flag(self.handle, *flag),
            (Some(FieldKind::Number { .. }), Value::Table(table)) => return self.set_vector(record, table),
            _ => record.set(self.handle, &dynamic(value, 0).map_err(|text| self.wrong(&text))?),
        };
        outcome.map_err(|error| refused(self.record, &error))
    }

    /// Sets a vector, or any other field of numbers, without a table.
    pub fn set_numbers(&self, record: &mut RecordMut<'_>, numbers: &[f32]) -> mlua::Result<()> {
        let outcome = match (self.kind, numbers) {
            (Some(FieldKind::Whole { .. }), [number]) if number.fract() == 0.0 => {
                record.set_whole(self.handle, *number as i64)
            }
            (Some(FieldKind::Flag), [number]) => record.set_flag(self.handle, *number != 0.0),
            (None, [number]) => record.set_number(self.handle, f64::from(*number)),
            _ => record.set_numbers(self.handle, numbers),
        };
        outcome.map_err(|error| refused(self.record, &error))
    }

    fn set_vector(&self, record: &mut RecordMut<'_>, table: &Table) -> mlua::Result<()> {
        let mut numbers = [0.0; VECTOR_LEN_MAX];
        let len = table.raw_len();
        if len > VECTOR_LEN_MAX {
            return Err(self.wrong(&format!("a list of {len} values")));
        }
        for (index, number) in numbers.iter_mut().enumerate().take(len) {
            match table.raw_get::<Value>(index + 1)? {
                Value::Number(value) => *number = value as f32,
                Value::Integer(value) => *number = value as f32,
                other => return Err(self.wrong(&format!("a list with a {}", other.type_name()))),
            }
        }
        self.set_numbers(record, &numbers[..len])
    }

    fn wrong(&self, found: &str) -> mlua::Error {
        let name = self.name();
        mlua::Error::runtime(format!("`{}.{name}` cannot be set to {found}", self.record.name()))
    }

    /// Returns the name of the field.
    pub fn name(&self) -> String {
        let fields = self.record.fields().iter().map(|field| field.name.as_str());
        let is_this = |name: &&str| self.record.field(name).is_ok_and(|handle| handle == self.handle);
        fields.clone().find(is_this).unwrap_or("a private field").to_owned()
    }
}

/// Sets the fields of a table.
pub(super) fn set_fields(record: &mut RecordMut<'_>, record_type: &RecordType, table: &Table) -> mlua::Result<()> {
    for pair in table.pairs::<mlua::LuaString, Value>() {
        let (name, value) = pair?;
        Field::find(record_type, &name.to_str()?)?.set(record, &value)?;
    }
    Ok(())
}

/// Builds a record from a table. Absent fields have their initial value.
pub(super) fn to_record(record_type: &RecordType, table: &Table) -> mlua::Result<Record> {
    let mut record = record_type.initial();
    set_fields(&mut record_type.edit(&mut record), record_type, table)?;
    Ok(record)
}

/// Returns the fields of a record by name.
pub(super) fn to_table(lua: &Lua, record_type: &RecordType, record: &Record) -> mlua::Result<Table> {
    let SchemaValue::List(values) = record.value() else { return lua.create_table() };
    let table = lua.create_table_with_capacity(0, values.len())?;
    for (field, value) in record_type.fields().iter().zip(values) {
        table.raw_set(field.name.as_str(), to_lua(lua, &field.kind, value)?)?;
    }
    if let DynamicValue::Record(all) = record_type.present(record)
        && all.len() > values.len()
    {
        for (name, value) in &all[values.len()..] {
            table.raw_set(name.as_str(), private_to_lua(lua, value)?)?;
        }
    }
    Ok(table)
}

fn to_lua(lua: &Lua, kind: &FieldKind, value: &SchemaValue) -> mlua::Result<Value> {
    Ok(match (kind, value) {
        (_, SchemaValue::Flag(flag)) => Value::Boolean(*flag),
        (_, SchemaValue::Whole(whole)) => Value::Number(*whole as f64),
        (_, SchemaValue::Text(text)) => Value::String(lua.create_string(text)?),
        (_, SchemaValue::Numbers(numbers)) => match numbers.as_slice() {
            [number] => Value::Number(f64::from(*number)),
            all => Value::Table(lua.create_sequence_from(all.iter().map(|number| f64::from(*number)))?),
        },
        (FieldKind::Choice { names }, SchemaValue::Choice(choice)) => {
            let name = names.get(*choice as usize).map_or("", String::as_str);
            Value::String(lua.create_string(name)?)
        }
        (FieldKind::List { element, .. }, SchemaValue::List(values)) => {
            let table = lua.create_table_with_capacity(values.len(), 0)?;
            for (index, value) in values.iter().enumerate() {
                table.raw_set(index + 1, to_lua(lua, element, value)?)?;
            }
            Value::Table(table)
        }
        (FieldKind::Record { fields }, SchemaValue::List(values)) => {
            let table = lua.create_table_with_capacity(0, values.len())?;
            for (field, value) in fields.iter().zip(values) {
                table.raw_set(field.name.as_str(), to_lua(lua, &field.kind, value)?)?;
            }
            Value::Table(table)
        }
        _ => Value::Nil,
    })
}

fn private_to_lua(lua: &Lua, value: &DynamicValue) -> mlua::Result<Value> {
    Ok(match value {
        DynamicValue::Flag(flag) => Value::Boolean(*flag),
        DynamicValue::Whole(whole) => Value::Number(*whole as f64),
        DynamicValue::Number(number) => Value::Number(*number),
        DynamicValue::Text(text) => Value::String(lua.create_string(text)?),
        DynamicValue::List(values) => {
            let table = lua.create_table_with_capacity(values.len(), 0)?;
            for (index, value) in values.iter().enumerate() {
                table.raw_set(index + 1, private_to_lua(lua, value)?)?;
            }
            Value::Table(table)
        }
        DynamicValue::Record(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, value) in fields {
                table.raw_set(name.as_str(), private_to_lua(lua, value)?)?;
            }
            Value::Table(table)
        }
    })
}

/// Converts a value of any type; an error says what it is.
fn dynamic(value: &Value, depth: u32) -> Result<DynamicValue, String> {
    if depth > DEPTH_MAX {
        return Err("a table that is nested too deeply".to_owned());
    }
    Ok(match value {
        Value::Boolean(flag) => DynamicValue::Flag(*flag),
        Value::Integer(number) => DynamicValue::Number(*number as f64),
        Value::Number(number) => DynamicValue::Number(*number),
        Value::String(text) => DynamicValue::Text(text.to_string_lossy()),
        Value::Table(table) => {
            let unreadable = |error: mlua::Error| error.to_string();
            let len = table.raw_len();
            if len > 0 || table.is_empty() {
                let values = table.sequence_values::<Value>();
                let list = values.map(|value| dynamic(&value.map_err(unreadable)?, depth + 1));
                return Ok(DynamicValue::List(list.collect::<Result<_, _>>()?));
            }
            let mut fields = Vec::new();
            for pair in table.pairs::<String, Value>() {
                let (name, value) = pair.map_err(unreadable)?;
                fields.push((name, dynamic(&value, depth + 1)?));
            }
            DynamicValue::Record(fields)
        }
        other => return Err(format!("a {}", other.type_name())),
    })
}

/// Returns the error of a value that does not fit, with the name of the record.
pub(super) fn refused(record: &RecordType, error: &ValueError) -> mlua::Error {
    mlua::Error::runtime(format!("{}: {error}", record.name()))
}
