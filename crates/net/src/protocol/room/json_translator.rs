//! Translation between JSON clients and the encoding of a room, by the game's schema.

use aether_bits::{
    BitReader, BitWriter, DeltaBasis, FieldKind, FieldSchema, ReadError, RecordSchema, Schema, SchemaValue,
};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::limits::NUMBER_SIZE_MAX;
use aether_wire::{
    EntityFields, EntityId, Event, FieldValues, GameBody, InputBytes, InputPayload, Inputs, JsonSnapshot, SnapshotMode,
};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Translates between the binary encoding of a room and the JSON of a client.
pub struct JsonTranslator {
    schema: Arc<Schema>,
    mirror: Mirror,
    /// Entities that have changed since the last snapshot.
    changed: Vec<EntityId>,
    entered: Vec<EntityId>,
    removed: Vec<EntityId>,
    mode: SnapshotMode,
}

/// Reason why a message of a client cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslateError(pub String);

impl JsonTranslator {
    /// Creates a translator for a new client.
    #[must_use]
    pub fn new(schema: &Arc<Schema>, seconds_per_tick: f32) -> JsonTranslator {
        JsonTranslator {
            schema: Arc::clone(schema),
            mirror: Mirror::builder().described(schema).build(DeliveryOrder::Ordered, seconds_per_tick),
            changed: Vec::new(),
            entered: Vec::new(),
            removed: Vec::new(),
            mode: SnapshotMode::Full,
        }
    }

    /// Applies a state packet. Returns a snapshot with the last packet of a tick.
    pub fn decode_state(&mut self, packet: &[u8]) -> Result<Option<JsonSnapshot>, ReadError> {
        let applied = self.mirror.apply(packet)?;
        self.changed.extend_from_slice(self.mirror.entered());
        self.changed.extend_from_slice(self.mirror.updated());
        self.entered.extend_from_slice(self.mirror.entered());
        self.removed.extend_from_slice(self.mirror.left());
        Ok(applied.last.then(|| self.snapshot()))
    }

    fn snapshot(&mut self) -> JsonSnapshot {
        let mut features: BTreeMap<String, Vec<EntityFields>> = BTreeMap::new();
        for id in self.changed.drain(..) {
            for (number, component) in self.schema.components.iter().enumerate() {
                let Some((kind, value)) = self.mirror.value(id, number) else { continue };
                let FieldValues(fields) = fields_of(kind, value);
                let entities = features.entry(component.channel.clone()).or_default();
                // Components of an entity that share a channel are merged.
                match entities.last_mut().filter(|last| last.id == id) {
                    Some(last) => last.fields.0.extend(fields),
                    None => entities.push(EntityFields { id, fields: FieldValues(fields) }),
                }
            }
        }
        JsonSnapshot {
            tick: self.mirror.tick(),
            mode: std::mem::replace(&mut self.mode, SnapshotMode::Delta),
            local_ack_seq: self.mirror.input_ack(),
            features,
            entered: std::mem::take(&mut self.entered),
            removed: std::mem::take(&mut self.removed),
        }
    }

    /// Returns an event with its fields by name, or unchanged if it is not in the schema.
    #[must_use]
    pub fn decode_event(&self, event: &Event) -> Event {
        let named = match &event.body {
            GameBody::Packed { code, payload } => self.decode_body(*code, payload),
            GameBody::Named { .. } => None,
        };
        Event { body: named.unwrap_or_else(|| event.body.clone()), ..*event }
    }

    fn decode_body(&self, code: u16, payload: &[u8]) -> Option<GameBody> {
        let event = self.schema.events.get(usize::from(code))?;
        let value = event.kind.read_delta(DeltaBasis::new(&event.kind.initial()), &mut BitReader::new(payload)).ok()?;
        Some(GameBody::Named {
            feature: event.channel.clone(),
            action: snake_case(&event.name),
            fields: fields_of(&event.kind, &value),
        })
    }

    /// Encodes inputs whose fields are given by name.
    pub fn encode_inputs(&self, inputs: Inputs) -> Result<Inputs, TranslateError> {
        let encode_payload = |payload| match payload {
            InputPayload::Packed(_) => Ok(payload),
            InputPayload::Fields(fields) => {
                let input =
                    self.schema.inputs.first().ok_or_else(|| TranslateError("the game takes no inputs".into()))?;
                let bytes = encode(input, fields)?;
                let too_long =
                    || TranslateError(format!("the input has {} encoded bytes, which is too long", bytes.len()));
                Ok(InputPayload::Packed(InputBytes::new(&bytes).ok_or_else(too_long)?))
            }
        };
        Ok(Inputs { payloads: inputs.payloads.into_iter().map(encode_payload).collect::<Result<_, _>>()?, ..inputs })
    }

    /// Encodes a message to the game whose fields are given by name. Returns none if the message is not in the schema.
    pub fn encode_message(&self, body: GameBody) -> Result<Option<GameBody>, TranslateError> {
        let GameBody::Named { feature, action, fields } = body else { return Ok(Some(body)) };
        let matches = |event: &RecordSchema| {
            event.channel == feature && (event.name == action || snake_case(&event.name) == action)
        };
        let Some(code) = self.schema.events.iter().position(matches) else { return Ok(None) };
        let payload = encode(&self.schema.events[code], fields)?;
        Ok(Some(GameBody::Packed { code: code as u16, payload }))
    }
}

fn encode(record: &RecordSchema, FieldValues(fields): FieldValues) -> Result<Vec<u8>, TranslateError> {
    let value = from_json(&record.kind, &Json::Object(fields.into_iter().collect()), &record.name)?;
    let mut writer = BitWriter::new();
    let out_of_range = |_| TranslateError(format!("{} has a value out of its range", record.name));
    record.kind.write_delta(DeltaBasis::new(&record.kind.initial()), &value, &mut writer).map_err(out_of_range)?;
    Ok(writer.to_bytes())
}

fn fields_of(kind: &FieldKind, value: &SchemaValue) -> FieldValues {
    match to_json(kind, value) {
        Json::Object(fields) => FieldValues(fields.into_iter().collect()),
        other => FieldValues(BTreeMap::from([("value".to_owned(), other)])),
    }
}

/// Returns a value as JSON: records as objects with their fields by name.
#[must_use]
pub fn to_json(kind: &FieldKind, value: &SchemaValue) -> Json {
    match (kind, value) {
        (_, SchemaValue::Flag(value)) => Json::from(*value),
        (_, SchemaValue::Whole(value)) => Json::from(*value),
        (FieldKind::Choice { names }, SchemaValue::Choice(value)) => {
            names.get(*value as usize).map_or(Json::Null, |name| Json::from(name.as_str()))
        }
        (_, SchemaValue::Choice(value)) => Json::from(*value),
        (_, SchemaValue::Text(text)) => Json::from(text.as_str()),
        (_, SchemaValue::Numbers(numbers)) => match &numbers[..] {
            [number] => number_to_json(*number),
            numbers => numbers.iter().map(|number| number_to_json(*number)).collect(),
        },
        (FieldKind::Record { fields }, SchemaValue::List(values)) => {
            let field =
                |(field, value): (&FieldSchema, &SchemaValue)| (field.name.clone(), to_json(&field.kind, value));
            Json::Object(fields.iter().zip(values).map(field).collect())
        }
        (FieldKind::List { element, .. }, SchemaValue::List(values)) => {
            values.iter().map(|value| to_json(element, value)).collect()
        }
        (_, SchemaValue::List(_)) => Json::Null,
    }
}

/// Returns the shortest number that parses to the same 32-bit float: 0.1 instead of 0.10000000149.
fn number_to_json(number: f32) -> Json {
    number.to_string().parse::<f64>().map_or(Json::Null, Json::from)
}

fn from_json(kind: &FieldKind, json: &Json, name: &str) -> Result<SchemaValue, TranslateError> {
    let wrong = |expected: &str| TranslateError(format!("{name} must be {expected}"));
    match kind {
        FieldKind::Flag => json.as_bool().map(SchemaValue::Flag).ok_or_else(|| wrong("true or false")),
        FieldKind::Whole { min, max } => {
            let value = json.as_i64().filter(|value| (min..=max).contains(&value));
            value.map(SchemaValue::Whole).ok_or_else(|| wrong(&format!("a whole number from {min} to {max}")))
        }
        FieldKind::Choice { names } => {
            let chosen = json.as_str().and_then(|text| names.iter().position(|name| name == text));
            let expected = || wrong(&format!("one of {}", names.join(", ")));
            chosen.map(|number| SchemaValue::Choice(number as u32)).ok_or_else(expected)
        }
        FieldKind::Text { bytes_max } => {
            let text = json.as_str().filter(|text| text.len() <= usize::from(*bytes_max));
            text.map(|text| SchemaValue::Text(text.into()))
                .ok_or_else(|| wrong(&format!("a text of up to {bytes_max} bytes")))
        }
        FieldKind::List { len_max, element } => {
            let list = json.as_array().filter(|list| list.len() <= usize::from(*len_max));
            let list = list.ok_or_else(|| wrong(&format!("a list of up to {len_max} values")))?;
            Ok(SchemaValue::List(list.iter().map(|json| from_json(element, json, name)).collect::<Result<_, _>>()?))
        }
        FieldKind::Record { fields } => record_from_json(fields, json, name),
        FieldKind::Number { len, .. } => numbers_from_json(usize::from(*len), json, name),
        FieldKind::Angle { .. } => numbers_from_json(1, json, name),
        FieldKind::Rotation { .. } => numbers_from_json(4, json, name),
        FieldKind::UnitVector { .. } => numbers_from_json(3, json, name),
    }
}

/// Reads a record. Absent fields have their initial value; unknown fields are errors.
fn record_from_json(fields: &[FieldSchema], json: &Json, name: &str) -> Result<SchemaValue, TranslateError> {
    let object = json.as_object().ok_or_else(|| TranslateError(format!("{name} must be an object")))?;
    if let Some(unknown) = object.keys().find(|key| fields.iter().all(|field| field.name != **key)) {
        let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        let unknown: String = unknown.chars().take(32).collect();
        return Err(TranslateError(format!("{name} has no field {unknown}; it has {}", known.join(", "))));
    }
    let value = |field: &FieldSchema| match object.get(&field.name) {
        Some(json) => from_json(&field.kind, json, &field.name),
        None => Ok(field.initial.clone()),
    };
    Ok(SchemaValue::List(fields.iter().map(value).collect::<Result<_, _>>()?))
}

fn numbers_from_json(count: usize, json: &Json, name: &str) -> Result<SchemaValue, TranslateError> {
    // Numbers beyond the size of any world, and NaN, are errors: clamping would hide a bug or an attack.
    let number =
        |json: &Json| json.as_f64().map(|number| number as f32).filter(|number| number.abs() <= NUMBER_SIZE_MAX);
    let numbers: Option<Vec<f32>> = match json {
        Json::Array(list) if list.len() == count => list.iter().map(number).collect(),
        single if count == 1 => number(single).map(|number| vec![number]),
        _ => None,
    };
    let expected = if count == 1 { "a number".to_owned() } else { format!("a list of {count} numbers") };
    numbers.map(SchemaValue::Numbers).ok_or_else(|| TranslateError(format!("{name} must be {expected}")))
}

/// Converts the name of a type to its JSON form: `PlaceWall` to `place_wall`.
fn snake_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
