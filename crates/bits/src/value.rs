//! Values without types: what a generic client sees through the schema alone.

use crate::codec::{Angle, Codec, Number, Rotation, Text, UnitVector, Whole, bits_for};
use crate::schema::choice_bits;
use crate::{BitReader, BitWriter, Field, Kind, ReadError};

/// A value of some [`Kind`].
#[derive(Clone, Debug, PartialEq)]
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

impl Kind {
    /// Appends `value` as the difference from `base`, in the same bits that the derive writes.
    /// A value that is not of this kind is refused.
    pub fn write_delta(
        &self,
        base: &Value,
        value: &Value,
        elapsed_seconds: f32,
        writer: &mut BitWriter,
    ) -> Result<(), ReadError> {
        match (self, base, value) {
            (Kind::Flag, _, Value::Flag(value)) => writer.write_bool(*value),
            (Kind::Whole { min, max }, Value::Whole(base), Value::Whole(value)) => {
                Whole::new(*min, *max).write(base, value, writer);
            }
            (Kind::Choice { names }, Value::Choice(base), Value::Choice(value))
                if (*value as usize) < names.len() =>
            {
                write_choice(*base, *value, names.len(), writer);
            }
            (Kind::Text { bytes_max }, Value::Text(base), Value::Text(value)) => {
                Text::new(u32::from(*bytes_max)).write(base, value, writer);
            }
            (Kind::List { len_max, element }, Value::List(base), Value::List(value)) => {
                let len = value.len().min(usize::from(*len_max));
                writer.write(len as u64, bits_for(u64::from(*len_max)));
                let fresh = element.initial();
                for (index, value) in value[..len].iter().enumerate() {
                    element.write_delta(base.get(index).unwrap_or(&fresh), value, 0.0, writer)?;
                }
            }
            (Kind::Record { fields }, Value::List(base), Value::List(value))
                if base.len() == fields.len() && value.len() == fields.len() =>
            {
                for (field, value) in fields.iter().zip(value) {
                    field.kind.write_delta(
                        &field.expected(fields, base, elapsed_seconds)?,
                        value,
                        0.0,
                        writer,
                    )?;
                }
            }
            (kind, Value::Numbers(base), Value::Numbers(value)) => {
                kind.write_numbers(base, value, writer)?
            }
            _ => return Err(ReadError::OutOfRange),
        }
        Ok(())
    }

    /// Reads a value that was written against the same `base`.
    pub fn read_delta(
        &self,
        base: &Value,
        elapsed_seconds: f32,
        reader: &mut BitReader<'_>,
    ) -> Result<Value, ReadError> {
        match (self, base) {
            (Kind::Flag, _) => Ok(Value::Flag(reader.read_bool()?)),
            (Kind::Whole { min, max }, Value::Whole(base)) => {
                Ok(Value::Whole(Whole::new(*min, *max).read(base, reader)?))
            }
            (Kind::Choice { names }, Value::Choice(base)) => {
                Ok(Value::Choice(read_choice(*base, names.len(), reader)?))
            }
            (Kind::Text { bytes_max }, Value::Text(base)) => Ok(Value::Text(
                Text::new(u32::from(*bytes_max)).read(base, reader)?,
            )),
            (Kind::List { len_max, element }, Value::List(base)) => {
                let len = reader.read(bits_for(u64::from(*len_max)))? as usize;
                if len > usize::from(*len_max) {
                    return Err(ReadError::TooLong);
                }
                let fresh = element.initial();
                let read =
                    |index| element.read_delta(base.get(index).unwrap_or(&fresh), 0.0, reader);
                Ok(Value::List((0..len).map(read).collect::<Result<_, _>>()?))
            }
            (Kind::Record { fields }, Value::List(base)) if base.len() == fields.len() => {
                let read = |field: &Field| {
                    let expected = field.expected(fields, base, elapsed_seconds)?;
                    field.kind.read_delta(&expected, 0.0, reader)
                };
                Ok(Value::List(
                    fields.iter().map(read).collect::<Result<_, _>>()?,
                ))
            }
            (kind, Value::Numbers(base)) => kind.read_numbers(base, reader),
            _ => Err(ReadError::OutOfRange),
        }
    }

    fn write_numbers(
        &self,
        base: &[f32],
        value: &[f32],
        writer: &mut BitWriter,
    ) -> Result<(), ReadError> {
        match self {
            Kind::Number {
                len,
                min,
                max,
                step,
            } => {
                let len = usize::from(*len);
                if base.len() != len || value.len() != len {
                    return Err(ReadError::OutOfRange);
                }
                Number::new(*min, *max, *step).write_slice(base, value, writer);
            }
            Kind::Angle { bits } => {
                let ([base], [value]) = (exactly(base)?, exactly(value)?);
                Angle::new(u32::from(*bits)).write(&base, &value, writer);
            }
            Kind::Rotation { bits } => {
                Rotation::new(u32::from(*bits)).write(&exactly(base)?, &exactly(value)?, writer);
            }
            Kind::UnitVector { bits } => {
                UnitVector::new(u32::from(*bits)).write(&exactly(base)?, &exactly(value)?, writer);
            }
            _ => return Err(ReadError::OutOfRange),
        }
        Ok(())
    }

    fn read_numbers(&self, base: &[f32], reader: &mut BitReader<'_>) -> Result<Value, ReadError> {
        let numbers = match self {
            Kind::Number {
                len,
                min,
                max,
                step,
            } if base.len() == usize::from(*len) => {
                let mut value = base.to_vec();
                Number::new(*min, *max, *step).read_slice(&mut value, reader)?;
                value
            }
            Kind::Angle { bits } => {
                let [base] = exactly(base)?;
                vec![Angle::new(u32::from(*bits)).read(&base, reader)?]
            }
            Kind::Rotation { bits } => Rotation::new(u32::from(*bits))
                .read(&exactly(base)?, reader)?
                .to_vec(),
            Kind::UnitVector { bits } => UnitVector::new(u32::from(*bits))
                .read(&exactly(base)?, reader)?
                .to_vec(),
            _ => return Err(ReadError::OutOfRange),
        };
        Ok(Value::Numbers(numbers))
    }
}

impl Field {
    /// The base of this field, moved on by its velocity where it has one.
    fn expected(
        &self,
        fields: &[Field],
        base: &[Value],
        elapsed_seconds: f32,
    ) -> Result<Value, ReadError> {
        let at = |name: &str| {
            fields
                .iter()
                .position(|field| field.name == name)
                .and_then(|index| base.get(index))
        };
        let own = at(&self.name).ok_or(ReadError::OutOfRange)?;
        let Some(velocity) = self.moves_by.and_then(|index| base.get(usize::from(index))) else {
            return Ok(own.clone());
        };
        let (Value::Numbers(place), Value::Numbers(velocity)) = (own, velocity) else {
            return Err(ReadError::OutOfRange);
        };
        Ok(Value::Numbers(
            place
                .iter()
                .zip(velocity)
                .map(|(place, velocity)| place + velocity * elapsed_seconds)
                .collect(),
        ))
    }
}

/// Appends the number of a variant; used by the derive for enums.
pub fn write_choice(base: u32, value: u32, len: usize, writer: &mut BitWriter) {
    writer.write_bool(base != value);
    if base != value {
        writer.write(u64::from(value), choice_bits(len));
    }
}

/// Reads the number of a variant.
pub fn read_choice(base: u32, len: usize, reader: &mut BitReader<'_>) -> Result<u32, ReadError> {
    if !reader.read_bool()? {
        return Ok(base);
    }
    let value = reader.read(choice_bits(len))? as u32;
    if (value as usize) < len {
        Ok(value)
    } else {
        Err(ReadError::OutOfRange)
    }
}

fn exactly<const N: usize>(numbers: &[f32]) -> Result<[f32; N], ReadError> {
    numbers.try_into().map_err(|_| ReadError::OutOfRange)
}
