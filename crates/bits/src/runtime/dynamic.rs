//! Values of scripts, and their checked conversion.

use super::ValueError;
use crate::codec::Number;
use crate::{FieldKind, FieldSchema, SchemaValue};

/// A value of a game that is defined at run time. It is not yet checked against a field.
#[derive(Clone, Debug, PartialEq)]
pub enum DynamicValue {
    /// A boolean.
    Flag(bool),
    /// An integer.
    Whole(i64),
    /// A real number.
    Number(f64),
    /// A text, or the name of a choice's variant.
    Text(String),
    /// A list, or the numbers of a vector.
    List(Vec<DynamicValue>),
    /// Fields by name.
    Record(Vec<(String, DynamicValue)>),
}

/// Every integer up to this one is exact as an `f64`.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl From<bool> for DynamicValue {
    fn from(value: bool) -> Self {
        DynamicValue::Flag(value)
    }
}

macro_rules! from_whole {
    ($($integer:ty),*) => {$(
        impl From<$integer> for DynamicValue {
            fn from(value: $integer) -> Self {
                DynamicValue::Whole(i64::from(value))
            }
        }
    )*};
}

from_whole!(u8, u16, u32, i8, i16, i32, i64);

impl From<f32> for DynamicValue {
    fn from(value: f32) -> Self {
        DynamicValue::Number(f64::from(value))
    }
}

impl From<f64> for DynamicValue {
    fn from(value: f64) -> Self {
        DynamicValue::Number(value)
    }
}

impl From<&str> for DynamicValue {
    fn from(value: &str) -> Self {
        DynamicValue::Text(value.to_owned())
    }
}

impl From<String> for DynamicValue {
    fn from(value: String) -> Self {
        DynamicValue::Text(value)
    }
}

impl<T: Into<DynamicValue>> From<Vec<T>> for DynamicValue {
    fn from(values: Vec<T>) -> Self {
        DynamicValue::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<DynamicValue>, const N: usize> From<[T; N]> for DynamicValue {
    fn from(values: [T; N]) -> Self {
        DynamicValue::List(values.into_iter().map(Into::into).collect())
    }
}

impl TryFrom<u64> for DynamicValue {
    type Error = std::num::TryFromIntError;

    fn try_from(value: u64) -> Result<Self, Self::Error> {
        i64::try_from(value).map(DynamicValue::Whole)
    }
}

impl DynamicValue {
    /// Returns the boolean, if it is one.
    #[must_use]
    pub fn as_flag(&self) -> Option<bool> {
        if let DynamicValue::Flag(value) = self { Some(*value) } else { None }
    }

    /// Returns the integer, if it is one or a real number without a fraction.
    #[must_use]
    pub fn as_whole(&self) -> Option<i64> {
        match self {
            DynamicValue::Whole(value) => Some(*value),
            DynamicValue::Number(value) if value.fract() == 0.0 && value.abs() <= EXACT_MAX => Some(*value as i64),
            _ => None,
        }
    }

    /// Returns the number, if it is one.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self {
            DynamicValue::Number(value) => Some(*value),
            DynamicValue::Whole(value) => Some(*value as f64),
            _ => None,
        }
    }

    /// Returns the text, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let DynamicValue::Text(value) = self { Some(value) } else { None }
    }

    /// Returns the elements, if it is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[DynamicValue]> {
        if let DynamicValue::List(value) = self { Some(value) } else { None }
    }

    /// Returns the value of a field, if it is a record that has it.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&DynamicValue> {
        let DynamicValue::Record(fields) = self else { return None };
        fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Name of the type, with an article.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            DynamicValue::Flag(_) => "true or false",
            DynamicValue::Whole(_) => "a whole number",
            DynamicValue::Number(_) => "a number",
            DynamicValue::Text(_) => "a text",
            DynamicValue::List(_) => "a list",
            DynamicValue::Record(_) => "a record",
        }
    }
}

impl FieldKind {
    /// Converts a value to this kind, or returns an error if it does not fit. The error names `field`.
    pub fn accept(&self, field: &str, value: &DynamicValue) -> Result<SchemaValue, ValueError> {
        let accepted = match (self, value) {
            (FieldKind::Flag, DynamicValue::Flag(value)) => SchemaValue::Flag(*value),
            (FieldKind::Whole { .. }, DynamicValue::Whole(_) | DynamicValue::Number(_)) => {
                let Some(whole) = value.as_whole() else { return Err(self.number_error(field, value)) };
                SchemaValue::Whole(whole)
            }
            (FieldKind::Choice { names }, DynamicValue::Text(name)) => {
                let number = names.iter().position(|known| known == name);
                let unknown = || unknown_choice(field, name, names);
                SchemaValue::Choice(number.ok_or_else(unknown)? as u32)
            }
            (FieldKind::Choice { names }, DynamicValue::Whole(number)) => {
                let number = u32::try_from(*number).map_err(|_| unknown_choice(field, &number.to_string(), names))?;
                SchemaValue::Choice(number)
            }
            (FieldKind::Text { .. }, DynamicValue::Text(text)) => SchemaValue::Text(text.clone()),
            (FieldKind::List { len_max, element }, DynamicValue::List(values)) => {
                // The length is checked first, so that an oversized list is not converted.
                check_len(field, values.len(), *len_max)?;
                let accept = |(index, value)| element.accept(&format!("{field}[{index}]"), value);
                SchemaValue::List(values.iter().enumerate().map(accept).collect::<Result<_, _>>()?)
            }
            (FieldKind::Record { fields }, DynamicValue::Record(values)) => accept_record(fields, field, values)?,
            _ => SchemaValue::Numbers(self.accept_numbers(field, value)?),
        };
        self.check(field, &accepted)?;
        Ok(accepted)
    }

    /// Checks that a value is of this kind and in its range. The error names `field`.
    pub fn check(&self, field: &str, value: &SchemaValue) -> Result<(), ValueError> {
        match (self, value) {
            (FieldKind::Flag, SchemaValue::Flag(_)) => Ok(()),
            (FieldKind::Whole { min, max }, SchemaValue::Whole(value)) => match (min..=max).contains(&value) {
                true => Ok(()),
                false => Err(out_of_range(field, value, format!("{min} to {max}"))),
            },
            (FieldKind::Choice { names }, SchemaValue::Choice(value)) => match (*value as usize) < names.len() {
                true => Ok(()),
                false => Err(unknown_choice(field, &value.to_string(), names)),
            },
            (FieldKind::Text { bytes_max }, SchemaValue::Text(text)) => check_len(field, text.len(), *bytes_max),
            (FieldKind::List { len_max, element }, SchemaValue::List(values)) => {
                check_len(field, values.len(), *len_max)?;
                values.iter().try_for_each(|value| element.check(field, value))
            }
            (FieldKind::Record { fields }, SchemaValue::List(values)) if fields.len() == values.len() => {
                fields.iter().zip(values).try_for_each(|(field, value)| field.kind.check(&field.name, value))
            }
            (kind, SchemaValue::Numbers(numbers)) => kind.check_numbers(field, numbers),
            _ => Err(self.wrong_type(field)),
        }
    }

    /// Checks the numbers of a vector, an angle or a direction.
    pub(super) fn check_numbers(&self, field: &str, numbers: &[f32]) -> Result<(), ValueError> {
        if self.numbers_len() != Some(numbers.len()) {
            return Err(self.wrong_type(field));
        }
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(ValueError::NotFinite { field: field.to_owned() });
        }
        match self {
            FieldKind::Number { min, max, step, .. } => {
                // Half a step beyond the range rounds to its end, and the end as an f32 may be slightly beyond itself.
                let range = min - step / 2.0..=max + step / 2.0;
                match numbers.iter().find(|number| !range.contains(&f64::from(**number))) {
                    Some(number) => Err(out_of_range(field, number, format!("{min} to {max}"))),
                    None => Ok(()),
                }
            }
            FieldKind::Rotation { .. } | FieldKind::UnitVector { .. } => {
                let length = numbers.iter().map(|number| number * number).sum::<f32>();
                let has_direction = length.is_finite() && length.sqrt() > f32::MIN_POSITIVE;
                if has_direction { Ok(()) } else { Err(out_of_range(field, &length, "of length one".to_owned())) }
            }
            _ => Ok(()),
        }
    }

    /// Converts a value of this kind for a script.
    #[must_use]
    pub fn present(&self, value: &SchemaValue) -> DynamicValue {
        match (self, value) {
            (_, SchemaValue::Flag(value)) => DynamicValue::Flag(*value),
            (_, SchemaValue::Whole(value)) => DynamicValue::Whole(*value),
            (FieldKind::Choice { names }, SchemaValue::Choice(value)) if (*value as usize) < names.len() => {
                DynamicValue::Text(names[*value as usize].clone())
            }
            (_, SchemaValue::Choice(value)) => DynamicValue::Whole(i64::from(*value)),
            (_, SchemaValue::Text(value)) => DynamicValue::Text(value.clone()),
            (_, SchemaValue::Numbers(numbers)) => match &numbers[..] {
                [number] => DynamicValue::from(*number),
                numbers => DynamicValue::List(numbers.iter().map(|number| (*number).into()).collect()),
            },
            (FieldKind::Record { fields }, SchemaValue::List(values)) => {
                let present =
                    |(field, value): (&FieldSchema, &SchemaValue)| (field.name.clone(), field.kind.present(value));
                DynamicValue::Record(fields.iter().zip(values).map(present).collect())
            }
            (FieldKind::List { element, .. }, SchemaValue::List(values)) => {
                DynamicValue::List(values.iter().map(|value| element.present(value)).collect())
            }
            (_, SchemaValue::List(_)) => DynamicValue::List(Vec::new()),
        }
    }

    /// Number of real numbers in a value, if the kind consists of them.
    fn numbers_len(&self) -> Option<usize> {
        match self {
            FieldKind::Number { len, .. } => Some(usize::from(*len)),
            FieldKind::Angle { .. } => Some(1),
            FieldKind::Rotation { .. } => Some(4),
            FieldKind::UnitVector { .. } => Some(3),
            _ => None,
        }
    }

    fn accept_numbers(&self, field: &str, value: &DynamicValue) -> Result<Vec<f32>, ValueError> {
        let wrong = || self.wrong_type(field);
        let numbers = match (self.numbers_len().ok_or_else(wrong)?, value) {
            (1, value) => vec![value.as_number().ok_or_else(wrong)?],
            (len, DynamicValue::List(values)) if values.len() == len => {
                values.iter().map(DynamicValue::as_number).collect::<Option<Vec<f64>>>().ok_or_else(wrong)?
            }
            _ => return Err(wrong()),
        };
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err(ValueError::NotFinite { field: field.to_owned() });
        }
        // A finite number stays finite: beyond f32 it is clamped, and the range check reports it.
        let narrow = |number: f64| number.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
        Ok(numbers.into_iter().map(narrow).collect())
    }

    pub(super) fn wrong_type(&self, field: &str) -> ValueError {
        let expected = match self {
            FieldKind::Flag => "true or false".to_owned(),
            FieldKind::Whole { min, max } => format!("a whole number from {min} to {max}"),
            FieldKind::Choice { names } => format!("one of {}", names.join(", ")),
            FieldKind::Text { bytes_max } => format!("a text of up to {bytes_max} bytes"),
            FieldKind::List { len_max, .. } => format!("a list of up to {len_max} values"),
            FieldKind::Record { .. } => "a record with its fields by name".to_owned(),
            kind => match kind.numbers_len() {
                Some(1) | None => "a number".to_owned(),
                Some(len) => format!("a list of {len} numbers"),
            },
        };
        ValueError::WrongType { field: field.to_owned(), expected }
    }

    fn number_error(&self, field: &str, value: &DynamicValue) -> ValueError {
        match value.as_number() {
            Some(number) if !number.is_finite() => ValueError::NotFinite { field: field.to_owned() },
            _ => self.wrong_type(field),
        }
    }

    /// Returns the kind of a vector as the derive describes it: the upper end is on the grid.
    pub(super) fn number(len: u8, min: f64, max: f64, step: f64) -> Option<FieldKind> {
        use crate::codec::Codec;
        if !Number::is_valid(min, max, step) {
            return None;
        }
        match Codec::<f32>::kind(&Number::new(min, max, step)) {
            FieldKind::Number { min, max, step, .. } => Some(FieldKind::Number { len, min, max, step }),
            _ => None,
        }
    }
}

/// Converts a record. Missing fields get their initial value; an unknown field is an error.
pub(super) fn accept_record(
    fields: &[FieldSchema],
    name: &str,
    values: &[(String, DynamicValue)],
) -> Result<SchemaValue, ValueError> {
    let mut accepted: Vec<SchemaValue> = fields.iter().map(|field| field.initial.clone()).collect();
    for (key, value) in values {
        let index = fields.iter().position(|field| field.name == *key);
        let index = index.ok_or_else(|| unknown_field(name, key, fields.iter().map(|field| field.name.as_str())))?;
        accepted[index] = fields[index].kind.accept(&fields[index].name, value)?;
    }
    Ok(SchemaValue::List(accepted))
}

pub(super) fn unknown_field<'a>(record: &str, name: &str, known: impl Iterator<Item = &'a str>) -> ValueError {
    let known = known.collect::<Vec<_>>().join(", ");
    ValueError::UnknownField { field: format!("{record}.{name}"), known }
}

fn unknown_choice(field: &str, name: &str, names: &[String]) -> ValueError {
    ValueError::UnknownChoice { field: field.to_owned(), name: name.to_owned(), known: names.join(", ") }
}

fn out_of_range(field: &str, value: &impl ToString, range: String) -> ValueError {
    ValueError::OutOfRange { field: field.to_owned(), value: value.to_string(), range }
}

fn check_len(field: &str, len: usize, max: u8) -> Result<(), ValueError> {
    let max = usize::from(max);
    if len > max { Err(ValueError::TooLong { field: field.to_owned(), len, max }) } else { Ok(()) }
}
