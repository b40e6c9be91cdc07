//! Values without types: what a generic client sees through the schema alone.

use crate::codec::{Angle, Codec, Number, Rotation, Text, UnitVector, VectorBasis, Whole, bits_for};
use crate::schema::choice_bits;
use crate::{Basis, BitReader, BitWriter, Field, FieldReader, FieldWriter, Kind, ReadError};

/// A value of some [`Kind`].
#[derive(Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Whole`].
    Whole(i64),
    /// Of the kinds made of real numbers.
    Numbers(Vec<f32>),
    /// The number of a [`Kind::Choice`]'s name.
    Choice(u32),
    /// Of [`Kind::Text`].
    Text(String),
    /// Of [`Kind::List`], or the fields of a [`Kind::Record`].
    List(Vec<Value>),
}

impl Clone for Value {
    fn clone(&self) -> Self {
        match self {
            Value::Flag(value) => Value::Flag(*value),
            Value::Whole(value) => Value::Whole(*value),
            Value::Numbers(value) => Value::Numbers(value.clone()),
            Value::Choice(value) => Value::Choice(*value),
            Value::Text(value) => Value::Text(value.clone()),
            Value::List(value) => Value::List(value.clone()),
        }
    }

    /// Reuses the memory of what is overwritten: a column keeps versions of every value, and copies one for every change.
    fn clone_from(&mut self, source: &Self) {
        match (self, source) {
            (Value::Numbers(to), Value::Numbers(from)) => to.clone_from(from),
            (Value::Text(to), Value::Text(from)) => to.clone_from(from),
            (Value::List(to), Value::List(from)) => to.clone_from(from),
            (to, from) => *to = from.clone(),
        }
    }
}

impl Kind {
    /// Moves `value` to the nearest one that the wire can say, as [`crate::Replicate::snap`] does. A value that is not of
    /// this kind is left as it is.
    pub fn snap(&self, value: &mut Value) {
        match (self, value) {
            (Kind::Whole { min, max }, Value::Whole(value)) => Whole::new(*min, *max).snap(value),
            (Kind::Number { min, max, step, .. }, Value::Numbers(value)) => {
                let number = Number::new(*min, *max, *step);
                value.iter_mut().for_each(|component| number.snap(component));
            }
            (Kind::Angle { bits }, Value::Numbers(value)) => {
                value.iter_mut().for_each(|radians| Angle::new(u32::from(*bits)).snap(radians));
            }
            (Kind::Rotation { bits }, Value::Numbers(value)) => {
                if let Ok(value) = <&mut [f32; 4]>::try_from(&mut value[..]) {
                    Rotation::new(u32::from(*bits)).snap(value);
                }
            }
            (Kind::UnitVector { bits }, Value::Numbers(value)) => {
                if let Ok(value) = <&mut [f32; 3]>::try_from(&mut value[..]) {
                    UnitVector::new(u32::from(*bits)).snap(value);
                }
            }
            (Kind::Text { bytes_max }, Value::Text(value)) => Text::new(u32::from(*bytes_max)).snap(value),
            (Kind::List { len_max, element }, Value::List(value)) => {
                value.truncate(usize::from(*len_max));
                value.iter_mut().for_each(|value| element.snap(value));
            }
            (Kind::Record { fields }, Value::List(value)) => {
                fields.iter().zip(value).for_each(|(field, value)| field.kind.snap(value));
            }
            _ => {}
        }
    }

    /// Appends `value` as the difference from what the receiver has, in the same bits that the derive writes.
    /// A value that is not of this kind is refused.
    pub fn write_delta(&self, basis: Basis<'_, Value>, value: &Value, writer: &mut BitWriter) -> Result<(), ReadError> {
        self.write(basis, value, &mut FieldWriter::new(writer))
    }

    /// Reads a value that was written against the same basis.
    pub fn read_delta(&self, basis: Basis<'_, Value>, reader: &mut BitReader<'_>) -> Result<Value, ReadError> {
        self.read_value(basis, &mut FieldReader::new(reader))
    }

    fn write(&self, basis: Basis<'_, Value>, value: &Value, fields: &mut FieldWriter<'_>) -> Result<(), ReadError> {
        match (self, value) {
            (Kind::Flag, Value::Flag(value)) => fields.bits(u64::from(*value), 1),
            (Kind::Whole { min, max }, Value::Whole(value)) => {
                Whole::new(*min, *max).write(Basis::held(&basis.value.whole()?), value, fields);
            }
            (Kind::Choice { names }, Value::Choice(value)) if (*value as usize) < names.len() => {
                write_choice(basis.value.choice()?, *value, names.len(), fields);
            }
            (Kind::Text { bytes_max }, Value::Text(value)) => {
                Text::new(u32::from(*bytes_max)).write(Basis::held(basis.value.text()?), value, fields);
            }
            (Kind::List { len_max, element }, Value::List(value)) => {
                let base = basis.value.list()?;
                let len = value.len().min(usize::from(*len_max));
                fields.bits(len as u64, bits_for(u64::from(*len_max)));
                // What is beyond the base is the difference from a fresh element, which is made only if there is one.
                let fresh = if len > base.len() { Some(element.initial()) } else { None };
                for (index, value) in value[..len].iter().enumerate() {
                    let base = base.get(index).or(fresh.as_ref()).ok_or(ReadError::OutOfRange)?;
                    element.write(Basis::held(base), value, fields)?;
                }
            }
            (Kind::Record { fields: parts }, Value::List(value)) if value.len() == parts.len() => {
                for (index, part) in in_order(parts) {
                    match part.moves_by {
                        None => part.kind.write(basis.part(index)?, &value[index], fields)?,
                        Some(by) => {
                            part.write_moving(basis.part(index)?, basis.part(by.into())?, value, (index, fields))?
                        }
                    }
                }
            }
            (kind, Value::Numbers(value)) => kind.write_numbers(basis, value, fields)?,
            _ => return Err(ReadError::OutOfRange),
        }
        Ok(())
    }

    fn read_value(&self, basis: Basis<'_, Value>, fields: &mut FieldReader<'_, '_>) -> Result<Value, ReadError> {
        match self {
            Kind::Flag => Ok(Value::Flag(fields.bits(1)? == 1)),
            Kind::Whole { min, max } => {
                Ok(Value::Whole(Whole::new(*min, *max).read(Basis::held(&basis.value.whole()?), fields)?))
            }
            Kind::Choice { names } => Ok(Value::Choice(read_choice(basis.value.choice()?, names.len(), fields)?)),
            Kind::Text { bytes_max } => {
                let text = Text::new(u32::from(*bytes_max)).read(Basis::held(basis.value.text()?), fields)?;
                Ok(Value::Text(text))
            }
            Kind::List { len_max, element } => {
                let base = basis.value.list()?;
                let len = fields.bits(bits_for(u64::from(*len_max)))? as usize;
                if len > usize::from(*len_max) {
                    return Err(ReadError::TooLong);
                }
                let fresh = element.initial();
                let read = |index| element.read_value(Basis::held(base.get(index).unwrap_or(&fresh)), fields);
                Ok(Value::List((0..len).map(read).collect::<Result<_, _>>()?))
            }
            Kind::Record { fields: parts } => {
                let mut value = basis.value.list()?.to_vec();
                if value.len() != parts.len() {
                    return Err(ReadError::OutOfRange);
                }
                for (index, part) in in_order(parts) {
                    value[index] = match part.moves_by {
                        None => part.kind.read_value(basis.part(index)?, fields)?,
                        Some(by) => part.read_moving(basis.part(index)?, basis.part(by.into())?, (&value, fields))?,
                    };
                }
                Ok(Value::List(value))
            }
            kind => kind.read_numbers(basis, fields),
        }
    }

    fn write_numbers(
        &self,
        basis: Basis<'_, Value>,
        value: &[f32],
        fields: &mut FieldWriter<'_>,
    ) -> Result<(), ReadError> {
        match self {
            Kind::Number { len, min, max, step } => {
                let basis = vector_basis(basis, *len)?;
                if value.len() != basis.value.len() {
                    return Err(ReadError::OutOfRange);
                }
                Number::new(*min, *max, *step).write_vector(&basis, value, fields);
            }
            Kind::Angle { bits } => {
                let [value] = exactly(value)?;
                with_array(basis, |basis| Angle::new(u32::from(*bits)).write(basis.field(first), &value, fields))?;
            }
            Kind::Rotation { bits } => {
                let value = exactly(value)?;
                with_array(basis, |basis| Rotation::new(u32::from(*bits)).write(basis, &value, fields))?;
            }
            Kind::UnitVector { bits } => {
                let value = exactly(value)?;
                with_array(basis, |basis| UnitVector::new(u32::from(*bits)).write(basis, &value, fields))?;
            }
            _ => return Err(ReadError::OutOfRange),
        }
        Ok(())
    }

    fn read_numbers(&self, basis: Basis<'_, Value>, fields: &mut FieldReader<'_, '_>) -> Result<Value, ReadError> {
        let numbers = match self {
            Kind::Number { len, min, max, step } => {
                let basis = vector_basis(basis, *len)?;
                let mut value = basis.value.to_vec();
                Number::new(*min, *max, *step).read_vector(&basis, &mut value, fields)?;
                value
            }
            Kind::Angle { bits } => {
                let angle = Angle::new(u32::from(*bits));
                vec![with_array(basis, |basis| angle.read(basis.field(first), fields))??]
            }
            Kind::Rotation { bits } => {
                with_array(basis, |basis| Rotation::new(u32::from(*bits)).read(basis, fields))??.to_vec()
            }
            Kind::UnitVector { bits } => {
                with_array(basis, |basis| UnitVector::new(u32::from(*bits)).read(basis, fields))??.to_vec()
            }
            _ => return Err(ReadError::OutOfRange),
        };
        Ok(Value::Numbers(numbers))
    }
}

impl Field {
    /// Appends this field, expected to have moved by another one.
    fn write_moving(
        &self,
        basis: Basis<'_, Value>,
        velocity: Basis<'_, Value>,
        record: &[Value],
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
        basis: Basis<'_, Value>,
        velocity: Basis<'_, Value>,
        (record, fields): (&[Value], &mut FieldReader<'_, '_>),
    ) -> Result<Value, ReadError> {
        let (number, basis) = self.moving(basis, velocity, record)?;
        let mut value = basis.value.to_vec();
        number.read_vector(&basis, &mut value, fields)?;
        Ok(Value::Numbers(value))
    }

    fn moving<'a>(
        &self,
        basis: Basis<'a, Value>,
        velocity: Basis<'a, Value>,
        record: &'a [Value],
    ) -> Result<(Number, VectorBasis<'a>), ReadError> {
        let Kind::Number { len, min, max, step } = &self.kind else {
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

impl Value {
    fn whole(&self) -> Result<i64, ReadError> {
        if let Value::Whole(whole) = self { Ok(*whole) } else { Err(ReadError::OutOfRange) }
    }

    fn choice(&self) -> Result<u32, ReadError> {
        if let Value::Choice(choice) = self { Ok(*choice) } else { Err(ReadError::OutOfRange) }
    }

    fn text(&self) -> Result<&String, ReadError> {
        if let Value::Text(text) = self { Ok(text) } else { Err(ReadError::OutOfRange) }
    }

    fn numbers(&self) -> Result<&[f32], ReadError> {
        if let Value::Numbers(numbers) = self { Ok(numbers) } else { Err(ReadError::OutOfRange) }
    }

    fn list(&self) -> Result<&[Value], ReadError> {
        if let Value::List(list) = self { Ok(list) } else { Err(ReadError::OutOfRange) }
    }
}

impl<'a> Basis<'a, Value> {
    /// The basis of a record's field.
    fn part(self, index: usize) -> Result<Basis<'a, Value>, ReadError> {
        let part = |value: &'a Value| value.list()?.get(index).ok_or(ReadError::OutOfRange);
        let earlier = self.earlier.map(part).transpose()?;
        Ok(Basis { value: part(self.value)?, earlier, ages: self.ages })
    }
}

/// Appends the number of a variant; used by the derive for enums.
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

/// The fields in the order in which they are packed: those that move by another one come after it.
fn in_order(parts: &[Field]) -> impl Iterator<Item = (usize, &Field)> {
    let still = parts.iter().enumerate().filter(|(_, part)| part.moves_by.is_none());
    still.chain(parts.iter().enumerate().filter(|(_, part)| part.moves_by.is_some()))
}

fn vector_basis(basis: Basis<'_, Value>, len: u8) -> Result<VectorBasis<'_>, ReadError> {
    let value = basis.value.numbers()?;
    let earlier = basis.earlier.map(Value::numbers).transpose()?;
    let fits = value.len() == usize::from(len) && earlier.is_none_or(|earlier| earlier.len() == value.len());
    let basis = VectorBasis { value, earlier, velocity: None, ages: basis.ages };
    fits.then_some(basis).ok_or(ReadError::OutOfRange)
}

/// Hands on a basis of so many numbers.
fn with_array<const N: usize, R>(
    basis: Basis<'_, Value>,
    run: impl FnOnce(Basis<'_, [f32; N]>) -> R,
) -> Result<R, ReadError> {
    let value = exactly(basis.value.numbers()?)?;
    let earlier = basis.earlier.map(|earlier| exactly(earlier.numbers()?)).transpose()?;
    Ok(run(Basis { value: &value, earlier: earlier.as_ref(), ages: basis.ages }))
}

fn first(numbers: &[f32; 1]) -> &f32 {
    &numbers[0]
}

fn exactly<const N: usize>(numbers: &[f32]) -> Result<[f32; N], ReadError> {
    numbers.try_into().map_err(|_| ReadError::OutOfRange)
}
