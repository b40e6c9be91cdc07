//! Declaration of records.

use super::field::{check_name, check_names};
use super::record::{PositionFields, PrivateField, RecordType};
use super::{DynamicValue, FieldBuilder, SchemaError, SchemaProblem};
use crate::schema::{DEPTH_MAX, FIELDS_MAX, RecordSchema};
use crate::{FieldKind, FieldSchema};

/// Default channel of a record, as in the derive.
const CHANNEL_DEFAULT: &str = "state";

/// Upper bound of the private fields of a component. A handle stores their index in a byte.
pub const PRIVATE_FIELDS_MAX: usize = 64;

/// Declares a component, an input, an event, or a nested record: a struct with the derive.
#[derive(Clone, Debug)]
pub struct RecordBuilder {
    name: String,
    channel: String,
    position: Vec<String>,
    pub(super) fields: Vec<(String, FieldBuilder)>,
    pub(super) private: Vec<(String, DynamicValue)>,
}

impl RecordBuilder {
    /// A record without fields.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        RecordBuilder {
            name: name.into(),
            channel: CHANNEL_DEFAULT.to_owned(),
            position: Vec::new(),
            fields: Vec::new(),
            private: Vec::new(),
        }
    }

    /// Sets the feature channel of the record in JSON. The default is `state`.
    #[must_use]
    pub fn channel(mut self, channel: impl Into<String>) -> Self {
        self.channel = channel.into();
        self
    }

    /// Sets the vector field that holds the position of the entity: `position = field` in the derive.
    #[must_use]
    pub fn position(mut self, field: impl Into<String>) -> Self {
        self.position = vec![field.into()];
        self
    }

    /// Sets the two number fields that hold the position of the entity: `position(x, y)` in the derive.
    #[must_use]
    pub fn position_fields(mut self, x: impl Into<String>, y: impl Into<String>) -> Self {
        self.position = vec![x.into(), y.into()];
        self
    }

    /// Adds a replicated field. Fields are packed in this order.
    #[must_use]
    pub fn field(mut self, name: impl Into<String>, field: FieldBuilder) -> Self {
        self.fields.push((name.into(), field));
        self
    }

    /// Adds a field that is not replicated: `skip` in the derive. Its values have the type of `initial`.
    #[must_use]
    pub fn private(mut self, name: impl Into<String>, initial: impl Into<DynamicValue>) -> Self {
        self.private.push((name.into(), initial.into()));
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Checks the whole declaration.
    pub(super) fn build(self, number: u16) -> Result<RecordType, SchemaError> {
        let at = self.name.clone();
        check_name(&at, &self.name)?;
        if self.channel.len() > crate::schema::NAME_BYTES_MAX {
            check_name(&format!("{at}, channel {}", self.channel), &self.channel)?;
        }
        let to_error = |problem| SchemaError { at: at.clone(), problem };
        if self.private.len() > PRIVATE_FIELDS_MAX {
            return Err(to_error(SchemaProblem::TooMany { what: "private fields", max: PRIVATE_FIELDS_MAX }));
        }
        let replicated = self.fields.iter().map(|(name, _)| name.as_str());
        check_names(&at, replicated.chain(self.private.iter().map(|(name, _)| name.as_str())))?;
        let fields = build_fields(&at, &self.fields, DEPTH_MAX - 1)?;
        let position = find_position_fields(&self.position, &fields).map_err(to_error)?;
        let schema = RecordSchema { name: self.name, channel: self.channel, kind: FieldKind::Record { fields } };
        let private = self.private.into_iter().map(|(name, initial)| PrivateField { name, initial }).collect();
        Ok(RecordType::new(number, schema, position, private))
    }
}

/// Builds the fields of a record, and resolves the names in `moves_by`.
pub(super) fn build_fields(
    at: &str,
    fields: &[(String, FieldBuilder)],
    depth: u32,
) -> Result<Vec<FieldSchema>, SchemaError> {
    if fields.len() > FIELDS_MAX {
        let problem = SchemaProblem::TooMany { what: "fields", max: FIELDS_MAX };
        return Err(SchemaError { at: at.to_owned(), problem });
    }
    check_names(at, fields.iter().map(|(name, _)| name.as_str()))?;
    let mut built = Vec::with_capacity(fields.len());
    for (name, field) in fields {
        let (kind, initial) = field.build(&format!("{at}.{name}"), depth)?;
        built.push(FieldSchema { name: name.clone(), kind, initial, moves_by: None });
    }
    for (index, (name, field)) in fields.iter().enumerate() {
        let Some(by) = &field.moves_by else { continue };
        let velocity = fields.iter().position(|(known, _)| known == by);
        let fits = |velocity: &usize| {
            fields[*velocity].1.moves_by.is_none()
                && numbers_of(&built[index].kind).is_some()
                && numbers_of(&built[index].kind) == numbers_of(&built[*velocity].kind)
        };
        let Some(velocity) = velocity.filter(fits) else {
            let problem = SchemaProblem::MovesBy { by: by.clone() };
            return Err(SchemaError { at: format!("{at}.{name}"), problem });
        };
        built[index].moves_by = Some(velocity as u8);
    }
    Ok(built)
}

/// Number of components, if the kind is a vector.
fn numbers_of(kind: &FieldKind) -> Option<u8> {
    if let FieldKind::Number { len, .. } = kind { Some(*len) } else { None }
}

fn find_position_fields(names: &[String], fields: &[FieldSchema]) -> Result<PositionFields, SchemaProblem> {
    let find = |name: &String, is_fit: fn(u8) -> bool| {
        let index = fields.iter().position(|field| field.name == *name);
        let index = index.filter(|&index| numbers_of(&fields[index].kind).is_some_and(is_fit));
        index.ok_or_else(|| SchemaProblem::Position { field: name.clone() })
    };
    match names {
        [both] => find(both, |len| len >= 2).map(PositionFields::Vector),
        [x, y] => Ok(PositionFields::Pair(find(x, |len| len == 1)?, find(y, |len| len == 1)?)),
        _ => Ok(PositionFields::None),
    }
}
