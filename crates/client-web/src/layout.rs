//! Records as rows of numbers.

use aether_bits::{BitReader, BitWriter, DeltaBasis, FieldKind, FieldSchema, SchemaValue};

/// Layout of a record in a row, and its interpolation.
///
/// A row contains the fields of a record in sequence: first those of fixed length, then texts and lists. A flag is 0 or
/// 1, a choice is the index of its name, a text is its length and its UTF-16 units, a list its length and its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct RowLayout {
    kind: FieldKind,
    motions: Vec<RowMotion>,
    position: Option<RowMotion>,
}

/// Numbers of a row that are interpolated together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowMotion {
    /// Index of the first number.
    pub at: usize,
    /// Number of numbers.
    pub len: usize,
    /// Interpolation path.
    pub path: InterpolationPath,
}

/// Interpolation path between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterpolationPath {
    /// Linear.
    Straight,
    /// Angle in radians, along the shorter arc.
    Turn,
    /// Direction or rotation: linear, then normalized.
    Direction,
}

/// Reads a row from start to end.
struct RowReader<'a> {
    rest: &'a [f64],
}

impl RowLayout {
    /// Creates the layout of a record.
    #[must_use]
    pub fn new(kind: &FieldKind) -> Self {
        let mut found = Vec::new();
        find_motions(kind, &mut 0, &mut found);
        let is_vector =
            |motion: &RowMotion| motion.path == InterpolationPath::Straight && (2..=3).contains(&motion.len);
        let by_velocity = found.iter().find(|(_, moves)| *moves);
        let position = by_velocity.or_else(|| found.iter().find(|(motion, _)| is_vector(motion)));
        RowLayout {
            kind: kind.clone(),
            position: position.map(|(motion, _)| *motion),
            motions: found.into_iter().map(|(motion, _)| motion).collect(),
        }
    }

    /// Schema of the record.
    #[must_use]
    pub fn kind(&self) -> &FieldKind {
        &self.kind
    }

    /// Interpolated parts of the row.
    #[must_use]
    pub fn motions(&self) -> &[RowMotion] {
        &self.motions
    }

    /// Position of the entity, if the record has one: the field that moves by a velocity, otherwise the first vector.
    #[must_use]
    pub fn position(&self) -> Option<RowMotion> {
        self.position
    }

    /// Index of a field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<usize> {
        fields_of(&self.kind).iter().position(|field| field.name == name)
    }

    /// Appends a value to a row.
    pub fn flatten(&self, value: &SchemaValue, row: &mut Vec<f64>) {
        flatten(&self.kind, value, row);
    }

    /// Converts a row to a value. `None` if the row does not fit.
    #[must_use]
    pub fn value(&self, row: &[f64]) -> Option<SchemaValue> {
        let mut reader = RowReader { rest: row };
        let value = reader.value(&self.kind)?;
        reader.rest.is_empty().then_some(value)
    }

    /// Packs a row in wire format. Returns false if the row does not fit.
    #[must_use]
    pub fn pack(&self, row: &[f64], writer: &mut BitWriter) -> bool {
        let Some(value) = self.value(row) else { return false };
        self.kind.write_delta(DeltaBasis::new(&self.kind.initial()), &value, writer).is_ok()
    }

    /// Unpacks a row from wire format.
    #[must_use]
    pub fn unpack(&self, bytes: &[u8]) -> Option<Vec<f64>> {
        let value = self.kind.read_delta(DeltaBasis::new(&self.kind.initial()), &mut BitReader::new(bytes)).ok()?;
        let mut row = Vec::new();
        self.flatten(&value, &mut row);
        Some(row)
    }

    /// Rounds a row to the precision of the wire. A row that does not fit is left unchanged.
    pub fn snap(&self, row: &mut Vec<f64>) {
        let mut writer = BitWriter::new();
        if self.pack(row, &mut writer)
            && let Some(snapped) = self.unpack(&writer.to_bytes())
        {
            *row = snapped;
        }
    }

    /// Largest length of a row.
    #[must_use]
    pub fn len_max(&self) -> usize {
        len_max(&self.kind)
    }
}

/// Fields of a record. Empty for other kinds.
pub(crate) fn fields_of(kind: &FieldKind) -> &[FieldSchema] {
    match kind {
        FieldKind::Record { fields } => fields,
        _ => &[],
    }
}

/// Fields in the order of a row, each with its index in the schema.
pub(crate) fn fields_in_row_order(fields: &[FieldSchema]) -> impl Iterator<Item = (usize, &FieldSchema)> {
    let all = |fixed: bool| fields.iter().enumerate().filter(move |(_, field)| is_fixed(&field.kind) == fixed);
    all(true).chain(all(false))
}

/// Appends a value of any kind to a row.
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
            for (index, field) in fields_in_row_order(fields_of(kind)) {
                if let Some(value) = values.get(index) {
                    flatten(&field.kind, value, row);
                }
            }
        }
    }
}

impl RowReader<'_> {
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
            // NaN becomes 0, and packing clamps to the range.
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
                for (index, field) in fields_in_row_order(fields) {
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

/// Converts a script's number. NaN and infinity become 0.
fn finite(number: f64) -> f32 {
    let number = number as f32;
    if number.is_finite() { number } else { 0.0 }
}

/// Finds the interpolated parts, each with a flag that is true if it moves by a velocity.
fn find_motions(kind: &FieldKind, at: &mut usize, found: &mut Vec<(RowMotion, bool)>) {
    for (_, field) in fields_in_row_order(fields_of(kind)).filter(|(_, field)| is_fixed(&field.kind)) {
        let path = match field.kind {
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
        found.extend(path.map(|path| (RowMotion { at: *at, len, path }, field.moves_by.is_some())));
        *at += len;
    }
}

/// Returns true if all values of a kind have the same length in a row.
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
