//! Records as rows of numbers.

use aether_bits::{BitReader, BitWriter, DeltaBasis, FieldKind, FieldSchema, SchemaValue};

/// How a record is laid out in a row, and how it moves.
///
/// A row holds a record's fields one after another, first those that always take the same place, then the texts and the
/// lists. A flag is 0 or 1, a choice is the number of its name, a text is its length and its UTF-16 units, a list its length
/// and its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLayout {
    kind: FieldKind,
    motions: Vec<RowMotion>,
    place: Option<RowMotion>,
}

/// Numbers of a row that lie between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowMotion {
    /// The first of them.
    pub at: usize,
    /// How many they are.
    pub len: usize,
    /// Which way they go.
    pub way: InterpolationPath,
}

/// The way from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpolationPath {
    /// Straight.
    Straight,
    /// An angle in radians: the short way round.
    Turn,
    /// A direction or a rotation: straight, and then of length one again.
    Direction,
}

/// Reads a row from its beginning to its end.
struct Flat<'a> {
    rest: &'a [f64],
}

impl RowLayout {
    /// The layout of a record.
    #[must_use]
    pub fn new(kind: &FieldKind) -> Self {
        let mut found = Vec::new();
        find_motions(kind, &mut 0, &mut found);
        let is_vector = |motion: &RowMotion| motion.way == InterpolationPath::Straight && (2..=3).contains(&motion.len);
        let by_velocity = found.iter().find(|(_, moves)| *moves);
        let place = by_velocity.or_else(|| found.iter().find(|(motion, _)| is_vector(motion)));
        RowLayout {
            kind: kind.clone(),
            place: place.map(|(motion, _)| *motion),
            motions: found.into_iter().map(|(motion, _)| motion).collect(),
        }
    }

    /// How the record is packed.
    #[must_use]
    pub fn kind(&self) -> &FieldKind {
        &self.kind
    }

    /// What lies between two states.
    #[must_use]
    pub fn motions(&self) -> &[RowMotion] {
        &self.motions
    }

    /// Where the record says that its entity is, if it does: what moves by a velocity, or else the first vector.
    #[must_use]
    pub fn place(&self) -> Option<RowMotion> {
        self.place
    }

    /// The number of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        fields_of(&self.kind).iter().position(|field| field.name == name)
    }

    /// Appends a value of this layout.
    pub fn flatten(&self, value: &SchemaValue, row: &mut Vec<f64>) {
        flatten(&self.kind, value, row);
    }

    /// The value of a row; nothing if the row is too short or too long.
    #[must_use]
    pub fn value(&self, row: &[f64]) -> Option<SchemaValue> {
        let mut flat = Flat { rest: row };
        let value = flat.value(&self.kind)?;
        flat.rest.is_empty().then_some(value)
    }

    /// Packs a row as the wire does; false if it is none of this layout.
    #[must_use]
    pub fn pack(&self, row: &[f64], writer: &mut BitWriter) -> bool {
        let Some(value) = self.value(row) else { return false };
        self.kind.write_delta(DeltaBasis::held(&self.kind.initial()), &value, writer).is_ok()
    }

    /// The row of what was packed.
    #[must_use]
    pub fn unpack(&self, bytes: &[u8]) -> Option<Vec<f64>> {
        let value = self.kind.read_delta(DeltaBasis::held(&self.kind.initial()), &mut BitReader::new(bytes)).ok()?;
        let mut row = Vec::new();
        self.flatten(&value, &mut row);
        Some(row)
    }

    /// Rounds a row to what the wire can say. A row that is none of this layout is left as it is.
    pub fn snap(&self, row: &mut Vec<f64>) {
        let mut writer = BitWriter::new();
        if self.pack(row, &mut writer)
            && let Some(snapped) = self.unpack(&writer.to_bytes())
        {
            *row = snapped;
        }
    }

    /// The most numbers that a row of this layout can take.
    #[must_use]
    pub fn len_max(&self) -> usize {
        len_max(&self.kind)
    }
}

/// The fields of a record; none of anything else.
pub(crate) fn fields_of(kind: &FieldKind) -> &[FieldSchema] {
    match kind {
        FieldKind::Record { fields } => fields,
        _ => &[],
    }
}

/// The fields in the order in which a row holds them, each with its number.
pub(crate) fn in_row_order(fields: &[FieldSchema]) -> impl Iterator<Item = (usize, &FieldSchema)> {
    let all = |fixed: bool| fields.iter().enumerate().filter(move |(_, field)| is_fixed(&field.kind) == fixed);
    all(true).chain(all(false))
}

/// Appends a value of some kind.
pub(crate) fn flatten(kind: &FieldKind, value: &SchemaValue, row: &mut Vec<f64>) {
    match (kind, value) {
        (_, SchemaValue::Flag(value)) => row.push(f64::from(u8::from(*value))),
        (_, SchemaValue::Whole(value)) => row.push(*value as f64),
        (_, SchemaValue::Choice(value)) => row.push(f64::from(*value)),
        (_, SchemaValue::Numbers(numbers)) => row.extend(numbers.iter().map(|number| f64::from(*number))),
        (_, SchemaValue::Text(text)) => {
            row.push(text.encode_utf16().count() as f64);
            row.extend(text.encode_utf16().map(f64::from));
        }
        (FieldKind::List { element, .. }, SchemaValue::List(values)) => {
            row.push(values.len() as f64);
            values.iter().for_each(|value| flatten(element, value, row));
        }
        (kind, SchemaValue::List(values)) => {
            for (index, field) in in_row_order(fields_of(kind)) {
                if let Some(value) = values.get(index) {
                    flatten(&field.kind, value, row);
                }
            }
        }
    }
}

impl Flat<'_> {
    fn next(&mut self) -> Option<f64> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn count(&mut self, max: u8) -> Option<usize> {
        let count = self.next()?;
        (count >= 0.0 && count <= f64::from(max)).then_some(count as usize)
    }

    fn value(&mut self, kind: &FieldKind) -> Option<SchemaValue> {
        Some(match kind {
            FieldKind::Flag => SchemaValue::Flag(self.next()? != 0.0),
            // What is no number becomes 0, and is then brought into the range by the packing.
            FieldKind::Whole { .. } => SchemaValue::Whole(self.next()? as i64),
            FieldKind::Choice { names } => {
                SchemaValue::Choice((self.next()? as u32).min(names.len().saturating_sub(1) as u32))
            }
            FieldKind::Text { bytes_max } => SchemaValue::Text(self.text(*bytes_max)?),
            FieldKind::List { len_max, element } => {
                let len = self.count(*len_max)?;
                SchemaValue::List((0..len).map(|_| self.value(element)).collect::<Option<_>>()?)
            }
            FieldKind::Record { fields } => {
                let mut values: Vec<SchemaValue> = fields.iter().map(|field| field.initial.clone()).collect();
                for (index, field) in in_row_order(fields) {
                    values[index] = self.value(&field.kind)?;
                }
                SchemaValue::List(values)
            }
            FieldKind::Number { .. }
            | FieldKind::Angle { .. }
            | FieldKind::Rotation { .. }
            | FieldKind::UnitVector { .. } => {
                let numbers = (0..len_max(kind)).map(|_| self.next().map(finite));
                SchemaValue::Numbers(numbers.collect::<Option<_>>()?)
            }
        })
    }

    fn text(&mut self, bytes_max: u8) -> Option<String> {
        let len = self.count(bytes_max)?;
        let units: Vec<u16> = (0..len).map(|_| self.next().map(|unit| unit as u16)).collect::<Option<_>>()?;
        let mut text = String::from_utf16_lossy(&units);
        text.truncate(text.floor_char_boundary(usize::from(bytes_max)));
        Some(text)
    }
}

/// A script's number as the wire has it; what is no number is 0, so that nothing here has to bear it.
fn finite(number: f64) -> f32 {
    let number = number as f32;
    if number.is_finite() { number } else { 0.0 }
}

/// Finds what lies between two states, each with whether it moves by a velocity.
fn find_motions(kind: &FieldKind, at: &mut usize, found: &mut Vec<(RowMotion, bool)>) {
    for (_, field) in in_row_order(fields_of(kind)).filter(|(_, field)| is_fixed(&field.kind)) {
        let way = match field.kind {
            FieldKind::Record { .. } => {
                find_motions(&field.kind, at, found);
                continue;
            }
            FieldKind::Number { .. } => Some(InterpolationPath::Straight),
            FieldKind::Angle { .. } => Some(InterpolationPath::Turn),
            FieldKind::Rotation { .. } | FieldKind::UnitVector { .. } => Some(InterpolationPath::Direction),
            _ => None,
        };
        let len = len_max(&field.kind);
        found.extend(way.map(|way| (RowMotion { at: *at, len, way }, field.moves_by.is_some())));
        *at += len;
    }
}

/// Whether all values of a kind take the same place in a row.
fn is_fixed(kind: &FieldKind) -> bool {
    match kind {
        FieldKind::Text { .. } | FieldKind::List { .. } => false,
        FieldKind::Record { fields } => fields.iter().all(|field| is_fixed(&field.kind)),
        _ => true,
    }
}

fn len_max(kind: &FieldKind) -> usize {
    match kind {
        FieldKind::Flag | FieldKind::Whole { .. } | FieldKind::Choice { .. } | FieldKind::Angle { .. } => 1,
        FieldKind::Number { len, .. } => usize::from(*len),
        FieldKind::Rotation { .. } => 4,
        FieldKind::UnitVector { .. } => 3,
        FieldKind::Text { bytes_max } => 1 + usize::from(*bytes_max),
        FieldKind::List { len_max: len, element } => 1 + usize::from(*len) * len_max(element),
        FieldKind::Record { fields } => fields.iter().map(|field| len_max(&field.kind)).sum(),
    }
}
