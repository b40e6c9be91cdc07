//! Records as rows of numbers.

use aether_bits::{Basis, BitReader, BitWriter, Field, Kind, Value};

/// How a record is laid out in a row, and how it moves.
///
/// A row holds a record's fields one after another, first those that always take the same place, then the texts and the
/// lists. A flag is 0 or 1, a choice is the number of its name, a text is its length and its UTF-16 units, a list its length
/// and its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    kind: Kind,
    motions: Vec<Motion>,
    place: Option<Motion>,
}

/// Numbers of a row that lie between two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Motion {
    /// The first of them.
    pub at: usize,
    /// How many they are.
    pub len: usize,
    /// Which way they go.
    pub way: Way,
}

/// The way from one value to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
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

impl Layout {
    /// The layout of a record.
    #[must_use]
    pub fn new(kind: &Kind) -> Self {
        let mut found = Vec::new();
        find_motions(kind, &mut 0, &mut found);
        let is_vector = |motion: &Motion| motion.way == Way::Straight && (2..=3).contains(&motion.len);
        let by_velocity = found.iter().find(|(_, moves)| *moves);
        let place = by_velocity.or_else(|| found.iter().find(|(motion, _)| is_vector(motion)));
        Layout {
            kind: kind.clone(),
            place: place.map(|(motion, _)| *motion),
            motions: found.into_iter().map(|(motion, _)| motion).collect(),
        }
    }

    /// How the record is packed.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// What lies between two states.
    #[must_use]
    pub fn motions(&self) -> &[Motion] {
        &self.motions
    }

    /// Where the record says that its entity is, if it does: what moves by a velocity, or else the first vector.
    #[must_use]
    pub fn place(&self) -> Option<Motion> {
        self.place
    }

    /// The number of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        fields_of(&self.kind).iter().position(|field| field.name == name)
    }

    /// Appends a value of this layout.
    pub fn flatten(&self, value: &Value, row: &mut Vec<f64>) {
        flatten(&self.kind, value, row);
    }

    /// The value of a row; nothing if the row is too short or too long.
    #[must_use]
    pub fn value(&self, row: &[f64]) -> Option<Value> {
        let mut flat = Flat { rest: row };
        let value = flat.value(&self.kind)?;
        flat.rest.is_empty().then_some(value)
    }

    /// Packs a row as the wire does; false if it is none of this layout.
    #[must_use]
    pub fn pack(&self, row: &[f64], writer: &mut BitWriter) -> bool {
        let Some(value) = self.value(row) else { return false };
        self.kind.write_delta(Basis::held(&self.kind.initial()), &value, writer).is_ok()
    }

    /// The row of what was packed.
    #[must_use]
    pub fn unpack(&self, bytes: &[u8]) -> Option<Vec<f64>> {
        let value = self.kind.read_delta(Basis::held(&self.kind.initial()), &mut BitReader::new(bytes)).ok()?;
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
pub(crate) fn fields_of(kind: &Kind) -> &[Field] {
    match kind {
        Kind::Record { fields } => fields,
        _ => &[],
    }
}

/// The fields in the order in which a row holds them, each with its number.
pub(crate) fn in_row_order(fields: &[Field]) -> impl Iterator<Item = (usize, &Field)> {
    let all = |fixed: bool| fields.iter().enumerate().filter(move |(_, field)| is_fixed(&field.kind) == fixed);
    all(true).chain(all(false))
}

/// Appends a value of some kind.
pub(crate) fn flatten(kind: &Kind, value: &Value, row: &mut Vec<f64>) {
    match (kind, value) {
        (_, Value::Flag(value)) => row.push(f64::from(u8::from(*value))),
        (_, Value::Whole(value)) => row.push(*value as f64),
        (_, Value::Choice(value)) => row.push(f64::from(*value)),
        (_, Value::Numbers(numbers)) => row.extend(numbers.iter().map(|number| f64::from(*number))),
        (_, Value::Text(text)) => {
            row.push(text.encode_utf16().count() as f64);
            row.extend(text.encode_utf16().map(f64::from));
        }
        (Kind::List { element, .. }, Value::List(values)) => {
            row.push(values.len() as f64);
            values.iter().for_each(|value| flatten(element, value, row));
        }
        (kind, Value::List(values)) => {
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

    fn value(&mut self, kind: &Kind) -> Option<Value> {
        Some(match kind {
            Kind::Flag => Value::Flag(self.next()? != 0.0),
            // What is no number becomes 0, and is then brought into the range by the packing.
            Kind::Whole { .. } => Value::Whole(self.next()? as i64),
            Kind::Choice { names } => Value::Choice((self.next()? as u32).min(names.len().saturating_sub(1) as u32)),
            Kind::Text { bytes_max } => Value::Text(self.text(*bytes_max)?),
            Kind::List { len_max, element } => {
                let len = self.count(*len_max)?;
                Value::List((0..len).map(|_| self.value(element)).collect::<Option<_>>()?)
            }
            Kind::Record { fields } => {
                let mut values: Vec<Value> = fields.iter().map(|field| field.initial.clone()).collect();
                for (index, field) in in_row_order(fields) {
                    values[index] = self.value(&field.kind)?;
                }
                Value::List(values)
            }
            Kind::Number { .. } | Kind::Angle { .. } | Kind::Rotation { .. } | Kind::UnitVector { .. } => {
                let numbers = (0..len_max(kind)).map(|_| self.next().map(finite));
                Value::Numbers(numbers.collect::<Option<_>>()?)
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
fn find_motions(kind: &Kind, at: &mut usize, found: &mut Vec<(Motion, bool)>) {
    for (_, field) in in_row_order(fields_of(kind)).filter(|(_, field)| is_fixed(&field.kind)) {
        let way = match field.kind {
            Kind::Record { .. } => {
                find_motions(&field.kind, at, found);
                continue;
            }
            Kind::Number { .. } => Some(Way::Straight),
            Kind::Angle { .. } => Some(Way::Turn),
            Kind::Rotation { .. } | Kind::UnitVector { .. } => Some(Way::Direction),
            _ => None,
        };
        let len = len_max(&field.kind);
        found.extend(way.map(|way| (Motion { at: *at, len, way }, field.moves_by.is_some())));
        *at += len;
    }
}

/// Whether all values of a kind take the same place in a row.
fn is_fixed(kind: &Kind) -> bool {
    match kind {
        Kind::Text { .. } | Kind::List { .. } => false,
        Kind::Record { fields } => fields.iter().all(|field| is_fixed(&field.kind)),
        _ => true,
    }
}

fn len_max(kind: &Kind) -> usize {
    match kind {
        Kind::Flag | Kind::Whole { .. } | Kind::Choice { .. } | Kind::Angle { .. } => 1,
        Kind::Number { len, .. } => usize::from(*len),
        Kind::Rotation { .. } => 4,
        Kind::UnitVector { .. } => 3,
        Kind::Text { bytes_max } => 1 + usize::from(*bytes_max),
        Kind::List { len_max: len, element } => 1 + usize::from(*len) * len_max(element),
        Kind::Record { fields } => fields.iter().map(|field| len_max(&field.kind)).sum(),
    }
}
