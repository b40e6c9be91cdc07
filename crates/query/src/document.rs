//! Documents: named values that queries are checked against.

use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::limits::{DEPTH_MAX, FIELD_NAME_BYTES_MAX, TEXT_BYTES_MAX, VALUES_MAX};
use crate::time::parse_date;

/// Values under dotted names. A name may have several.
///
/// ```
/// use aether_query::{Document, Query};
/// use serde_json::json;
///
/// let label = json!({"mode": "duel", "open": true, "tags": ["eu", "ranked"]});
/// let document = Document::builder().json("label", &label).number("tick_rate", 20.0).build()?;
/// let query = Query::parse("+label.tags:ranked +label.open:T +tick_rate:>=10")?;
/// assert!(query.matches(&document).is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// Sorted by name, then value, each once.
    fields: Vec<Field>,
}

/// One value of a document, with its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Field {
    pub name: Arc<str>,
    pub value: FieldValue,
}

/// A value of a document.
#[derive(Clone, Debug)]
pub enum FieldValue {
    /// A finite number, without a negative zero.
    Number(f64),
    /// A time, in microseconds since 1970.
    Time(i64),
    /// Text that is compared as a whole. A boolean is the text `T` or `F`.
    Text(Arc<str>),
}

/// Collects the values of a document.
#[derive(Clone, Debug, Default)]
pub struct DocumentBuilder {
    fields: Vec<Field>,
    error: Option<DocumentError>,
}

/// Reason why a document is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentError {
    /// It has more values than are allowed.
    TooManyValues,
    /// Its JSON is nested too deeply, below this name.
    TooDeep(String),
    /// The name of a field is too long: its length in bytes.
    NameTooLong(usize),
    /// The text under this name is too long.
    TextTooLong(String),
}

impl Document {
    /// Returns a builder for a document.
    pub fn builder() -> DocumentBuilder {
        DocumentBuilder::default()
    }

    /// Makes a document from a JSON object, whose keys are the names.
    pub fn from_json(value: &Value) -> Result<Document, DocumentError> {
        Document::builder().json("", value).build()
    }

    /// Returns all values with their names, sorted by name, then value.
    pub fn values(&self) -> impl Iterator<Item = (&str, &FieldValue)> {
        self.fields.iter().map(|field| (&*field.name, &field.value))
    }

    /// Returns the values of one name, sorted.
    pub(crate) fn values_of(&self, name: &str) -> &[Field] {
        let start = self.fields.partition_point(|field| &*field.name < name);
        let count = self.fields[start..].partition_point(|field| &*field.name == name);
        &self.fields[start..start + count]
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    pub(crate) fn fields_mut(&mut self) -> &mut [Field] {
        &mut self.fields
    }
}

impl DocumentBuilder {
    /// Adds text. If it is a date, ranges of dates find it too.
    pub fn text(mut self, name: &str, value: &str) -> DocumentBuilder {
        self.add_text(name, value);
        self
    }

    /// Adds a number. One that is not finite is left out, since nothing could find it.
    pub fn number(mut self, name: &str, value: f64) -> DocumentBuilder {
        self.add_number(name, value);
        self
    }

    /// Adds a boolean, which is found as `T` or `F`.
    pub fn boolean(mut self, name: &str, value: bool) -> DocumentBuilder {
        self.add_boolean(name, value);
        self
    }

    /// Adds a time, in microseconds since 1970, which ranges of dates find.
    pub fn time(mut self, name: &str, microseconds: i64) -> DocumentBuilder {
        self.add(name, FieldValue::Time(microseconds));
        self
    }

    /// Adds all values of some JSON below a name. The keys of an object follow the name after a dot; elements of a list
    /// all have the name of the list; `null` is left out. With an empty name, the keys stand alone.
    pub fn json(mut self, name: &str, value: &Value) -> DocumentBuilder {
        self.walk(&mut name.to_owned(), value, 0);
        self
    }

    /// Returns the document, or why it is refused.
    pub fn build(mut self) -> Result<Document, DocumentError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.fields.sort_unstable();
        self.fields.dedup();
        self.fields.shrink_to_fit();
        Ok(Document { fields: self.fields })
    }

    fn walk(&mut self, name: &mut String, value: &Value, depth: usize) {
        if depth > DEPTH_MAX {
            self.error.get_or_insert_with(|| DocumentError::TooDeep(shortened(name)));
        }
        if self.error.is_some() {
            return;
        }
        match value {
            Value::Null => {}
            Value::Bool(value) => self.add_boolean(name, *value),
            Value::Number(value) => self.add_number(name, value.as_f64().unwrap_or(f64::NAN)),
            Value::String(value) => self.add_text(name, value),
            Value::Array(values) => values.iter().for_each(|value| self.walk(name, value, depth + 1)),
            Value::Object(values) => {
                let length = name.len();
                for (key, value) in values {
                    if length > 0 {
                        name.push('.');
                    }
                    name.push_str(key);
                    self.walk(name, value, depth + 1);
                    name.truncate(length);
                }
            }
        }
    }

    fn add_text(&mut self, name: &str, value: &str) {
        if value.len() > TEXT_BYTES_MAX {
            self.error.get_or_insert_with(|| DocumentError::TextTooLong(shortened(name)));
            return;
        }
        if let Some(microseconds) = parse_date(value) {
            self.add(name, FieldValue::Time(microseconds));
        }
        self.add(name, FieldValue::Text(Arc::from(value)));
    }

    fn add_number(&mut self, name: &str, value: f64) {
        if value.is_finite() {
            self.add(name, FieldValue::Number(normal(value)));
        }
    }

    fn add_boolean(&mut self, name: &str, value: bool) {
        self.add(name, FieldValue::Text(Arc::from(if value { "T" } else { "F" })));
    }

    fn add(&mut self, name: &str, value: FieldValue) {
        if name.len() > FIELD_NAME_BYTES_MAX {
            self.error.get_or_insert(DocumentError::NameTooLong(name.len()));
        } else if self.fields.len() == VALUES_MAX {
            self.error.get_or_insert(DocumentError::TooManyValues);
        } else if self.error.is_none() {
            self.fields.push(Field { name: Arc::from(name), value });
        }
    }
}

/// The same number, with one zero only, so that equal numbers are one key.
pub(crate) fn normal(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// Shortens a name for an error message, because it may be too long.
fn shortened(name: &str) -> String {
    name.chars().take(FIELD_NAME_BYTES_MAX / 4).collect()
}

impl FieldValue {
    /// Order of the kinds: numbers, times, text.
    fn rank(&self) -> u8 {
        match self {
            FieldValue::Number(_) => 0,
            FieldValue::Time(_) => 1,
            FieldValue::Text(_) => 2,
        }
    }
}

impl Ord for FieldValue {
    fn cmp(&self, other: &FieldValue) -> Ordering {
        match (self, other) {
            (FieldValue::Number(left), FieldValue::Number(right)) => left.total_cmp(right),
            (FieldValue::Time(left), FieldValue::Time(right)) => left.cmp(right),
            (FieldValue::Text(left), FieldValue::Text(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for FieldValue {
    fn partial_cmp(&self, other: &FieldValue) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for FieldValue {
    fn eq(&self, other: &FieldValue) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for FieldValue {}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocumentError::TooManyValues => write!(f, "document has more than {VALUES_MAX} values; index fewer fields"),
            DocumentError::TooDeep(name) => {
                write!(f, "document is nested more than {DEPTH_MAX} levels deep at `{name}`; index fewer fields")
            }
            DocumentError::NameTooLong(bytes) => {
                write!(f, "field name has {bytes} bytes; use at most {FIELD_NAME_BYTES_MAX}")
            }
            DocumentError::TextTooLong(name) => {
                write!(f, "text of `{name}` has more than {TEXT_BYTES_MAX} bytes; do not index this field")
            }
        }
    }
}

impl Error for DocumentError {}

impl DocumentError {
    /// Returns the label for metrics.
    pub fn label(&self) -> &'static str {
        match self {
            DocumentError::TooManyValues => "too_many_values",
            DocumentError::TooDeep(_) => "too_deep",
            DocumentError::NameTooLong(_) => "name_too_long",
            DocumentError::TextTooLong(_) => "text_too_long",
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(document: &Document) -> Vec<String> {
        document.values().map(|(name, value)| format!("{name}={value:?}")).collect()
    }

    #[test]
    fn json_becomes_values_under_dotted_names() {
        let value = json!({
            "b": {"c": {"d": "x"}, "e": null}, "a": [1, "1", 1, {"f": true}, [2]], "zero": -0.0, "day": "2026-01-31"
        });
        let document = Document::builder().json("label", &value).build().unwrap();
        assert_eq!(
            shown(&document),
            [
                "label.a=Number(1.0)",
                "label.a=Number(2.0)",
                "label.a=Text(\"1\")",
                "label.a.f=Text(\"T\")",
                "label.b.c.d=Text(\"x\")",
                "label.day=Time(1769817600000000)",
                "label.day=Text(\"2026-01-31\")",
                "label.zero=Number(0.0)",
            ]
        );
        assert_eq!(shown(&Document::from_json(&json!({"a": {"b": 1}})).unwrap()), ["a.b=Number(1.0)"]);
    }

    #[test]
    fn values_of_a_name_are_found_among_names_that_begin_alike() {
        let document = Document::from_json(&json!({"a": 1, "a.b": 2, "ab": 3, "": 4})).unwrap();
        let values = |name| document.values_of(name).iter().map(|field| field.value.clone()).collect::<Vec<_>>();
        assert_eq!(values("a"), [FieldValue::Number(1.0)]);
        assert_eq!(values("a.b"), [FieldValue::Number(2.0)]);
        assert_eq!(values("b"), []);
    }

    #[test]
    fn numbers_that_are_not_finite_are_left_out() {
        let document = Document::builder().number("a", f64::NAN).number("b", f64::INFINITY).build().unwrap();
        assert_eq!(document, Document::default());
    }

    #[test]
    fn a_document_beyond_a_limit_is_rejected() {
        let deep = (0..=DEPTH_MAX).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(Document::from_json(&deep), Err(DocumentError::TooDeep(String::new())));
        let many: Vec<usize> = (0..=VALUES_MAX).collect();
        assert_eq!(Document::from_json(&json!({"a": many})), Err(DocumentError::TooManyValues));
        let text = "x".repeat(TEXT_BYTES_MAX + 1);
        assert_eq!(Document::from_json(&json!({"a": text})), Err(DocumentError::TextTooLong("a".to_owned())));
        let name = "x".repeat(FIELD_NAME_BYTES_MAX + 1);
        assert_eq!(Document::builder().number(&name, 1.0).build(), Err(DocumentError::NameTooLong(name.len())));
    }
}
