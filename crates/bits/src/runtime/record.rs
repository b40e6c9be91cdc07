//! Records whose type is declared at run time.

use super::dynamic::unknown_field;
use super::{DynamicValue, ValueError};
use crate::{
    BitReader, BitWriter, DeltaBasis, FieldKind, FieldSchema, ReadError, RecordSchema, SchemaValue, StateHasher,
};
use std::ops::Deref;

/// Type of a component, input or event that was declared at run time.
#[derive(Debug)]
pub struct RecordType {
    number: u16,
    schema: RecordSchema,
    position: PositionFields,
    private: Vec<PrivateField>,
    initial: Record,
}

/// Values of one record. Only a [`RecordType`] creates one, and every change is checked, so it always fits its type.
#[derive(Debug, PartialEq)]
pub struct Record {
    number: u16,
    /// The replicated fields, in a [`SchemaValue::List`].
    value: SchemaValue,
    private: Vec<DynamicValue>,
}

/// Mutable access to a record.
#[derive(Debug)]
pub struct RecordMut<'a> {
    record_type: &'a RecordType,
    record: &'a mut Record,
}

/// Handle of a field of a [`RecordType`], resolved once by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FieldHandle {
    record: u16,
    index: u8,
    is_private: bool,
}

/// The fields that hold the position of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PositionFields {
    None,
    Vector(usize),
    Pair(usize, usize),
}

/// A field that is not replicated.
#[derive(Clone, Debug)]
pub(super) struct PrivateField {
    pub name: String,
    pub initial: DynamicValue,
}

impl RecordType {
    pub(super) fn new(number: u16, schema: RecordSchema, position: PositionFields, private: Vec<PrivateField>) -> Self {
        let initials = private.iter().map(|field| field.initial.clone()).collect();
        let initial = Record { number, value: schema.kind.initial(), private: initials };
        RecordType { number, schema, position, private, initial }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.schema.name
    }

    /// Descriptor for clients.
    #[must_use]
    pub fn schema(&self) -> &RecordSchema {
        &self.schema
    }

    /// The replicated fields.
    #[must_use]
    pub fn fields(&self) -> &[FieldSchema] {
        if let FieldKind::Record { fields } = &self.schema.kind { fields } else { &[] }
    }

    /// Returns the handle of a field. Resolve it once: using a handle needs no lookup.
    pub fn field(&self, name: &str) -> Result<FieldHandle, ValueError> {
        let handle = |index: usize, is_private| FieldHandle { record: self.number, index: index as u8, is_private };
        let replicated = self.fields().iter().position(|field| field.name == name).map(|index| handle(index, false));
        let private = || self.private.iter().position(|field| field.name == name).map(|index| handle(index, true));
        replicated.or_else(private).ok_or_else(|| self.unknown_field(name))
    }

    /// Returns a new record with initial values.
    #[must_use]
    pub fn initial(&self) -> Record {
        self.initial.clone()
    }

    /// Builds a record from fields by name. Missing fields get their initial value.
    pub fn record(&self, value: &DynamicValue) -> Result<Record, ValueError> {
        let DynamicValue::Record(values) = value else { return Err(self.schema.kind.wrong_type(self.name())) };
        let mut record = self.initial();
        for (name, value) in values {
            let field = self.field(name)?;
            self.edit(&mut record).set(field, value)?;
        }
        Ok(record)
    }

    /// Returns the fields of a record by name, private ones included.
    #[must_use]
    pub fn present(&self, record: &Record) -> DynamicValue {
        let mut fields = match self.schema.kind.present(&record.value) {
            DynamicValue::Record(fields) => fields,
            _ => Vec::new(),
        };
        let names = self.private.iter().map(|field| field.name.clone());
        fields.extend(names.zip(record.private.iter().cloned()));
        DynamicValue::Record(fields)
    }

    /// Returns mutable access to a record of this type.
    pub fn edit<'a>(&'a self, record: &'a mut Record) -> RecordMut<'a> {
        RecordMut { record_type: self, record }
    }

    /// Checks that a record is of this type. A record of another schema may have the same type number.
    pub fn check(&self, record: &Record) -> Result<(), ValueError> {
        let is_own = record.number == self.number && record.private.len() == self.private.len();
        if !is_own || self.schema.kind.check(self.name(), &record.value).is_err() {
            return Err(self.other_record());
        }
        Ok(())
    }

    /// Rounds every replicated field to the nearest value that can be encoded.
    pub fn snap(&self, record: &mut Record) {
        self.schema.kind.snap(&mut record.value);
    }

    /// True if records of this type hold the position of their entity.
    #[must_use]
    pub fn has_position(&self) -> bool {
        self.position != PositionFields::None
    }

    /// Position of the entity, if this record holds it.
    #[must_use]
    pub fn position(&self, record: &Record) -> Option<[f32; 2]> {
        let number = |index: usize, axis: usize| record.numbers_at(index)?.get(axis).copied();
        match self.position {
            PositionFields::None => None,
            PositionFields::Vector(both) => Some([number(both, 0)?, number(both, 1)?]),
            PositionFields::Pair(x, y) => Some([number(x, 0)?, number(y, 0)?]),
        }
    }

    /// Third coordinate of that position, if it has one.
    #[must_use]
    pub fn third_coordinate(&self, record: &Record) -> Option<f32> {
        match self.position {
            PositionFields::Vector(all) => record.numbers_at(all)?.get(2).copied(),
            PositionFields::None | PositionFields::Pair(..) => None,
        }
    }

    /// Appends the whole record.
    pub fn write_full(&self, record: &Record, writer: &mut BitWriter) {
        self.write_delta(DeltaBasis::new(&self.initial), record, writer);
    }

    /// Appends the difference from the basis.
    ///
    /// # Panics
    /// If the record is of another type; see [`RecordType::check`].
    pub fn write_delta(&self, basis: DeltaBasis<'_, Record>, record: &Record, writer: &mut BitWriter) {
        let basis = basis.field(|record| &record.value);
        self.schema.kind.write_delta(basis, &record.value, writer).expect("a record fits its own type");
    }

    /// Reads a whole record. Its private fields get their initial values.
    pub fn read_full(&self, reader: &mut BitReader<'_>) -> Result<Record, ReadError> {
        let value = self.schema.kind.read_delta(DeltaBasis::new(&self.initial.value), reader)?;
        Ok(Record { number: self.number, value, private: self.initial.private.clone() })
    }

    /// Returns a hash of the replicated fields, equal to [`crate::Component::digest`]. `scratch` is overwritten.
    pub fn digest(&self, record: &Record, scratch: &mut BitWriter) -> u64 {
        scratch.clear();
        self.write_full(record, scratch);
        StateHasher::of_bits(scratch)
    }

    fn unknown_field(&self, name: &str) -> ValueError {
        let replicated = self.fields().iter().map(|field| field.name.as_str());
        let private = self.private.iter().map(|field| field.name.as_str());
        unknown_field(self.name(), name, replicated.chain(private))
    }

    fn other_record(&self) -> ValueError {
        ValueError::OtherRecord { record: self.name().to_owned() }
    }
}

impl Default for Record {
    /// A record without a type and without fields.
    fn default() -> Self {
        Record { number: u16::MAX, value: SchemaValue::List(Vec::new()), private: Vec::new() }
    }
}

impl Clone for Record {
    fn clone(&self) -> Self {
        Record { number: self.number, value: self.value.clone(), private: self.private.clone() }
    }

    fn clone_from(&mut self, source: &Self) {
        self.number = source.number;
        self.value.clone_from(&source.value);
        self.private.clone_from(&source.private);
    }
}

impl Record {
    /// All replicated fields, in a [`SchemaValue::List`].
    #[must_use]
    pub fn value(&self) -> &SchemaValue {
        &self.value
    }

    /// True if all replicated fields are equal.
    #[must_use]
    pub fn same(&self, other: &Record) -> bool {
        self.value == other.value
    }

    /// A replicated field.
    #[must_use]
    pub fn get(&self, field: FieldHandle) -> Option<&SchemaValue> {
        let is_own = field.record == self.number && !field.is_private;
        if is_own { self.at(usize::from(field.index)) } else { None }
    }

    /// A private field.
    #[must_use]
    pub fn private(&self, field: FieldHandle) -> Option<&DynamicValue> {
        let is_own = field.record == self.number && field.is_private;
        if is_own { self.private.get(usize::from(field.index)) } else { None }
    }

    /// A field of real numbers: a number, vector, angle, rotation or unit vector.
    #[must_use]
    pub fn numbers(&self, field: FieldHandle) -> Option<&[f32]> {
        if let SchemaValue::Numbers(numbers) = self.get(field)? { Some(numbers) } else { None }
    }

    /// A vector of `N` numbers.
    #[must_use]
    pub fn vector<const N: usize>(&self, field: FieldHandle) -> Option<[f32; N]> {
        self.numbers(field)?.try_into().ok()
    }

    /// A field of one real number, or a private number.
    #[must_use]
    pub fn number(&self, field: FieldHandle) -> Option<f64> {
        match self.numbers(field) {
            Some(numbers) => {
                if let [number] = numbers {
                    Some(f64::from(*number))
                } else {
                    None
                }
            }
            None => self.private(field)?.as_number(),
        }
    }

    /// A whole number.
    #[must_use]
    pub fn whole(&self, field: FieldHandle) -> Option<i64> {
        match self.get(field) {
            Some(value) => {
                if let SchemaValue::Whole(whole) = value {
                    Some(*whole)
                } else {
                    None
                }
            }
            None => self.private(field)?.as_whole(),
        }
    }

    /// A boolean.
    #[must_use]
    pub fn flag(&self, field: FieldHandle) -> Option<bool> {
        match self.get(field) {
            Some(value) => {
                if let SchemaValue::Flag(flag) = value {
                    Some(*flag)
                } else {
                    None
                }
            }
            None => self.private(field)?.as_flag(),
        }
    }

    /// The number of a choice's variant.
    #[must_use]
    pub fn choice(&self, field: FieldHandle) -> Option<u32> {
        if let SchemaValue::Choice(choice) = self.get(field)? { Some(*choice) } else { None }
    }

    /// A text.
    #[must_use]
    pub fn text(&self, field: FieldHandle) -> Option<&str> {
        match self.get(field) {
            Some(value) => {
                if let SchemaValue::Text(text) = value {
                    Some(text)
                } else {
                    None
                }
            }
            None => self.private(field)?.as_text(),
        }
    }

    /// The elements of a list, or the fields of a nested record.
    #[must_use]
    pub fn list(&self, field: FieldHandle) -> Option<&[SchemaValue]> {
        if let SchemaValue::List(list) = self.get(field)? { Some(list) } else { None }
    }

    fn at(&self, index: usize) -> Option<&SchemaValue> {
        if let SchemaValue::List(fields) = &self.value { fields.get(index) } else { None }
    }

    fn numbers_at(&self, index: usize) -> Option<&[f32]> {
        if let SchemaValue::Numbers(numbers) = self.at(index)? { Some(numbers) } else { None }
    }
}

impl Deref for RecordMut<'_> {
    type Target = Record;

    fn deref(&self) -> &Record {
        self.record
    }
}

impl RecordMut<'_> {
    /// The record's type.
    #[must_use]
    pub fn record_type(&self) -> &RecordType {
        self.record_type
    }

    /// Sets any field. Here and below, a value that does not fit is an error and changes nothing.
    pub fn set(&mut self, field: FieldHandle, value: &DynamicValue) -> Result<(), ValueError> {
        if field.is_private {
            return self.set_private(field, value.clone());
        }
        let (declared, to) = self.slot(field)?;
        *to = declared.kind.accept(&declared.name, value)?;
        Ok(())
    }

    /// Sets a field of real numbers.
    pub fn set_numbers(&mut self, field: FieldHandle, numbers: &[f32]) -> Result<(), ValueError> {
        let (declared, to) = self.slot(field)?;
        declared.kind.check_numbers(&declared.name, numbers)?;
        if let SchemaValue::Numbers(to) = to {
            to.clear();
            to.extend_from_slice(numbers);
        }
        Ok(())
    }

    /// Sets a field of one real number, or a private number.
    pub fn set_number(&mut self, field: FieldHandle, number: f64) -> Result<(), ValueError> {
        if field.is_private {
            return self.set_private(field, DynamicValue::Number(number));
        }
        self.set_numbers(field, &[number as f32])
    }

    /// Sets a whole number.
    pub fn set_whole(&mut self, field: FieldHandle, whole: i64) -> Result<(), ValueError> {
        if field.is_private {
            return self.set_private(field, DynamicValue::Whole(whole));
        }
        self.set_value(field, SchemaValue::Whole(whole))
    }

    /// Sets a boolean.
    pub fn set_flag(&mut self, field: FieldHandle, flag: bool) -> Result<(), ValueError> {
        if field.is_private {
            return self.set_private(field, DynamicValue::Flag(flag));
        }
        self.set_value(field, SchemaValue::Flag(flag))
    }

    /// Sets a choice by the number of its variant.
    pub fn set_choice(&mut self, field: FieldHandle, choice: u32) -> Result<(), ValueError> {
        self.set_value(field, SchemaValue::Choice(choice))
    }

    /// Sets a text.
    pub fn set_text(&mut self, field: FieldHandle, text: &str) -> Result<(), ValueError> {
        if field.is_private {
            return self.set_private(field, DynamicValue::Text(text.to_owned()));
        }
        let (declared, to) = self.slot(field)?;
        match (&declared.kind, to) {
            (FieldKind::Text { bytes_max }, SchemaValue::Text(to)) if text.len() <= usize::from(*bytes_max) => {
                to.clear();
                to.push_str(text);
                Ok(())
            }
            (kind, _) => kind.accept(&declared.name, &DynamicValue::Text(text.to_owned())).map(drop),
        }
    }

    /// Sets a replicated field to an untyped value, such as a list or a nested record.
    pub fn set_value(&mut self, field: FieldHandle, value: SchemaValue) -> Result<(), ValueError> {
        let (declared, to) = self.slot(field)?;
        declared.kind.check(&declared.name, &value)?;
        *to = value;
        Ok(())
    }

    /// Replaces all fields with those of another record of the same type.
    pub fn replace(&mut self, record: &Record) -> Result<(), ValueError> {
        self.record_type.check(record)?;
        self.record.clone_from(record);
        Ok(())
    }

    fn set_private(&mut self, field: FieldHandle, value: DynamicValue) -> Result<(), ValueError> {
        let declared = match field.record == self.record_type.number && field.is_private {
            true => self.record_type.private.get(usize::from(field.index)),
            false => None,
        };
        let declared = declared.ok_or_else(|| self.record_type.other_record())?;
        let value = match (&declared.initial, value) {
            (DynamicValue::Number(_), DynamicValue::Whole(whole)) => DynamicValue::Number(whole as f64),
            (_, value) => value,
        };
        if std::mem::discriminant(&value) != std::mem::discriminant(&declared.initial) {
            let expected = declared.initial.type_name().to_owned();
            return Err(ValueError::WrongType { field: declared.name.clone(), expected });
        }
        if value.as_number().is_some_and(|number| !number.is_finite()) {
            return Err(ValueError::NotFinite { field: declared.name.clone() });
        }
        self.record.private[usize::from(field.index)] = value;
        Ok(())
    }

    /// Returns the declaration and the value of a replicated field.
    fn slot(&mut self, field: FieldHandle) -> Result<(&FieldSchema, &mut SchemaValue), ValueError> {
        let record_type = self.record_type;
        let is_own = field.record == record_type.number && !field.is_private;
        let declared = if is_own { record_type.fields().get(usize::from(field.index)) } else { None };
        let value = match &mut self.record.value {
            SchemaValue::List(values) => values.get_mut(usize::from(field.index)),
            _ => None,
        };
        declared.zip(value).ok_or_else(|| record_type.other_record())
    }
}
