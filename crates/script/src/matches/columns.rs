//! Bulk access to a field of all entities: one call instead of one per entity.

use super::fields::Field;
use super::room_call::RoomCall;
use super::world::{Call, number_of, one};
use aether_bits::SchemaValue;
use aether_bits::runtime::Record;
use mlua::{Lua, MultiValue, Value};

/// Bytes of a number in a buffer.
const NUMBER_BYTES: usize = 4;

/// Returns the ids of all entities with a component, in the order of its columns.
pub(crate) fn ids(lua: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (component, _) = call.component(&scope.parts.schema, 0)?;
    let ids = lua.create_sequence_from(scope.room.world.each_record(component).map(|(id, _)| number_of(id)))?;
    Ok(one(Value::Table(ids)))
}

/// Returns a field of all entities with a component: a list, in which a vector takes as many places as it has numbers. A
/// field of numbers can be had as a buffer of `f32` instead.
pub(crate) fn column(lua: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (component, record_type) = call.component(&scope.parts.schema, 0)?;
    let field = call.field(record_type, 1)?;
    let records = scope.room.world.each_record(component);
    if call.at(2).as_boolean() == Some(true) {
        let mut bytes = Vec::new();
        for (_, record) in records {
            if !push_bytes(&field, record, &mut bytes) {
                return Err(call.expected(1, "a field of numbers, which a buffer can hold"));
            }
        }
        return Ok(one(Value::Buffer(lua.create_buffer(bytes)?)));
    }
    let count = scope.room.world.described(component).map_or(0, |column| column.iter().count());
    let values = lua.create_table_with_capacity(count * field.width(), 0)?;
    let mut at = 0;
    for (_, record) in records {
        match record.numbers(field.handle) {
            Some(numbers) => {
                for number in numbers {
                    at += 1;
                    values.raw_set(at, f64::from(*number))?;
                }
            }
            None => {
                at += 1;
                values.raw_set(at, field.get(lua, record)?)?;
            }
        }
    }
    Ok(one(Value::Table(values)))
}

/// Sets a field of all entities with a component, from a list or a buffer in the form of [`column`].
pub(crate) fn set_column(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (component, record_type) = call.component(&scope.parts.schema, 0)?;
    let field = call.field(record_type, 1)?;
    let width = field.width();
    let count = scope.room.world.described(component).map_or(0, |column| column.iter().count());
    let found = match call.at(2) {
        Value::Table(values) => values.raw_len(),
        Value::Buffer(buffer) => buffer.len() / NUMBER_BYTES,
        _ => return Err(call.expected(2, "a list or a buffer")),
    };
    if found != count * width {
        let (component, name) = (record_type.name(), field.name());
        let sentence = format!(
            "`{component}.{name}`: expected {width} for each of {count} entities, {} in all, got {found}",
            count * width
        );
        return Err(mlua::Error::runtime(sentence));
    }
    let mut row = 0;
    let mut outcome = Ok(());
    scope.room.world.each_record_mut(component, |_, mut record| {
        if outcome.is_ok() {
            outcome = set_row(&field, &mut record, call.at(2), row);
            row += 1;
        }
    });
    outcome.map(|()| MultiValue::new())
}

fn set_row(
    field: &Field<'_>,
    record: &mut aether_bits::runtime::RecordMut<'_>,
    values: &Value,
    row: usize,
) -> mlua::Result<()> {
    let width = field.width();
    let mut numbers = [0.0; 4];
    match values {
        Value::Buffer(buffer) => {
            for (axis, number) in numbers.iter_mut().enumerate().take(width) {
                *number = f32::from_le_bytes(buffer.read_bytes((row * width + axis) * NUMBER_BYTES));
            }
        }
        Value::Table(table) if width > 1 => {
            for (axis, number) in numbers.iter_mut().enumerate().take(width) {
                *number = table.raw_get::<f64>(row * width + axis + 1)? as f32;
            }
        }
        Value::Table(table) => return field.set(record, &table.raw_get::<Value>(row + 1)?),
        _ => return Ok(()),
    }
    field.set_numbers(record, &numbers[..width])
}

/// Appends the numbers of a field. Returns false if it has none.
fn push_bytes(field: &Field<'_>, record: &Record, bytes: &mut Vec<u8>) -> bool {
    let mut push = |number: f32| bytes.extend_from_slice(&number.to_le_bytes());
    match record.get(field.handle) {
        Some(SchemaValue::Numbers(numbers)) => numbers.iter().copied().for_each(push),
        Some(SchemaValue::Whole(whole)) => push(*whole as f32),
        Some(SchemaValue::Flag(flag)) => push(f32::from(u8::from(*flag))),
        _ => match record.number(field.handle) {
            Some(number) => push(number as f32),
            None => return false,
        },
    }
    true
}
