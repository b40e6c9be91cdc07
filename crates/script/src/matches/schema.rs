//! Reads the schema and the room settings that a match handler declares.
//!
//! ```lua
//! schema = {
//!     components = {
//!         Ship = {
//!             position = { "vec2", range = { -500, 500 }, step = 0.01, position = true },
//!             hue = { "u8" },
//!         },
//!     },
//!     input = { aim = { "angle", bits = 10 } },
//!     events = { Sunk = { ship = { "entity" } } },
//! }
//! ```
//!
//! Tables have no order, so records and fields are sorted by name: the bytes on the wire are the same in every VM.

use crate::error::ScriptError;
use crate::value::{Key, Map, Value};
use crate::vm::from_lua;
use aether_bits::runtime::{DynamicValue, FieldBuilder, RecordBuilder, RuntimeSchema, SchemaBuilder};
use aether_engine::{InterestSettings, RoomSettings, WorldBounds};
use mlua::Table;

/// Step of a number whose declaration has none.
const STEP_DEFAULT: f64 = 0.01;
/// Bits of an angle whose declaration has none.
const ANGLE_BITS_DEFAULT: u32 = 10;
/// Bits of a component of a rotation or unit vector whose declaration has none.
const COMPONENT_BITS_DEFAULT: u32 = 10;
/// Bytes of a text whose declaration has none.
const TEXT_BYTES_DEFAULT: u32 = 32;
/// Most bits of a whole number in Lua: larger ones are not exact.
const ENTITY_BITS: u32 = 48;
/// Name of the record of inputs.
const INPUT_NAME: &str = "Input";
/// Deepest nesting of declarations that is read. The schema itself allows less, and says so.
const DEPTH_MAX: u32 = 8;
/// Most entities of a room that a script may ask for: each costs memory in every column and for every client.
pub(crate) const ENTITIES_MAX: usize = 20_000;
/// Most inputs of a player per tick that a script may ask for: each is a call of the script.
const INPUTS_PER_TICK_MAX: u64 = 8;

/// Reads the field `schema` of a match handler.
fn read_schema(value: &Value) -> Result<RuntimeSchema, ScriptError> {
    let declared = map_of("schema", value)?;
    let known = ["components", "input", "events"];
    if let Some(other) = declared.keys().find(|key| !known.contains(&key.to_text().as_str())) {
        let sentence = format!("schema: unknown entry `{}`; use components, input and events", other.to_text());
        return Err(ScriptError::invalid(sentence));
    }
    let mut schema = SchemaBuilder::default();
    for (name, fields) in records("schema.components", value.get("components"))? {
        schema.component(record(&name, fields, 0)?).map_err(invalid)?;
    }
    if *value.get("input") != Value::Nil {
        schema.input(record(INPUT_NAME, value.get("input"), 0)?).map_err(invalid)?;
    }
    for (name, fields) in records("schema.events", value.get("events"))? {
        schema.event(record(&name, fields, 0)?).map_err(invalid)?;
    }
    Ok(schema.build())
}

/// Reads the settings of a handler that concern its world: `entities_max`, `snapshot_hz`, `inputs_per_tick`, `interest` and
/// `bounds`. Absent ones keep their value.
pub(crate) fn world_settings(table: &Table, mut settings: RoomSettings) -> Result<RoomSettings, ScriptError> {
    let mut options = Map::new();
    for name in ["entities_max", "snapshot_hz", "inputs_per_tick", "interest", "bounds"] {
        let option = table.get::<mlua::Value>(name).unwrap_or(mlua::Value::Nil);
        options.insert(Key::from(name), from_lua(&option)?);
    }
    let options = Value::Map(options);
    let whole = |option: &str, max: u64| whole_at("match handler", &options, option, 1, max);
    if let Some(entities) = whole("entities_max", ENTITIES_MAX as u64)? {
        settings.entities_max = entities as usize;
    }
    if let Some(snapshots) = whole("snapshot_hz", 128)? {
        settings.snapshot_hz = snapshots as u32;
    }
    if let Some(inputs) = whole("inputs_per_tick", INPUTS_PER_TICK_MAX)? {
        settings.inputs_per_tick = inputs as u32;
    }
    if let Some([min, max]) = pair("bounds", options.get("bounds"))? {
        settings.bounds = WorldBounds { min: [min as f32; 2], max: [max as f32; 2] };
    }
    match options.get("interest") {
        Value::Nil | Value::Boolean(false) => {}
        Value::Number(radius) => {
            settings.interest = Some(InterestSettings { radius: *radius as f32, ..InterestSettings::default() });
        }
        other => {
            let sentence = format!(
                "interest: expected a radius, or false if everyone sees everything, got a {}",
                other.type_name()
            );
            return Err(ScriptError::invalid(sentence));
        }
    }
    settings.validate().map_err(|error| ScriptError::invalid(error.to_string()))?;
    Ok(settings)
}

/// Reads the schema of a handler's table; an empty one if it declares none.
pub(crate) fn schema_of(name: &str, table: &Table) -> Result<RuntimeSchema, ScriptError> {
    let declared = table.get::<mlua::Value>("schema").unwrap_or(mlua::Value::Nil);
    if declared.is_nil() {
        return Ok(RuntimeSchema::default());
    }
    from_lua(&declared)
        .and_then(|value| read_schema(&value))
        .map_err(|error| ScriptError { message: format!("match handler `{name}`: {}", error.message), ..error })
}

/// Reads a record: fields by name, and optionally `channel`.
fn record(name: &str, value: &Value, depth: u32) -> Result<RecordBuilder, ScriptError> {
    if depth > DEPTH_MAX {
        return Err(ScriptError::invalid(format!("`{name}`: records and lists are nested too deeply")));
    }
    let mut builder = RecordBuilder::new(name).channel(name.to_ascii_lowercase());
    for (key, declared) in map_of(name, value)? {
        let field_name = key.to_text();
        if field_name == "channel"
            && let Some(channel) = declared.as_str()
        {
            builder = builder.channel(channel);
            continue;
        }
        let at = format!("{name}.{field_name}");
        if type_of(&at, declared)? == "private" {
            let initial = dynamic(declared.get("default"))
                .ok_or_else(|| ScriptError::invalid(format!("`{at}`: a private field needs a `default`")))?;
            builder = builder.private(field_name, initial);
            continue;
        }
        if *declared.get("position") == Value::Boolean(true) {
            builder = builder.position(field_name.clone());
        }
        builder = builder.field(field_name, field(&at, declared, depth)?);
    }
    Ok(builder)
}

/// Reads a field: its type, and the options of that type.
fn field(at: &str, value: &Value, depth: u32) -> Result<FieldBuilder, ScriptError> {
    let kind = type_of(at, value)?;
    let numbers = |len: u32| -> Result<FieldBuilder, ScriptError> {
        let [min, max] = range(at, value)?;
        Ok(FieldBuilder::numbers(len, min..=max, number_or(at, value, "step", STEP_DEFAULT)?))
    };
    let size = |option: &str, default: u32| -> Result<u32, ScriptError> {
        Ok(whole_at(at, value, option, 0, u64::from(u32::MAX))?.map_or(default, |size| size as u32))
    };
    let mut builder = match kind {
        "bool" => FieldBuilder::flag(),
        "u8" => FieldBuilder::whole(0..=i64::from(u8::MAX)),
        "u16" => FieldBuilder::whole(0..=i64::from(u16::MAX)),
        "u32" | "player" => FieldBuilder::whole(0..=i64::from(u32::MAX)),
        "i8" => FieldBuilder::whole(i64::from(i8::MIN)..=i64::from(i8::MAX)),
        "i16" => FieldBuilder::whole(i64::from(i16::MIN)..=i64::from(i16::MAX)),
        "i32" => FieldBuilder::whole(i64::from(i32::MIN)..=i64::from(i32::MAX)),
        "entity" => FieldBuilder::whole(0..=(1_i64 << ENTITY_BITS) - 1),
        "int" => {
            let [min, max] = range(at, value)?;
            FieldBuilder::whole(min as i64..=max as i64)
        }
        "number" => numbers(1)?,
        "vec2" => numbers(2)?,
        "vec3" => numbers(3)?,
        "vec4" => numbers(4)?,
        "angle" => FieldBuilder::angle(size("bits", ANGLE_BITS_DEFAULT)?),
        "rotation" => FieldBuilder::rotation(size("bits", COMPONENT_BITS_DEFAULT)?),
        "unit_vector" => FieldBuilder::unit_vector(size("bits", COMPONENT_BITS_DEFAULT)?),
        "text" => FieldBuilder::text(size("max", TEXT_BYTES_DEFAULT)?),
        "choice" => FieldBuilder::choice(names(at, value.get("of"))?),
        "list" => FieldBuilder::list(size("max", 8)?, nested(at, value.get("of"), depth + 1)?),
        "record" => FieldBuilder::record(record(at, value.get("of"), depth + 1)?),
        other => {
            let sentence = format!(
                "`{at}`: unknown type `{other}`; use bool, u8, u16, u32, i8, i16, i32, int, number, vec2, vec3, vec4, angle, \
                 rotation, unit_vector, text, choice, list, record, entity, player or private"
            );
            return Err(ScriptError::invalid(sentence));
        }
    };
    if let Some(initial) = dynamic(value.get("default")) {
        builder = builder.initial(initial);
    }
    if let Some(velocity) = value.get("moves_by").as_str() {
        builder = builder.moves_by(velocity);
    }
    Ok(builder)
}

fn nested(at: &str, value: &Value, depth: u32) -> Result<FieldBuilder, ScriptError> {
    if depth > DEPTH_MAX {
        return Err(ScriptError::invalid(format!("`{at}`: records and lists are nested too deeply")));
    }
    field(&format!("{at}.of"), value, depth)
}

/// Returns the type of a field: its first value.
fn type_of<'a>(at: &str, value: &'a Value) -> Result<&'a str, ScriptError> {
    let first = match value {
        Value::List(values) => values.first(),
        Value::Map(map) => map.get(&Key::Number(1.0)),
        _ => None,
    };
    first.and_then(Value::as_str).ok_or_else(|| {
        let sentence = format!(
            "`{at}`: expected a table that begins with the field's type, such as {{ \"u8\" }}, got a {}",
            value.type_name()
        );
        ScriptError::invalid(sentence)
    })
}

fn range(at: &str, value: &Value) -> Result<[f64; 2], ScriptError> {
    pair(&format!("`{at}`: range"), value.get("range"))?.ok_or_else(|| {
        ScriptError::invalid(format!("`{at}`: this type needs a range, such as range = {{ -500, 500 }}"))
    })
}

fn pair(at: &str, value: &Value) -> Result<Option<[f64; 2]>, ScriptError> {
    match value {
        Value::Nil => Ok(None),
        Value::List(values) => match values.as_slice() {
            [Value::Number(min), Value::Number(max)] => Ok(Some([*min, *max])),
            _ => Err(ScriptError::invalid(format!("{at}: expected two numbers, the minimum and the maximum"))),
        },
        other => {
            Err(ScriptError::invalid(format!("{at}: expected {{ minimum, maximum }}, got a {}", other.type_name())))
        }
    }
}

fn names(at: &str, value: &Value) -> Result<Vec<String>, ScriptError> {
    let expected =
        || ScriptError::invalid(format!("`{at}`: a choice needs its names, such as of = {{ \"idle\", \"busy\" }}"));
    let Value::List(values) = value else { return Err(expected()) };
    values.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(expected)).collect()
}

fn number_or(at: &str, value: &Value, option: &str, default: f64) -> Result<f64, ScriptError> {
    match value.get(option) {
        Value::Nil => Ok(default),
        Value::Number(number) => Ok(*number),
        other => Err(ScriptError::invalid(format!("`{at}`: {option} must be a number, got a {}", other.type_name()))),
    }
}

fn whole_at(at: &str, value: &Value, option: &str, min: u64, max: u64) -> Result<Option<u64>, ScriptError> {
    match value.get(option) {
        Value::Nil => Ok(None),
        Value::Number(number) if number.fract() == 0.0 && *number >= min as f64 && *number <= max as f64 => {
            Ok(Some(*number as u64))
        }
        Value::Number(number) => {
            Err(ScriptError::invalid(format!("`{at}`: {option} is {number}; use a whole number from {min} to {max}")))
        }
        other => Err(ScriptError::invalid(format!("`{at}`: {option} must be a number, got a {}", other.type_name()))),
    }
}

fn records<'a>(at: &str, value: &'a Value) -> Result<Vec<(String, &'a Value)>, ScriptError> {
    if *value == Value::Nil {
        return Ok(Vec::new());
    }
    Ok(map_of(at, value)?.iter().map(|(key, fields)| (key.to_text(), fields)).collect())
}

fn map_of<'a>(at: &str, value: &'a Value) -> Result<&'a Map, ScriptError> {
    match value {
        Value::Map(map) => Ok(map),
        other => Err(ScriptError::invalid(format!("{at}: expected a table with names, got a {}", other.type_name()))),
    }
}

/// Converts a value to the form of records; none if it is nil.
fn dynamic(value: &Value) -> Option<DynamicValue> {
    Some(match value {
        Value::Nil => return None,
        Value::Boolean(flag) => DynamicValue::Flag(*flag),
        Value::Number(number) => DynamicValue::Number(*number),
        Value::Text(bytes) => DynamicValue::Text(String::from_utf8_lossy(bytes).into_owned()),
        Value::List(values) => DynamicValue::List(values.iter().filter_map(dynamic).collect()),
        Value::Map(map) => {
            let entry = |(key, value): (&Key, &Value)| Some((key.to_text(), dynamic(value)?));
            DynamicValue::Record(map.iter().filter_map(entry).collect())
        }
    })
}

fn invalid(error: aether_bits::runtime::SchemaError) -> ScriptError {
    ScriptError::invalid(format!("schema: {error}"))
}
