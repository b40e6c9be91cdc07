//! The descriptor of what a room replicates, so that a generic client can read it without the game's types.

use crate::codec::{Angle, Codec, List, Number, Rotation, Text, UnitVector, Whole, bits_for};
use crate::field::bits_max;
use crate::{Basis, BitReader, BitWriter, Component, FieldWriter, ReadError, StateHasher, Value};

/// The most components a world can have: an entity's set of them is a 32-bit mask.
pub const COMPONENTS_MAX: usize = 32;
/// The most events a game can declare.
pub const EVENTS_MAX: usize = 64;
/// The most fields of one record.
pub const FIELDS_MAX: usize = 32;
/// The longest name of a field, variant, record or channel.
pub const NAME_BYTES_MAX: usize = 63;
/// The most variants of a choice.
pub const CHOICES_MAX: usize = 64;
/// How deep records and lists may nest in a descriptor, so that reading one is bounded.
pub const DEPTH_MAX: u32 = 4;

/// How a value is packed.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A boolean.
    Flag,
    /// An integer of a range.
    Whole {
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
    },
    /// One to four real numbers of a range.
    Number {
        /// How many.
        len: u8,
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
        /// The distance between neighbouring values.
        step: f64,
    },
    /// An angle in radians.
    Angle {
        /// The logarithm of the number of steps in a turn.
        bits: u8,
    },
    /// A quaternion `[x, y, z, w]`.
    Rotation {
        /// Bits of each of the smallest three components.
        bits: u8,
    },
    /// A vector `[x, y, z]` of length one.
    UnitVector {
        /// Bits of each of the smallest two components.
        bits: u8,
    },
    /// One of some names.
    Choice {
        /// The names, by number.
        names: Vec<String>,
    },
    /// A string.
    Text {
        /// Its greatest length.
        bytes_max: u8,
    },
    /// A list.
    List {
        /// Its greatest length.
        len_max: u8,
        /// What it holds.
        element: Box<Kind>,
    },
    /// Named fields.
    Record {
        /// The fields as declared. Those that move by another one are packed after all others.
        fields: Vec<Field>,
    },
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name in the game's source.
    pub name: String,
    /// Its packing.
    pub kind: Kind,
    /// What it holds in a fresh record.
    pub initial: Value,
    /// The field of the same record that holds its rate of change a second, if it is predicted by that.
    pub moves_by: Option<u8>,
}

/// A component, input or event.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSchema {
    /// The type's name.
    pub name: String,
    /// The feature channel under which JSON clients find it.
    pub channel: String,
    /// Its packing, a [`Kind::Record`].
    pub kind: Kind,
}

/// All that a room replicates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// The components, in the order of their bits in an entity's mask.
    pub components: Vec<RecordSchema>,
    /// What a player sends every tick.
    pub inputs: Vec<RecordSchema>,
    /// The game's events, by code.
    pub events: Vec<RecordSchema>,
}

impl RecordSchema {
    /// The descriptor of a derived type.
    #[must_use]
    pub fn of<C: Component>() -> Self {
        RecordSchema { name: C::NAME.to_owned(), channel: C::CHANNEL.to_owned(), kind: C::kind() }
    }
}

impl Schema {
    /// A hash by which both sides know whether they speak of the same schema.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = StateHasher::new(2);
        hasher.bytes(&self.to_bytes());
        hasher.finish()
    }

    /// The descriptor as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = BitWriter::new();
        for records in [&self.components, &self.inputs, &self.events] {
            writer.write(records.len() as u64, 8);
            for record in records {
                write_name(&record.name, &mut writer);
                write_name(&record.channel, &mut writer);
                record.kind.describe(&mut writer);
            }
        }
        writer.to_bytes()
    }

    /// Reads a descriptor, within the limits of this module.
    pub fn from_bytes(bytes: &[u8]) -> Result<Schema, ReadError> {
        let mut reader = BitReader::new(bytes);
        Ok(Schema {
            components: read_records(COMPONENTS_MAX, &mut reader)?,
            inputs: read_records(1, &mut reader)?,
            events: read_records(EVENTS_MAX, &mut reader)?,
        })
    }
}

impl Kind {
    /// The most bits that a value of this kind can take.
    #[must_use]
    pub fn bits_max(&self) -> u32 {
        match self {
            Kind::Flag => 1,
            Kind::Whole { min, max } => bits_max(Whole::new(*min, *max).bits()),
            Kind::Number { len, min, max, step } => u32::from(*len) * bits_max(Number::new(*min, *max, *step).bits()),
            Kind::Angle { bits } => bits_max(u32::from(*bits)),
            // A changed largest component adds its own residual, place and sign.
            Kind::Rotation { bits } => 4 * bits_max(u32::from(*bits)) + 2,
            Kind::UnitVector { bits } => 3 * bits_max(u32::from(*bits)) + 3,
            Kind::Choice { names } => 1 + choice_bits(names.len()),
            Kind::Text { bytes_max } => 1 + bits_for(u64::from(*bytes_max)) + 8 * u32::from(*bytes_max),
            Kind::List { len_max, element } => bits_for(u64::from(*len_max)) + u32::from(*len_max) * element.bits_max(),
            Kind::Record { fields } => fields.iter().map(|field| field.kind.bits_max()).sum(),
        }
    }

    /// What a fresh value holds.
    #[must_use]
    pub fn initial(&self) -> Value {
        match self {
            Kind::Flag => Value::Flag(false),
            Kind::Whole { min, max } => Value::Whole(Whole::new(*min, *max).initial()),
            Kind::Number { len, min, max, step } => {
                let zero: f32 = Number::new(*min, *max, *step).initial();
                Value::Numbers(vec![zero; usize::from(*len)])
            }
            Kind::Angle { .. } => Value::Numbers(vec![0.0]),
            Kind::Rotation { bits } => Value::Numbers(Rotation::new(u32::from(*bits)).initial().to_vec()),
            Kind::UnitVector { bits } => Value::Numbers(UnitVector::new(u32::from(*bits)).initial().to_vec()),
            Kind::Choice { .. } => Value::Choice(0),
            Kind::Text { .. } => Value::Text(String::new()),
            Kind::List { .. } => Value::List(Vec::new()),
            Kind::Record { fields } => Value::List(fields.iter().map(|field| field.initial.clone()).collect()),
        }
    }

    fn describe(&self, writer: &mut BitWriter) {
        match self {
            Kind::Flag => writer.write(0, 4),
            Kind::Whole { min, max } => {
                writer.write(1, 4);
                writer.write(*min as u64, 64);
                writer.write(*max as u64, 64);
            }
            Kind::Number { len, min, max, step } => {
                writer.write(2, 4);
                writer.write(u64::from(*len), 3);
                for number in [min, max, step] {
                    writer.write(number.to_bits(), 64);
                }
            }
            Kind::Angle { bits } => write_sized(3, *bits, writer),
            Kind::Rotation { bits } => write_sized(4, *bits, writer),
            Kind::UnitVector { bits } => write_sized(5, *bits, writer),
            Kind::Choice { names } => {
                write_sized(6, names.len() as u8, writer);
                names.iter().for_each(|name| write_name(name, writer));
            }
            Kind::Text { bytes_max } => write_sized(7, *bytes_max, writer),
            Kind::List { len_max, element } => {
                write_sized(8, *len_max, writer);
                element.describe(writer);
            }
            Kind::Record { fields } => {
                write_sized(9, fields.len() as u8, writer);
                for field in fields {
                    write_name(&field.name, writer);
                    field.kind.describe(writer);
                    writer.write(field.moves_by.map_or(0, |index| u64::from(index) + 1), 6);
                    // The value was built by the derive or read by this module, so it fits its kind.
                    let _ = field.kind.write_delta(Basis::held(&field.kind.initial()), &field.initial, writer);
                }
            }
        }
    }

    fn read(depth: u32, reader: &mut BitReader<'_>) -> Result<Kind, ReadError> {
        if depth == 0 {
            return Err(ReadError::TooDeep);
        }
        match reader.read(4)? {
            0 => Ok(Kind::Flag),
            1 => {
                let (min, max) = (reader.read(64)? as i64, reader.read(64)? as i64);
                Whole::is_valid(min, max).then_some(Kind::Whole { min, max }).ok_or(ReadError::OutOfRange)
            }
            2 => {
                let len = read_limited(3, 1, 4, reader)?;
                let mut float = || reader.read(64).map(f64::from_bits);
                let (min, max, step) = (float()?, float()?, float()?);
                let valid = Number::is_valid(min, max, step);
                valid.then_some(Kind::Number { len, min, max, step }).ok_or(ReadError::OutOfRange)
            }
            3 => Ok(Kind::Angle { bits: read_limited(8, 1, Angle::BITS_MAX as u8, reader)? }),
            4 => Ok(Kind::Rotation { bits: read_limited(8, 2, 16, reader)? }),
            5 => Ok(Kind::UnitVector { bits: read_limited(8, 2, 16, reader)? }),
            6 => {
                let len = read_limited(8, 1, CHOICES_MAX as u8, reader)?;
                let names = (0..len).map(|_| read_name(reader)).collect::<Result<_, _>>()?;
                Ok(Kind::Choice { names })
            }
            7 => Ok(Kind::Text { bytes_max: read_limited(8, 1, Text::BYTES_MAX as u8, reader)? }),
            8 => {
                let len_max = read_limited(8, 1, List::LEN_MAX as u8, reader)?;
                Ok(Kind::List { len_max, element: Box::new(Kind::read(depth - 1, reader)?) })
            }
            9 => {
                let len = read_limited(8, 0, FIELDS_MAX as u8, reader)?;
                let fields: Vec<_> = (0..len).map(|_| Field::read(depth, reader)).collect::<Result<_, _>>()?;
                moves_fit(&fields).then_some(Kind::Record { fields }).ok_or(ReadError::OutOfRange)
            }
            _ => Err(ReadError::OutOfRange),
        }
    }
}

impl Field {
    fn read(depth: u32, reader: &mut BitReader<'_>) -> Result<Field, ReadError> {
        let name = read_name(reader)?;
        let kind = Kind::read(depth - 1, reader)?;
        let moves_by = match reader.read(6)? {
            0 => None,
            index => Some(index as u8 - 1),
        };
        let initial = kind.read_delta(Basis::held(&kind.initial()), reader)?;
        Ok(Field { name, kind, initial, moves_by })
    }
}

/// Builds the descriptor of one field; used by the derive.
#[must_use]
pub fn describe_field<T, C: Codec<T>>(name: &str, codec: &C, initial: &T, moves_by: Option<u8>) -> Field {
    let kind = codec.kind();
    // The typed value becomes an untyped one by way of the bits that both agree on.
    let mut writer = BitWriter::new();
    codec.write(Basis::held(&codec.initial()), initial, &mut FieldWriter::new(&mut writer));
    let bytes = writer.to_bytes();
    let initial = kind
        .read_delta(Basis::held(&kind.initial()), &mut BitReader::new(&bytes))
        .expect("a codec reads what it wrote");
    Field { name: name.to_owned(), kind, initial, moves_by }
}

/// How many bits tell apart so many variants.
pub(crate) fn choice_bits(len: usize) -> u32 {
    bits_for(len.saturating_sub(1) as u64)
}

/// A field can only be predicted by another one with as many numbers.
fn moves_fit(fields: &[Field]) -> bool {
    let len = |field: &Field| match field.kind {
        Kind::Number { len, .. } => Some(len),
        _ => None,
    };
    fields.iter().all(|field| match field.moves_by {
        None => true,
        Some(index) => len(field).is_some() && fields.get(usize::from(index)).is_some_and(|by| len(by) == len(field)),
    })
}

fn read_records(max: usize, reader: &mut BitReader<'_>) -> Result<Vec<RecordSchema>, ReadError> {
    let len = read_limited(8, 0, max as u8, reader)?;
    (0..len)
        .map(|_| {
            let (name, channel) = (read_name(reader)?, read_name(reader)?);
            let kind = Kind::read(DEPTH_MAX, reader)?;
            let record = matches!(kind, Kind::Record { .. });
            record.then_some(RecordSchema { name, channel, kind }).ok_or(ReadError::OutOfRange)
        })
        .collect()
}

fn write_sized(tag: u64, size: u8, writer: &mut BitWriter) {
    writer.write(tag, 4);
    writer.write(u64::from(size), 8);
}

fn read_limited(bits: u32, min: u8, max: u8, reader: &mut BitReader<'_>) -> Result<u8, ReadError> {
    let value = reader.read(bits)? as u8;
    if value < min || value > max { Err(ReadError::TooLong) } else { Ok(value) }
}

fn write_name(name: &str, writer: &mut BitWriter) {
    let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
    writer.write(name.len() as u64, 6);
    for byte in name.bytes() {
        writer.write(u64::from(byte), 8);
    }
}

fn read_name(reader: &mut BitReader<'_>) -> Result<String, ReadError> {
    let len = reader.read(6)?;
    let bytes = (0..len).map(|_| reader.read(8).map(|byte| byte as u8)).collect::<Result<Vec<_>, _>>()?;
    String::from_utf8(bytes).map_err(|_| ReadError::BadText)
}
