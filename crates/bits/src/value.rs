//! Untyped values: a generic client reads them through the schema alone.

use crate::codec::{Angle, Codec, Integer, Number, Rotation, Text, UnitVector, VectorBasis, bits_for};
use crate::schema::choice_bits;
use crate::{BitReader, BitWriter, DeltaBasis, FieldKind, FieldReader, FieldSchema, FieldWriter, ReadError};

/// A value of some [`FieldKind`].
#[derive(Debug, PartialEq)]
pub enum SchemaValue {
    /// Value of [`FieldKind::Flag`].
    Flag(bool),
    /// Value of [`FieldKind::Whole`].
    Whole(i64),
    /// Value of the kinds that consist of real numbers.
    Numbers(Vec<f32>),
    /// Index of a name of [`FieldKind::Choice`].
    Choice(u32),
    /// Value of [`FieldKind::Text`].
    Text(String),
    /// Value of [`FieldKind::List`], or the fields of a [`FieldKind::Record`].
    List(Vec<SchemaValue>),
}

impl Clone for SchemaValue {
    fn clone(&self) -> Self {
        match self {
            SchemaValue::Flag(value) => SchemaValue::Flag(*value),
            SchemaValue::Whole(value) => SchemaValue::Whole(*value),
            SchemaValue::Numbers(value) => SchemaValue::Numbers(value.clone()),
            SchemaValue::Choice(value) => SchemaValue::Choice(*value),
            SchemaValue::Text(value) => SchemaValue::Text(value.clone()),
            SchemaValue::List(value) => SchemaValue::List(value.clone()),
        }
    }

    /// Reuses the memory of the old value: a column stores versions of every value, and copies one for each change.
    fn clone_from(&mut self, source: &Self) {
        match (self, source) {
            (SchemaValue::Numbers(to), SchemaValue::Numbers(from)) => to.clone_from(from),
            (SchemaValue::Text(to), SchemaValue::Text(from)) => to.clone_from(from),
            (SchemaValue::List(to), SchemaValue::List(from)) => to.clone_from(from),
            (to, from) => *to = from.clone(),
        }
    }
}

impl FieldKind {
    /// Rounds `value` to the nearest one that can be encoded, as [`crate::Replicate::snap`] does. A value of another
    /// kind stays unchanged.
    pub fn snap(&self, value: &mut SchemaValue) {
        match (self, value) {
            (FieldKind::Whole { min, max }, SchemaValue::Whole(value)) => Integer::new(*min, *max).snap(value),
            (FieldKind::Number { min, max, step, .. }, SchemaValue::Numbers(value)) => {
                let number = Number::new(*min, *max, *step);
                value.iter_mut().for_each(|component| number.snap(component));
            }
            (FieldKind::Angle { bits }, SchemaValue::Numbers(value)) => {
                value.iter_mut().for_each(|radians| Angle::new(u32::from(*bits)).snap(radians));
            }
            (FieldKind::Rotation { bits }, SchemaValue::Numbers(value)) => {
                if let Ok(value) = <&mut [f32; 4]>::try_from(&mut value[..]) {
                    Rotation::new(u32::from(*bits)).snap(value);
                }
            }
            (FieldKind::UnitVector { bits }, SchemaValue::Numbers(value)) => {
                if let Ok(value) = <&mut [f32; 3]>::try_from(&mut value[..]) {
                    UnitVector::new(u32::from(*bits)).snap(value);
                }
            }
            (FieldKind::Text { bytes_max }, SchemaValue::Text(value)) => Text::new(u32::from(*bytes_max)).snap(value),
            (FieldKind::List { len_max, element }, SchemaValue::List(value)) => {
                value.truncate(usize::from(*len_max));
                value.iter_mut().for_each(|value| element.snap(value));
            }
            (FieldKind::Record { fields }, SchemaValue::List(value)) => {
                fields.iter().zip(value).for_each(|(field, value)| field.kind.snap(value));
            }
            _ => {}
        }
    }

    /// Appends `value` as the difference from the basis, in the same bits as the derive.
    /// A value of another kind is rejected.
    pub fn write_delta(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        value: &SchemaValue,
        writer: &mut BitWriter,
    ) -> Result<(), ReadError> {
        self.write(basis, value, &mut FieldWriter::new(writer))
    }

    /// Reads a value that was written against the same basis.
    pub fn read_delta(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        reader: &mut BitReader<'_>,
    ) -> Result<SchemaValue, ReadError> {
        self.read_value(basis, &mut FieldReader::new(reader))
    }

    fn write(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        value: &SchemaValue,
        fields: &mut FieldWriter<'_>,
    ) -> Result<(), ReadError> {
        match (self, value) {
            (FieldKind::Flag, SchemaValue::Flag(value)) => fields.bits(u64::from(*value), 1),
            (FieldKind::Whole { min, max }, SchemaValue::Whole(value)) => {
                Integer::new(*min, *max).write(DeltaBasis::new(&basis.value.whole()?), value, fields);
            }
            (FieldKind::Choice { names }, SchemaValue::Choice(value)) if (*value as usize) < names.len() => {
                write_choice(basis.value.choice()?, *value, names.len(), fields);
            }
            (FieldKind::Text { bytes_max }, SchemaValue::Text(value)) => {
                Text::new(u32::from(*bytes_max)).write(DeltaBasis::new(basis.value.text()?), value, fields);
            }
            (FieldKind::List { len_max, element }, SchemaValue::List(value)) => {
                let base = basis.value.list()?;
                let len = value.len().min(usize::from(*len_max));
                fields.bits(len as u64, bits_for(u64::from(*len_max)));
                // An element beyond the baseline is the difference from the initial one, which is built only if needed.
                let fresh = if len > base.len() { Some(element.initial()) } else { None };
                for (index, value) in value[..len].iter().enumerate() {
                    let base = base.get(index).or(fresh.as_ref()).ok_or(ReadError::OutOfRange)?;
                    element.write(DeltaBasis::new(base), value, fields)?;
                }
            }
            (FieldKind::Record { fields: parts }, SchemaValue::List(value)) if value.len() == parts.len() => {
                for (index, part) in in_packing_order(parts) {
                    match part.moves_by {
                        None => part.kind.write(basis.part(index)?, &value[index], fields)?,
                        Some(by) => {
                            part.write_moving(basis.part(index)?, basis.part(by.into())?, value, (index, fields))?
                        }
                    }
                }
            }
            (kind, SchemaValue::Numbers(value)) => kind.write_numbers(basis, value, fields)?,
            _ => return Err(ReadError::OutOfRange),
        }
        Ok(())
    }

    fn read_value(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        fields: &mut FieldReader<'_, '_>,
    ) -> Result<SchemaValue, ReadError> {
        match self {
            FieldKind::Flag => Ok(SchemaValue::Flag(fields.bits(1)? == 1)),
            FieldKind::Whole { min, max } => {
                Ok(SchemaValue::Whole(Integer::new(*min, *max).read(DeltaBasis::new(&basis.value.whole()?), fields)?))
            }
            FieldKind::Choice { names } => {
                Ok(SchemaValue::Choice(read_choice(basis.value.choice()?, names.len(), fields)?))
            }
            FieldKind::Text { bytes_max } => {
                let text = Text::new(u32::from(*bytes_max)).read(DeltaBasis::new(basis.value.text()?), fields)?;
                Ok(SchemaValue::Text(text))
            }
            FieldKind::List { len_max, element } => {
                let base = basis.value.list()?;
                let len = fields.bits(bits_for(u64::from(*len_max)))? as usize;
                if len > usize::from(*len_max) {
                    return Err(ReadError::TooLong);
                }
                let fresh = element.initial();
                let read = |index| element.read_value(DeltaBasis::new(base.get(index).unwrap_or(&fresh)), fields);
                Ok(SchemaValue::List((0..len).map(read).collect::<Result<_, _>>()?))
            }
            FieldKind::Record { fields: parts } => {
                let mut value = basis.value.list()?.to_vec();
                if value.len() != parts.len() {
                    return Err(ReadError::OutOfRange);
                }
                for (index, part) in in_packing_order(parts) {
                    value[index] = match part.moves_by {
                        None => part.kind.read_value(basis.part(index)?, fields)?,
                        Some(by) => part.read_moving(basis.part(index)?, basis.part(by.into())?, (&value, fields))?,
                    };
                }
                Ok(SchemaValue::List(value))
            }
            kind => kind.read_numbers(basis, fields),
        }
    }

    fn write_numbers(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        value: &[f32],
        fields: &mut FieldWriter<'_>,
    ) -> Result<(), ReadError> {
        match self {
            FieldKind::Number { len, min, max, step } => {
                let basis = vector_basis(basis, *len)?;
                if value.len() != basis.value.len() {
                    return Err(ReadError::OutOfRange);
                }
                Number::new(*min, *max, *step).write_vector(&basis, value, fields);
            }
            FieldKind::Angle { bits } => {
                let [value] = exactly(value)?;
                with_array(basis, |basis| Angle::new(u32::from(*bits)).write(basis.field(first), &value, fields))?;
            }
            FieldKind::Rotation { bits } => {
                let value = exactly(value)?;
                with_array(basis, |basis| Rotation::new(u32::from(*bits)).write(basis, &value, fields))?;
            }
            FieldKind::UnitVector { bits } => {
                let value = exactly(value)?;
                with_array(basis, |basis| UnitVector::new(u32::from(*bits)).write(basis, &value, fields))?;
            }
            _ => return Err(ReadError::OutOfRange),
        }
        Ok(())
    }

    fn read_numbers(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        fields: &mut FieldReader<'_, '_>,
    ) -> Result<SchemaValue, ReadError> {
        let numbers = match self {
            FieldKind::Number { len, min, max, step } => {
                let basis = vector_basis(basis, *len)?;
                let mut value = basis.value.to_vec();
                Number::new(*min, *max, *step).read_vector(&basis, &mut value, fields)?;
                value
            }
            FieldKind::Angle { bits } => {
                let angle = Angle::new(u32::from(*bits));
                vec![with_array(basis, |basis| angle.read(basis.field(first), fields))??]
            }
            FieldKind::Rotation { bits } => {
                with_array(basis, |basis| Rotation::new(u32::from(*bits)).read(basis, fields))??.to_vec()
            }
            FieldKind::UnitVector { bits } => {
                with_array(basis, |basis| UnitVector::new(u32::from(*bits)).read(basis, fields))??.to_vec()
            }
            _ => return Err(ReadError::OutOfRange),
        };
        Ok(SchemaValue::Numbers(numbers))
    }
}

impl FieldSchema {
    /// Appends this field, which is expected to move by another one.
    fn write_moving(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        velocity: DeltaBasis<'_, SchemaValue>,
        record: &[SchemaValue],
        (index, fields): (usize, &mut FieldWriter<'_>),
    ) -> Result<(), ReadError> {
        let (number, basis) = self.moving(basis, velocity, record)?;
        let value = record[index].numbers()?;
        if value.len() != basis.value.len() {
            return Err(ReadError::OutOfRange);
        }
        number.write_vector(&basis, value, fields);
        Ok(())
    }

    fn read_moving(
        &self,
        basis: DeltaBasis<'_, SchemaValue>,
        velocity: DeltaBasis<'_, SchemaValue>,
        (record, fields): (&[SchemaValue], &mut FieldReader<'_, '_>),
    ) -> Result<SchemaValue, ReadError> {
        let (number, basis) = self.moving(basis, velocity, record)?;
        let mut value = basis.value.to_vec();
        number.read_vector(&basis, &mut value, fields)?;
        Ok(SchemaValue::Numbers(value))
    }

    fn moving<'a>(
        &self,
        basis: DeltaBasis<'a, SchemaValue>,
        velocity: DeltaBasis<'a, SchemaValue>,
        record: &'a [SchemaValue],
    ) -> Result<(Number, VectorBasis<'a>), ReadError> {
        let FieldKind::Number { len, min, max, step } = &self.kind else {
            return Err(ReadError::OutOfRange);
        };
        let by = self.moves_by.map_or(0, usize::from);
        let mut basis = vector_basis(basis, *len)?;
        let (then, now) = (velocity.value.numbers()?, record.get(by).ok_or(ReadError::OutOfRange)?.numbers()?);
        if then.len() != basis.value.len() || now.len() != basis.value.len() {
            return Err(ReadError::OutOfRange);
        }
        basis.velocity = Some((then, now));
        Ok((Number::new(*min, *max, *step), basis))
    }
}

impl SchemaValue {
    fn whole(&self) -> Result<i64, ReadError> {
        if let SchemaValue::Whole(whole) = self { Ok(*whole) } else { Err(ReadError::OutOfRange) }
    }

    fn choice(&self) -> Result<u32, ReadError> {
        if let SchemaValue::Choice(choice) = self { Ok(*choice) } else { Err(ReadError::OutOfRange) }
    }

    fn text(&self) -> Result<&String, ReadError> {
        if let SchemaValue::Text(text) = self { Ok(text) } else { Err(ReadError::OutOfRange) }
    }

    fn numbers(&self) -> Result<&[f32], ReadError> {
        if let SchemaValue::Numbers(numbers) = self { Ok(numbers) } else { Err(ReadError::OutOfRange) }
    }

    fn list(&self) -> Result<&[SchemaValue], ReadError> {
        if let SchemaValue::List(list) = self { Ok(list) } else { Err(ReadError::OutOfRange) }
    }
}

impl<'a> DeltaBasis<'a, SchemaValue> {
    /// The basis of a record's field.
    fn part(self, index: usize) -> Result<DeltaBasis<'a, SchemaValue>, ReadError> {
        let part = |value: &'a SchemaValue| value.list()?.get(index).ok_or(ReadError::OutOfRange);
        let earlier = self.earlier.map(part).transpose()?;
        Ok(DeltaBasis { value: part(self.value)?, earlier, ages: self.ages })
    }
}

/// Appends the number of a variant. The derive for enums uses it.
pub fn write_choice(base: u32, value: u32, len: usize, fields: &mut FieldWriter<'_>) {
    fields.bits(u64::from(base != value), 1);
    if base != value {
        fields.bits(u64::from(value), choice_bits(len));
    }
}

/// Reads the number of a variant.
pub fn read_choice(base: u32, len: usize, fields: &mut FieldReader<'_, '_>) -> Result<u32, ReadError> {
    if fields.bits(1)? == 0 {
        return Ok(base);
    }
    let value = fields.bits(choice_bits(len))? as u32;
    if (value as usize) < len { Ok(value) } else { Err(ReadError::OutOfRange) }
}

/// The fields in packing order: fields that move by another one follow all others.
fn in_packing_order(parts: &[FieldSchema]) -> impl Iterator<Item = (usize, &FieldSchema)> {
    let still = parts.iter().enumerate().filter(|(_, part)| part.moves_by.is_none());
    still.chain(parts.iter().enumerate().filter(|(_, part)| part.moves_by.is_some()))
}

fn vector_basis(basis: DeltaBasis<'_, SchemaValue>, len: u8) -> Result<VectorBasis<'_>, ReadError> {
    let value = basis.value.numbers()?;
    let earlier = basis.earlier.map(SchemaValue::numbers).transpose()?;
    let fits = value.len() == usize::from(len) && earlier.is_none_or(|earlier| earlier.len() == value.len());
    let basis = VectorBasis { value, earlier, velocity: None, ages: basis.ages };
    fits.then_some(basis).ok_or(ReadError::OutOfRange)
}

/// Calls `run` with the basis as arrays.
fn with_array<const N: usize, R>(
    basis: DeltaBasis<'_, SchemaValue>,
    run: impl FnOnce(DeltaBasis<'_, [f32; N]>) -> R,
) -> Result<R, ReadError> {
    let value = exactly(basis.value.numbers()?)?;
    let earlier = basis.earlier.map(|earlier| exactly(earlier.numbers()?)).transpose()?;
    Ok(run(DeltaBasis { value: &value, earlier: earlier.as_ref(), ages: basis.ages }))
}

fn first(numbers: &[f32; 1]) -> &f32 {
    &numbers[0]
}

fn exactly<const N: usize>(numbers: &[f32]) -> Result<[f32; N], ReadError> {
    numbers.try_into().map_err(|_| ReadError::OutOfRange)
}
