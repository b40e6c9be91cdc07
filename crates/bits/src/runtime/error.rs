//! Errors of declarations and values.

use std::fmt;

/// A value was rejected. Nothing was changed.
#[derive(Clone, Debug, PartialEq)]
pub enum ValueError {
    /// The record has no field of this name.
    UnknownField {
        /// The requested name, after the name of the record.
        field: String,
        /// Names of the fields.
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
        /// Expected type.
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
        /// Upper bound of the length.
        max: usize,
    },
    /// A choice has no variant of this name.
    UnknownChoice {
        /// The field.
        field: String,
        /// The name.
        name: String,
        /// Names of the variants.
        known: String,
    },
}

/// A declaration was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// The record, and the field if the error is about one: `Ship.position`.
    pub at: String,
    /// The reason.
    pub problem: SchemaProblem,
}

/// Reason of a [`SchemaError`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaProblem {
    /// A name is empty or too long.
    NameLength {
        /// Its length in bytes.
        len: usize,
    },
    /// The name is used twice.
    NameTaken {
        /// The name.
        name: String,
    },
    /// A limit is exceeded.
    TooMany {
        /// The limited things.
        what: &'static str,
        /// The limit.
        max: usize,
    },
    /// Records and lists nest too deeply.
    TooDeep,
    /// A size is outside its limits.
    Size {
        /// Name of the size.
        what: &'static str,
        /// The size.
        size: u32,
        /// Lower and upper bound.
        limits: (u32, u32),
    },
    /// A range of whole numbers is empty or too wide.
    WholeRange {
        /// The smallest value.
        min: i64,
        /// The largest value.
        max: i64,
    },
    /// A range of real numbers is not possible. Holds its description.
    NumberRange(String),
    /// `moves_by` names a field that is missing or has another number of components.
    MovesBy {
        /// Name of the field.
        by: String,
    },
    /// The position names a field that is missing or is not made of numbers.
    Position {
        /// Name of the field.
        field: String,
    },
    /// The initial value does not fit its field.
    Initial(String),
    /// An element of a list has an initial value or `moves_by`.
    Element,
    /// A private field was declared in a nested record, an input or an event.
    Private,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::UnknownField { field, known } => write!(f, "there is no field `{field}`; use one of {known}"),
            ValueError::OtherRecord { record } => {
                write!(f, "the field or record does not belong to `{record}`; use the handles of `{record}`")
            }
            ValueError::WrongType { field, expected } => write!(f, "`{field}` must be {expected}"),
            ValueError::NotFinite { field } => write!(f, "`{field}` must be a finite number"),
            ValueError::OutOfRange { field, value, range } => {
                write!(f, "`{field}` is {value}, which is outside its range {range}")
            }
            ValueError::TooLong { field, len, max } => {
                write!(f, "`{field}` has length {len}, above its limit of {max}")
            }
            ValueError::UnknownChoice { field, name, known } => {
                write!(f, "`{field}` has no variant `{name}`; use one of {known}")
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
            SchemaProblem::NameTaken { name } => write!(f, "the name `{name}` is used twice; choose another one"),
            SchemaProblem::TooMany { what, max } => write!(f, "the limit is {max} {what}"),
            SchemaProblem::TooDeep => {
                write!(f, "records and lists are nested more than {} deep", crate::schema::DEPTH_MAX)
            }
            SchemaProblem::Size { what, size, limits: (min, max) } => {
                write!(f, "{what} is {size}; use {min} to {max}")
            }
            SchemaProblem::WholeRange { min, max } => write!(
                f,
                "the range {min} to {max} is not possible; a whole number needs min < max and at most 61 bits"
            ),
            SchemaProblem::NumberRange(range) => write!(
                f,
                "{range} is not possible; a number needs min < max, a step > 0, at most 2^32 steps, and a step that \
                 f32 can represent at both ends"
            ),
            SchemaProblem::MovesBy { by } => write!(
                f,
                "it moves by `{by}`; name another replicated field of the same record, with as many numbers and \
                 without `moves_by`"
            ),
            SchemaProblem::Position { field } => write!(
                f,
                "the position is `{field}`; name a replicated field of two to four numbers, or two fields of one number"
            ),
            SchemaProblem::Initial(why) => write!(f, "the initial value does not fit: {why}"),
            SchemaProblem::Element => f.write_str("an element of a list cannot have an initial value or `moves_by`"),
            SchemaProblem::Private => f.write_str("only fields of a component can be private; use a replicated field"),
        }
    }
}
