//! Errors in declarations and in values.

use std::fmt;

/// A value was refused; nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueError {
    /// The record has no field of this name.
    UnknownField {
        /// The name that was asked for, after the record's own.
        field: String,
        /// The names of its fields.
        known: String,
    },
    /// The field belongs to another record type, or the record does.
    OtherRecord {
        /// The record type.
        record: String,
    },
    /// The value has another type than the field.
    WrongType {
        /// The field.
        field: String,
        /// The type that it takes.
        expected: String,
    },
    /// A number is infinite or not a number.
    NotFinite {
        /// The field.
        field: String,
    },
    /// A number is outside the field's range.
    OutOfRange {
        /// The field.
        field: String,
        /// The number.
        value: String,
        /// The range.
        range: String,
    },
    /// A text or list is longer than the field allows.
    TooLong {
        /// The field.
        field: String,
        /// Its length, in bytes or elements.
        len: usize,
        /// The greatest length.
        max: usize,
    },
    /// A choice has no variant of this name.
    UnknownChoice {
        /// The field.
        field: String,
        /// The name.
        name: String,
        /// The names that it has.
        known: String,
    },
}

/// A declaration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The record, and the field if it is about one: `Ship.position`.
    pub at: String,
    /// The reason.
    pub problem: SchemaProblem,
}

/// The reason why a declaration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaProblem {
    /// A name is empty or too long.
    NameLength {
        /// Its length in bytes.
        len: usize,
    },
    /// Another one has the same name.
    NameTaken {
        /// The name.
        name: String,
    },
    /// There are more than allowed.
    TooMany {
        /// The things there are too many of.
        what: &'static str,
        /// The greatest number.
        max: usize,
    },
    /// Records and lists nest too deeply.
    TooDeep,
    /// A size is outside its limits.
    Size {
        /// The size's name.
        what: &'static str,
        /// The size.
        size: u32,
        /// The smallest and the largest.
        limits: (u32, u32),
    },
    /// A range of whole numbers is empty or too wide.
    WholeRange {
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
    },
    /// A range of real numbers does not work: its description.
    NumberRange(String),
    /// `moves_by` names a field that does not fit.
    MovesBy {
        /// The field that it names.
        by: String,
    },
    /// The position names a field that is missing or is not made of numbers.
    Position {
        /// The field that it names.
        field: String,
    },
    /// The initial value does not fit its field.
    Initial(String),
    /// An element of a list has no initial value or velocity of its own.
    Element,
    /// A private field was declared in a nested record, an input or an event.
    Private,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::UnknownField { field, known } => write!(f, "there is no field `{field}`; there are {known}"),
            ValueError::OtherRecord { record } => {
                write!(f, "the field or record is not of `{record}`: use the handles of its own type")
            }
            ValueError::WrongType { field, expected } => write!(f, "`{field}` must be {expected}"),
            ValueError::NotFinite { field } => write!(f, "`{field}` must be a finite number"),
            ValueError::OutOfRange { field, value, range } => {
                write!(f, "`{field}` is {value}, which is outside its range {range}")
            }
            ValueError::TooLong { field, len, max } => {
                write!(f, "`{field}` has length {len}, and its limit is {max}")
            }
            ValueError::UnknownChoice { field, name, known } => {
                write!(f, "`{field}` has no variant `{name}`; there are {known}")
            }
        }
    }
}

impl std::error::Error for ValueError {}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot be declared: {}", self.at, self.problem)
    }
}

impl std::error::Error for SchemaError {}

impl fmt::Display for SchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchemaProblem::NameLength { len } => {
                write!(f, "the name has {len} bytes; use 1 to {}", crate::schema::NAME_BYTES_MAX)
            }
            SchemaProblem::NameTaken { name } => write!(f, "there is another one named `{name}`"),
            SchemaProblem::TooMany { what, max } => write!(f, "there can be at most {max} {what}"),
            SchemaProblem::TooDeep => write!(f, "records and lists nest more than {} deep", crate::schema::DEPTH_MAX),
            SchemaProblem::Size { what, size, limits: (min, max) } => {
                write!(f, "{what} is {size}; use {min} to {max}")
            }
            SchemaProblem::WholeRange { min, max } => write!(
                f,
                "the range {min} to {max} does not work: a whole number needs min < max and at most 61 bits between them"
            ),
            SchemaProblem::NumberRange(range) => write!(
                f,
                "{range} does not work: a number needs min < max, a step > 0, at most 2^32 steps, and a step that f32 \
                 can tell apart at both ends"
            ),
            SchemaProblem::MovesBy { by } => write!(
                f,
                "it moves by `{by}`, which must be another replicated field of the same record with as many numbers, \
                 and must not itself move by a field"
            ),
            SchemaProblem::Position { field } => write!(
                f,
                "the position is `{field}`, which must be a replicated field of two to four numbers, or one of two fields \
                 of one number"
            ),
            SchemaProblem::Initial(why) => write!(f, "the initial value does not fit: {why}"),
            SchemaProblem::Element => f.write_str("an element of a list has no initial value and no `moves_by`"),
            SchemaProblem::Private => f.write_str("only the fields of a component can be private"),
        }
    }
}
