//! Declaration of fields.

use super::builder::build_fields;
use super::{DynamicValue, RecordBuilder, SchemaError, SchemaProblem};
use crate::codec::{Angle, Integer, List, Text};
use crate::schema::{CHOICES_MAX, NAME_BYTES_MAX};
use crate::{FieldKind, SchemaValue};
use std::ops::RangeInclusive;

/// Declares the packing of a field, as the attributes of the [`Replicate`](macro@crate::Replicate) derive do. It is
/// checked when the record is added to a schema.
#[derive(Clone, Debug)]
pub struct FieldBuilder {
    packing: Packing,
    initial: Option<DynamicValue>,
    pub(super) moves_by: Option<String>,
}

/// Unchecked packing.
#[derive(Clone, Debug)]
enum Packing {
    Flag,
    Whole(RangeInclusive<i64>),
    Numbers(u32, RangeInclusive<f64>, f64),
    Angle(u32),
    Rotation(u32),
    UnitVector(u32),
    Choice(Vec<String>),
    Text(u32),
    List(u32, Box<FieldBuilder>),
    Record(Box<RecordBuilder>),
}

/// Lower and upper bound of the bits of a component of a rotation or a unit vector.
const COMPONENT_BITS: (u32, u32) = (2, crate::codec::COMPONENT_BITS_MAX);

impl FieldBuilder {
    fn new(packing: Packing) -> Self {
        FieldBuilder { packing, initial: None, moves_by: None }
    }

    /// A boolean: `bool` in the derive.
    #[must_use]
    pub fn flag() -> Self {
        Self::new(Packing::Flag)
    }

    /// An integer: `range = -10..=10` in the derive. There, an integer without a range has the range of its type.
    #[must_use]
    pub fn whole(range: RangeInclusive<i64>) -> Self {
        Self::new(Packing::Whole(range))
    }

    /// A real number: `range = -10.0..=10.0, step = 0.1` in the derive.
    #[must_use]
    pub fn number(range: RangeInclusive<f64>, step: f64) -> Self {
        Self::numbers(1, range, step)
    }

    /// A vector of one to four numbers: the same attributes on `[f32; N]`.
    #[must_use]
    pub fn numbers(len: u32, range: RangeInclusive<f64>, step: f64) -> Self {
        Self::new(Packing::Numbers(len, range, step))
    }

    /// An angle in radians: `angle = 8` in the derive.
    #[must_use]
    pub fn angle(bits: u32) -> Self {
        Self::new(Packing::Angle(bits))
    }

    /// A quaternion `[x, y, z, w]`: `rotation = 9` in the derive.
    #[must_use]
    pub fn rotation(bits: u32) -> Self {
        Self::new(Packing::Rotation(bits))
    }

    /// A vector `[x, y, z]` of length one: `unit_vector = 10` in the derive.
    #[must_use]
    pub fn unit_vector(bits: u32) -> Self {
        Self::new(Packing::UnitVector(bits))
    }

    /// One of several names: an enum without fields in the derive.
    #[must_use]
    pub fn choice<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self::new(Packing::Choice(names.into_iter().map(Into::into).collect()))
    }

    /// A text of up to `bytes_max` bytes: `text = 24` in the derive.
    #[must_use]
    pub fn text(bytes_max: u32) -> Self {
        Self::new(Packing::Text(bytes_max))
    }

    /// A list of up to `len_max` elements: `list = 8` in the derive.
    #[must_use]
    pub fn list(len_max: u32, element: FieldBuilder) -> Self {
        Self::new(Packing::List(len_max, Box::new(element)))
    }

    /// A nested record: a field whose type has the derive. Its name and channel are ignored.
    #[must_use]
    pub fn record(record: RecordBuilder) -> Self {
        Self::new(Packing::Record(Box::new(record)))
    }

    /// Sets the value in a new record: `default = …` in the derive. The default is zero, or the nearest value in range.
    #[must_use]
    pub fn initial(mut self, initial: impl Into<DynamicValue>) -> Self {
        self.initial = Some(initial.into());
        self
    }

    /// Sets the field that holds the rate of change per second: `moves_by = velocity` in the derive.
    #[must_use]
    pub fn moves_by(mut self, velocity: impl Into<String>) -> Self {
        self.moves_by = Some(velocity.into());
        self
    }

    /// Returns the kind and the initial value. `depth` is the nesting that is still allowed, as when a schema is read.
    pub(super) fn build(&self, at: &str, depth: u32) -> Result<(FieldKind, SchemaValue), SchemaError> {
        let to_error = |problem| SchemaError { at: at.to_owned(), problem };
        let kind = self.packing.kind(at, depth)?;
        let initial = match &self.initial {
            None => kind.initial(),
            Some(initial) => {
                let accepted = kind.accept(at, initial);
                let mut value = accepted.map_err(|error| to_error(SchemaProblem::Initial(error.to_string())))?;
                kind.snap(&mut value);
                value
            }
        };
        Ok((kind, initial))
    }
}

impl Packing {
    fn kind(&self, at: &str, depth: u32) -> Result<FieldKind, SchemaError> {
        let to_error = |problem| SchemaError { at: at.to_owned(), problem };
        let sized = |what, size: u32, limits: (u32, u32)| match size >= limits.0 && size <= limits.1 {
            true => Ok(size as u8),
            false => Err(to_error(SchemaProblem::Size { what, size, limits })),
        };
        if depth == 0 {
            return Err(to_error(SchemaProblem::TooDeep));
        }
        Ok(match self {
            Packing::Flag => FieldKind::Flag,
            Packing::Whole(range) => {
                let (min, max) = (*range.start(), *range.end());
                let is_valid = Integer::is_valid(min, max);
                is_valid
                    .then_some(FieldKind::Whole { min, max })
                    .ok_or(to_error(SchemaProblem::WholeRange { min, max }))?
            }
            Packing::Numbers(len, range, step) => {
                let len = sized("the number of components", *len, (1, crate::codec::VECTOR_LEN_MAX as u32))?;
                let (min, max) = (*range.start(), *range.end());
                let text = || format!("the range {min} to {max} in steps of {step}");
                FieldKind::number(len, min, max, *step).ok_or_else(|| to_error(SchemaProblem::NumberRange(text())))?
            }
            Packing::Angle(bits) => {
                FieldKind::Angle { bits: sized("the bits of an angle", *bits, (1, Angle::BITS_MAX))? }
            }
            Packing::Rotation(bits) => {
                FieldKind::Rotation { bits: sized("the bits of a component", *bits, COMPONENT_BITS)? }
            }
            Packing::UnitVector(bits) => {
                FieldKind::UnitVector { bits: sized("the bits of a component", *bits, COMPONENT_BITS)? }
            }
            Packing::Choice(names) => {
                sized("the number of variants", names.len() as u32, (1, CHOICES_MAX as u32))?;
                check_names(at, names.iter().map(String::as_str))?;
                FieldKind::Choice { names: names.clone() }
            }
            Packing::Text(bytes) => {
                FieldKind::Text { bytes_max: sized("the text's length", *bytes, (1, Text::BYTES_MAX))? }
            }
            Packing::List(len, element) => {
                let len_max = sized("the list's length", *len, (1, List::LEN_MAX))?;
                if element.initial.is_some() || element.moves_by.is_some() {
                    return Err(to_error(SchemaProblem::Element));
                }
                let (element, _) = element.build(&format!("{at}[]"), depth - 1)?;
                FieldKind::List { len_max, element: Box::new(element) }
            }
            Packing::Record(record) if !record.private.is_empty() => return Err(to_error(SchemaProblem::Private)),
            Packing::Record(record) => FieldKind::Record { fields: build_fields(at, &record.fields, depth - 1)? },
        })
    }
}

/// Checks that names are unique and have an allowed length.
pub(super) fn check_names<'a>(at: &str, names: impl Iterator<Item = &'a str>) -> Result<(), SchemaError> {
    let mut known: Vec<&str> = Vec::new();
    for name in names {
        check_name(at, name)?;
        if known.contains(&name) {
            let problem = SchemaProblem::NameTaken { name: name.to_owned() };
            return Err(SchemaError { at: at.to_owned(), problem });
        }
        known.push(name);
    }
    Ok(())
}

pub(super) fn check_name(at: &str, name: &str) -> Result<(), SchemaError> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(SchemaError { at: at.to_owned(), problem: SchemaProblem::NameLength { len: name.len() } });
    }
    Ok(())
}
