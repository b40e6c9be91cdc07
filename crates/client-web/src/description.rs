//! Schema in the form that scripts read.

use crate::layout::{fields_in_row_order, flatten};
use aether_bits::{FieldKind, FieldSchema, RecordSchema, Schema};

/// Returns the schema as JSON, and the initial values of all fields: components, inputs and events, each with its name,
/// its channel and its fields in the order of rows.
///
/// A field is `[name, kind, length]`. Its initial value is the next `length` numbers of the second result; formatting
/// fractions as text would take much code. A kind is `["flag"]`, `["whole", min, max]`, `["numbers", count]`,
/// `["choice", [names]]`, `["text", bytes]`, `["list", length, kind]` or `["record", [fields]]`.
#[must_use]
pub fn description(schema: &Schema) -> (String, Vec<f64>) {
    let mut writer = Writer { text: String::from("{"), initial: Vec::new() };
    for (name, records) in [("components", &schema.components), ("inputs", &schema.inputs), ("events", &schema.events)]
    {
        if writer.text.len() > 1 {
            writer.text.push(',');
        }
        writer.name(name);
        writer.text.push(':');
        writer.list(records.iter(), Writer::record);
    }
    writer.text.push('}');
    (writer.text, writer.initial)
}

struct Writer {
    text: String,
    initial: Vec<f64>,
}

impl Writer {
    fn record(&mut self, record: &RecordSchema) {
        self.text.push_str("{\"name\":");
        self.name(&record.name);
        self.text.push_str(",\"channel\":");
        self.name(&record.channel);
        self.text.push_str(",\"kind\":");
        self.kind(&record.kind);
        self.text.push('}');
    }

    fn kind(&mut self, kind: &FieldKind) {
        match kind {
            FieldKind::Flag => self.text.push_str("[\"flag\"]"),
            FieldKind::Whole { min, max } => self.text.push_str(&format!("[\"whole\",{min},{max}]")),
            FieldKind::Number { len, .. } => self.text.push_str(&format!("[\"numbers\",{len}]")),
            FieldKind::Angle { .. } => self.text.push_str("[\"numbers\",1]"),
            FieldKind::Rotation { .. } => self.text.push_str("[\"numbers\",4]"),
            FieldKind::UnitVector { .. } => self.text.push_str("[\"numbers\",3]"),
            FieldKind::Choice { names } => {
                self.text.push_str("[\"choice\",");
                self.list(names.iter(), |writer, name| writer.name(name));
                self.text.push(']');
            }
            FieldKind::Text { bytes_max } => self.text.push_str(&format!("[\"text\",{bytes_max}]")),
            FieldKind::List { len_max, element } => {
                self.text.push_str(&format!("[\"list\",{len_max},"));
                self.kind(element);
                self.text.push(']');
            }
            FieldKind::Record { fields } => {
                self.text.push_str("[\"record\",");
                self.list(fields_in_row_order(fields).map(|(_, field)| field), Writer::field);
                self.text.push(']');
            }
        }
    }

    fn field(&mut self, field: &FieldSchema) {
        self.text.push('[');
        self.name(&field.name);
        self.text.push(',');
        self.kind(&field.kind);
        // After the initial values of nested fields.
        let before = self.initial.len();
        flatten(&field.kind, &field.initial, &mut self.initial);
        let len = self.initial.len() - before;
        self.text.push_str(&format!(",{len}]"));
    }

    fn list<T>(&mut self, items: impl Iterator<Item = T>, write: impl Fn(&mut Self, T)) {
        self.text.push('[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            write(self, item);
        }
        self.text.push(']');
    }

    fn name(&mut self, name: &str) {
        self.text.push('"');
        for letter in name.chars() {
            match letter {
                '"' | '\\' => self.text.extend(['\\', letter]),
                letter if letter.is_control() => self.text.push_str(&format!("\\u{:04x}", letter as u32)),
                letter => self.text.push(letter),
            }
        }
        self.text.push('"');
    }
}
