//! The world in words: what a JSON client sees and says, packed and unpacked with the game's schema.

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

/// Translates between a room, which speaks in bits, and a client that speaks in words.
pub struct JsonTranslator {
    schema: Arc<Schema>,
    mirror: Mirror,
    /// Entities that the next snapshot tells of.
    changed: Vec<EntityId>,
    removed: Vec<EntityId>,
    mode: SnapshotMode,
}

/// Reason why a message of a client cannot be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslateError(pub String);

impl JsonTranslator {
    /// A client that has seen nothing yet.
    #[must_use]
    pub fn new(schema: &Arc<Schema>, seconds_per_tick: f32) -> JsonTranslator {
        JsonTranslator {
            schema: Arc::clone(schema),
            mirror: Mirror::builder().described(schema).build(DeliveryOrder::Ordered, seconds_per_tick),
            changed: Vec::new(),
            removed: Vec::new(),
            mode: SnapshotMode::Full,
        }
    }

    /// Takes in a state packet; gives a snapshot with the last packet of a tick.
    pub fn state(&mut self, packet: &[u8]) -> Result<Option<JsonSnapshot>, ReadError> {
        let applied = self.mirror.apply(packet)?;
        self.changed.extend_from_slice(self.mirror.entered());
        self.changed.extend_from_slice(self.mirror.updated());
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
                // Several components of an entity may share a channel; they stand together.
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
            removed: std::mem::take(&mut self.removed),
        }
    }

    /// An event with its fields by name; as it is if the schema does not know it.
    #[must_use]
    pub fn event(&self, event: &Event) -> Event {
        let named = match &event.body {
            GameBody::Packed { code, payload } => self.name(*code, payload),
            GameBody::Named { .. } => None,
        };
        Event { body: named.unwrap_or_else(|| event.body.clone()), ..*event }
    }

    fn name(&self, code: u16, payload: &[u8]) -> Option<GameBody> {
        let event = self.schema.events.get(usize::from(code))?;
        let value =
            event.kind.read_delta(DeltaBasis::held(&event.kind.initial()), &mut BitReader::new(payload)).ok()?;
        Some(GameBody::Named {
            feature: event.channel.clone(),
            action: snake_case(&event.name),
            fields: fields_of(&event.kind, &value),
        })
    }

    /// Packs the inputs of a client that gave them by name.
    pub fn pack_inputs(&self, inputs: Inputs) -> Result<Inputs, TranslateError> {
        let pack = |payload| match payload {
            InputPayload::Packed(_) => Ok(payload),
            InputPayload::Fields(fields) => {
                let input =
                    self.schema.inputs.first().ok_or_else(|| TranslateError("this game has no inputs".into()))?;
                let bytes = pack(input, fields)?;
                let too_long = || TranslateError("the input is too long".into());
                Ok(InputPayload::Packed(InputBytes::new(&bytes).ok_or_else(too_long)?))
            }
        };
        Ok(Inputs { payloads: inputs.payloads.into_iter().map(pack).collect::<Result<_, _>>()?, ..inputs })
    }

    /// Packs a message to the game that names its fields; nothing if the game knows no such message.
    pub fn pack_message(&self, body: GameBody) -> Result<Option<GameBody>, TranslateError> {
        let GameBody::Named { feature, action, fields } = body else { return Ok(Some(body)) };
        let wanted = |event: &RecordSchema| {
            event.channel == feature && (event.name == action || snake_case(&event.name) == action)
        };
        let Some(code) = self.schema.events.iter().position(wanted) else { return Ok(None) };
        let payload = pack(&self.schema.events[code], fields)?;
        Ok(Some(GameBody::Packed { code: code as u16, payload }))
    }
}

fn pack(record: &RecordSchema, FieldValues(fields): FieldValues) -> Result<Vec<u8>, TranslateError> {
    let value = from_json(&record.kind, &Json::Object(fields.into_iter().collect()), &record.name)?;
    let mut writer = BitWriter::new();
    let refused = |_| TranslateError(format!("{} has a value out of its range", record.name));
    record.kind.write_delta(DeltaBasis::held(&record.kind.initial()), &value, &mut writer).map_err(refused)?;
    Ok(writer.to_bytes())
}

fn fields_of(kind: &FieldKind, value: &SchemaValue) -> FieldValues {
    match to_json(kind, value) {
        Json::Object(fields) => FieldValues(fields.into_iter().collect()),
        other => FieldValues(BTreeMap::from([("value".to_owned(), other)])),
    }
}

fn to_json(kind: &FieldKind, value: &SchemaValue) -> Json {
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

/// The shortest number that leads back to the same 32-bit float: 0.1, and not 0.10000000149.
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

/// Fields that are left out have their initial value; one that is unknown is a slip of the client's author.
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
    // A number beyond every world is a slip or an attack, and not one to bring into range; so is one that is none.
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

/// `PlaceWall` in the game's source is `place_wall` in JSON.
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
