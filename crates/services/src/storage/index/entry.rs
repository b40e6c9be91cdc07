//! Entries of a storage index: the indexed fields of one object.

use super::definition::IndexDefinition;
use super::limits::{INDEX_ENTRY_BYTES_MAX, SORT_TEXT_BYTES_MAX};
use crate::storage::{Object, ObjectId, Permission};
use aether_query::{Document, DocumentBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::sync::Arc;
use uuid::Uuid;

/// Key of an entry: the owner and the key of the object. The index has one collection.
pub(super) type EntryKey = (Uuid, Arc<str>);

/// Entry whose object has no creation time yet.
#[derive(Clone)]
pub(super) struct PreparedEntry {
    builder: DocumentBuilder,
    entry: IndexEntry,
}

/// Indexed fields of an object, besides the document of the query language.
#[derive(Clone, Debug)]
pub(super) struct IndexEntry {
    /// Indexed fields as JSON, if lists are answered from memory.
    pub fields: Option<Box<str>>,
    /// Values of the sortable fields, in their order.
    pub sort: Box<[Option<SortValue>]>,
    pub version: Box<str>,
    pub read: Permission,
    pub write: Permission,
    pub created_at: i64,
    pub updated_at: i64,
    /// Approximate bytes in memory.
    pub bytes: usize,
}

/// Value by which entries are sorted. Numbers come before texts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum SortValue {
    Number(OrderedNumber),
    Text(Box<str>),
}

/// Finite number, ordered.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OrderedNumber(f64);

impl Eq for OrderedNumber {}

impl PartialOrd for OrderedNumber {
    fn partial_cmp(&self, other: &OrderedNumber) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedNumber {
    fn cmp(&self, other: &OrderedNumber) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Reason why an object that is covered has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// The filter leaves it out, or it has none of the fields.
    Out,
    /// Its fields are too large.
    TooLarge,
}

pub(super) fn key_of(id: &ObjectId) -> EntryKey {
    (id.owner, Arc::from(id.key.as_str()))
}

impl PreparedEntry {
    /// Prepares the entry of an object, whose creation time does not count.
    pub fn of(definition: &IndexDefinition, object: &Object) -> Result<PreparedEntry, Left> {
        if definition.filter.as_ref().is_some_and(|filter| !filter(object)) {
            return Err(Left::Out);
        }
        let mut value: Map<String, Value> = serde_json::from_str(&object.value).map_err(|_| Left::Out)?;
        let fields: Map<String, Value> = definition.fields.iter().filter_map(|name| value.remove_entry(name)).collect();
        if fields.is_empty() {
            return Err(Left::Out);
        }
        let sort = definition.sortable.iter().map(|name| fields.get(name).and_then(SortValue::of)).collect();
        let fields = Value::Object(fields);
        let text = fields.to_string();
        if text.len() > INDEX_ENTRY_BYTES_MAX {
            return Err(Left::TooLarge);
        }
        let builder = Document::builder()
            .json("value", &fields)
            .text("key", &object.id.key)
            .text("user_id", &object.id.owner.to_string())
            .text("version", &object.version)
            .number("read", object.read.number() as f64)
            .number("write", object.write.number() as f64)
            .time("update_time", object.updated_at.saturating_mul(1_000));
        // The texts are in the document and in its index; numbers and pointers take about as much again.
        let bytes = 512 + object.id.key.len() + 3 * text.len();
        let entry = IndexEntry {
            fields: definition.index_only.then(|| text.into()),
            sort,
            version: object.version.as_str().into(),
            read: object.read,
            write: object.write,
            created_at: object.created_at,
            updated_at: object.updated_at,
            bytes,
        };
        Ok(PreparedEntry { builder, entry })
    }

    /// Completes the entry with the creation time of the object.
    pub fn finish(self, created_at: i64) -> Result<(Document, IndexEntry), Left> {
        let builder = self.builder.time("create_time", created_at.saturating_mul(1_000));
        let document = builder.build().map_err(|_| Left::TooLarge)?;
        Ok((document, IndexEntry { created_at, ..self.entry }))
    }
}

impl SortValue {
    fn of(value: &Value) -> Option<SortValue> {
        match value {
            Value::Number(number) => number.as_f64().map(|number| SortValue::Number(OrderedNumber(number + 0.0))),
            Value::String(text) => Some(SortValue::Text(cut(text).into())),
            Value::Bool(is_true) => Some(SortValue::Text(if *is_true { "T" } else { "F" }.into())),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    pub fn time(ms: i64) -> SortValue {
        SortValue::Number(OrderedNumber(ms as f64))
    }
}

/// Cuts a text at a number of bytes, between characters.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(SORT_TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
