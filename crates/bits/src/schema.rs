//! Descriptor of the records of a room. With it, a generic client reads them without the game's types.

use crate::codec::{Angle, Codec, Integer, List, Number, Rotation, Text, UnitVector, bits_for};
use crate::field::bits_max;
use crate::{BitReader, BitWriter, Component, DeltaBasis, FieldWriter, ReadError, SchemaValue, StateHasher};

/// Upper bound of the components of a world: the components of an entity are a 32-bit mask.
pub const COMPONENTS_MAX: usize = 32;
/// Upper bound of the events of a game.
pub const EVENTS_MAX: usize = 64;
/// Upper bound of the fields of a record.
pub const FIELDS_MAX: usize = 32;
/// Upper bound of the name of a field, variant, record or channel.
pub const NAME_BYTES_MAX: usize = 63;
/// Upper bound of the variants of a choice.
pub const CHOICES_MAX: usize = 64;
/// Upper bound of the nesting of records and lists in a descriptor. It bounds the work of reading one.
pub const DEPTH_MAX: u32 = 4;

/// Packing of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldKind {
    /// A boolean.
    Flag,
    /// An integer in a range.
    Whole {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: i64,
    },
    /// One to four real numbers in a range.
    Number {
        /// Number of numbers.
        len: u8,
        /// Smallest value.
        min: f64,
        /// Largest value.
        max: f64,
        /// Distance between neighbouring values.
        step: f64,
    },
    /// An angle in radians.
    Angle {
        /// Base-2 logarithm of the number of steps in a turn.
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
    /// One of several names.
    Choice {
        /// The names, by number.
        names: Vec<String>,
    },
    /// A string.
    Text {
        /// Upper bound of its length.
        bytes_max: u8,
    },
    /// A list.
    List {
        /// Upper bound of its length.
        len_max: u8,
        /// Packing of the elements.
        element: Box<FieldKind>,
    },
    /// Named fields.
    Record {
        /// The fields in declared order. Fields that move by another one are packed after all others.
        fields: Vec<FieldSchema>,
    },
}

/// One field of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldSchema {
    /// Name in the game's source.
    pub name: String,
    /// Packing of the field.
    pub kind: FieldKind,
    /// Value in a new record.
    pub initial: SchemaValue,
    /// Index of the field of the same record that holds the rate of change per second, if there is one.
    pub moves_by: Option<u8>,
}

/// A component, input or event.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordSchema {
    /// Name of the type.
    pub name: String,
    /// Feature channel of the record in JSON.
    pub channel: String,
    /// Packing, always a [`FieldKind::Record`].
    pub kind: FieldKind,
}

/// Every record of a room.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schema {
    /// The components, in the order of their bits in an entity's mask.
    pub components: Vec<RecordSchema>,
    /// The input of a player.
    pub inputs: Vec<RecordSchema>,
    /// The game's events, by code.
    pub events: Vec<RecordSchema>,
}

impl RecordSchema {
    /// Returns the descriptor of a derived type.
    #[must_use]
    pub fn of<C: Component>() -> Self {
        RecordSchema { name: C::NAME.to_owned(), channel: C::CHANNEL.to_owned(), kind: C::kind() }
    }
}

impl Schema {
    /// Returns a hash by which both sides check that their schemas are equal.
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = StateHasher::new(2);
        hasher.bytes(&self.to_bytes());
        hasher.finish()
    }

    /// Encodes the descriptor.
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

    /// Decodes a descriptor, within the limits of this module.
    pub fn from_bytes(bytes: &[u8]) -> Result<Schema, ReadError> {
        let mut reader = BitReader::new(bytes);
        Ok(Schema {
            components: read_records(COMPONENTS_MAX, &mut reader)?,
            inputs: read_records(1, &mut reader)?,
            events: read_records(EVENTS_MAX, &mut reader)?,
        })
    }
}

impl FieldKind {
    /// Upper bound of the encoded size of a value, in bits.
    #[must_use]
    pub fn bits_max(&self) -> u32 {
        match self {
            FieldKind::Flag => 1,
            FieldKind::Whole { min, max } => bits_max(Integer::new(*min, *max).bits()),
            FieldKind::Number { len, min, max, step } => {
                u32::from(*len) * bits_max(Number::new(*min, *max, *step).bits())
            }
            FieldKind::Angle { bits } => bits_max(u32::from(*bits)),
            // A changed largest component adds a residual, an index and a sign.
            FieldKind::Rotation { bits } => 4 * bits_max(u32::from(*bits)) + 2,
            FieldKind::UnitVector { bits } => 3 * bits_max(u32::from(*bits)) + 3,
            FieldKind::Choice { names } => 1 + choice_bits(names.len()),
            FieldKind::Text { bytes_max } => 1 + bits_for(u64::from(*bytes_max)) + 8 * u32::from(*bytes_max),
            FieldKind::List { len_max, element } => {
                bits_for(u64::from(*len_max)) + u32::from(*len_max) * element.bits_max()
            }
            FieldKind::Record { fields } => fields.iter().map(|field| field.kind.bits_max()).sum(),
        }
    }

    /// Returns the initial value.
    #[must_use]
    pub fn initial(&self) -> SchemaValue {
        match self {
            FieldKind::Flag => SchemaValue::Flag(false),
            FieldKind::Whole { min, max } => SchemaValue::Whole(Integer::new(*min, *max).initial()),
            FieldKind::Number { len, min, max, step } => {
                let zero: f32 = Number::new(*min, *max, *step).initial();
                SchemaValue::Numbers(vec![zero; usize::from(*len)])
            }
            FieldKind::Angle { .. } => SchemaValue::Numbers(vec![0.0]),
            FieldKind::Rotation { bits } => SchemaValue::Numbers(Rotation::new(u32::from(*bits)).initial().to_vec()),
            FieldKind::UnitVector { bits } => {
                SchemaValue::Numbers(UnitVector::new(u32::from(*bits)).initial().to_vec())
            }
            FieldKind::Choice { .. } => SchemaValue::Choice(0),
            FieldKind::Text { .. } => SchemaValue::Text(String::new()),
            FieldKind::List { .. } => SchemaValue::List(Vec::new()),
            FieldKind::Record { fields } => {
                SchemaValue::List(fields.iter().map(|field| field.initial.clone()).collect())
            }
        }
    }

    fn describe(&self, writer: &mut BitWriter) {
        match self {
            FieldKind::Flag => writer.write(0, 4),
            FieldKind::Whole { min, max } => {
                writer.write(1, 4);
                writer.write(*min as u64, 64);
                writer.write(*max as u64, 64);
            }
            FieldKind::Number { len, min, max, step } => {
                writer.write(2, 4);
                writer.write(u64::from(*len), 3);
                for number in [min, max, step] {
                    writer.write(number.to_bits(), 64);
                }
            }
            FieldKind::Angle { bits } => write_sized(3, *bits, writer),
            FieldKind::Rotation { bits } => write_sized(4, *bits, writer),
            FieldKind::UnitVector { bits } => write_sized(5, *bits, writer),
            FieldKind::Choice { names } => {
                write_sized(6, names.len() as u8, writer);
                names.iter().for_each(|name| write_name(name, writer));
            }
            FieldKind::Text { bytes_max } => write_sized(7, *bytes_max, writer),
            FieldKind::List { len_max, element } => {
                write_sized(8, *len_max, writer);
                element.describe(writer);
            }
            FieldKind::Record { fields } => {
                write_sized(9, fields.len() as u8, writer);
                for field in fields {
                    write_name(&field.name, writer);
                    field.kind.describe(writer);
                    writer.write(field.moves_by.map_or(0, |index| u64::from(index) + 1), 6);
                    // The value was built by the derive or read by this module, so it fits its kind.
                    let _ = field.kind.write_delta(DeltaBasis::new(&field.kind.initial()), &field.initial, writer);
                }
            }
        }
    }

    fn read(depth: u32, reader: &mut BitReader<'_>) -> Result<FieldKind, ReadError> {
        if depth == 0 {
            return Err(ReadError::TooDeep);
        }
        match reader.read(4)? {
            0 => Ok(FieldKind::Flag),
            1 => {
                let (min, max) = (reader.read(64)? as i64, reader.read(64)? as i64);
                Integer::is_valid(min, max).then_some(FieldKind::Whole { min, max }).ok_or(ReadError::OutOfRange)
            }
            2 => {
                let len = read_limited(3, 1, 4, reader)?;
                let mut float = || reader.read(64).map(f64::from_bits);
                let (min, max, step) = (float()?, float()?, float()?);
                let valid = Number::is_valid(min, max, step);
                valid.then_some(FieldKind::Number { len, min, max, step }).ok_or(ReadError::OutOfRange)
            }
            3 => Ok(FieldKind::Angle { bits: read_limited(8, 1, Angle::BITS_MAX as u8, reader)? }),
            4 => Ok(FieldKind::Rotation { bits: read_limited(8, 2, 16, reader)? }),
            5 => Ok(FieldKind::UnitVector { bits: read_limited(8, 2, 16, reader)? }),
            6 => {
                let len = read_limited(8, 1, CHOICES_MAX as u8, reader)?;
                let names = (0..len).map(|_| read_name(reader)).collect::<Result<_, _>>()?;
                Ok(FieldKind::Choice { names })
            }
            7 => Ok(FieldKind::Text { bytes_max: read_limited(8, 1, Text::BYTES_MAX as u8, reader)? }),
            8 => {
                let len_max = read_limited(8, 1, List::LEN_MAX as u8, reader)?;
                Ok(FieldKind::List { len_max, element: Box::new(FieldKind::read(depth - 1, reader)?) })
            }
            9 => {
                let len = read_limited(8, 0, FIELDS_MAX as u8, reader)?;
                let fields: Vec<_> = (0..len).map(|_| FieldSchema::read(depth, reader)).collect::<Result<_, _>>()?;
                are_velocities_valid(&fields).then_some(FieldKind::Record { fields }).ok_or(ReadError::OutOfRange)
            }
            _ => Err(ReadError::OutOfRange),
        }
    }
}

impl FieldSchema {
    fn read(depth: u32, reader: &mut BitReader<'_>) -> Result<FieldSchema, ReadError> {
        let name = read_name(reader)?;
        let kind = FieldKind::read(depth - 1, reader)?;
        let moves_by = match reader.read(6)? {
            0 => None,
            index => Some(index as u8 - 1),
        };
        let initial = kind.read_delta(DeltaBasis::new(&kind.initial()), reader)?;
        Ok(FieldSchema { name, kind, initial, moves_by })
    }
}

/// Builds the descriptor of one field. The derive uses it.
#[must_use]
pub fn describe_field<T, C: Codec<T>>(name: &str, codec: &C, initial: &T, moves_by: Option<u8>) -> FieldSchema {
    let kind = codec.kind();
    // The typed value is converted to an untyped one through its bits, which are the same for both.
    let mut writer = BitWriter::new();
    codec.write(DeltaBasis::new(&codec.initial()), initial, &mut FieldWriter::new(&mut writer));
    let bytes = writer.to_bytes();
    let initial = kind
        .read_delta(DeltaBasis::new(&kind.initial()), &mut BitReader::new(&bytes))
        .expect("a codec reads its own output");
    FieldSchema { name: name.to_owned(), kind, initial, moves_by }
}

/// Number of bits for `len` variants.
pub(crate) fn choice_bits(len: usize) -> u32 {
    bits_for(len.saturating_sub(1) as u64)
}

/// True if every `moves_by` names a field with as many numbers.
fn are_velocities_valid(fields: &[FieldSchema]) -> bool {
    let len = |field: &FieldSchema| match field.kind {
        FieldKind::Number { len, .. } => Some(len),
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
            let kind = FieldKind::read(DEPTH_MAX, reader)?;
            let record = matches!(kind, FieldKind::Record { .. });
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
