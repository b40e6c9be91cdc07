//! What has to hold for an object to be found.

use super::super::object::refuse_zero;
use super::field::Field;
use crate::error::ServiceError;

/// Filters within each other.
pub const FILTER_DEPTH_MAX: usize = 8;
/// Comparisons of one filter. Each is work for each object.
pub const COMPARISONS_MAX: usize = 32;
/// Bytes of a text that is compared with.
pub const TEXT_BYTES_MAX: usize = 1_024;

/// What has to hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// A field compares in this way with a value.
    Compare(Field, Comparison, Scalar),
    /// A field is there, whatever it holds.
    Exists(Field),
    /// All of these; nothing, if there are none.
    And(Vec<Filter>),
    /// One of these at least; never, if there are none.
    Or(Vec<Filter>),
    /// Not this.
    Not(Box<Filter>),
}

/// How a field compares with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// They are equal.
    Equal,
    /// They are not, which includes a field that is missing or of another type.
    NotEqual,
    /// The field is less.
    Less,
    /// The field is less or equal.
    LessOrEqual,
    /// The field is greater.
    Greater,
    /// The field is greater or equal.
    GreaterOrEqual,
}

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// The value `null`. It is equal or not, and has no order.
    Null,
    /// Yes or no. It is equal or not, and has no order.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text, ordered by its bytes.
    Text(String),
}

impl Filter {
    /// A field compares in this way with a value: `Filter::compare("stats.level", Comparison::Greater, 5)`.
    pub fn compare(field: &str, comparison: Comparison, value: impl Into<Scalar>) -> Result<Filter, ServiceError> {
        Ok(Filter::Compare(Field::parse(field)?, comparison, value.into()))
    }

    /// A field is there, whatever it holds.
    pub fn exists(field: &str) -> Result<Filter, ServiceError> {
        Field::parse(field).map(Filter::Exists)
    }

    /// The opposite.
    #[must_use]
    pub fn negated(self) -> Filter {
        Filter::Not(Box::new(self))
    }

    pub(super) fn check(&self) -> Result<(), ServiceError> {
        let mut comparisons = 0;
        self.check_within(1, &mut comparisons)
    }

    fn check_within(&self, depth: usize, comparisons: &mut usize) -> Result<(), ServiceError> {
        if depth > FILTER_DEPTH_MAX {
            return Err(ServiceError::invalid(format!(
                "A filter must not be nested deeper than {FILTER_DEPTH_MAX} levels."
            )));
        }
        *comparisons += 1;
        if *comparisons > COMPARISONS_MAX {
            return Err(ServiceError::invalid(format!("A filter must have at most {COMPARISONS_MAX} parts.")));
        }
        match self {
            Filter::Compare(_, comparison, value) => value.check(*comparison),
            Filter::Exists(_) => Ok(()),
            Filter::And(parts) | Filter::Or(parts) => {
                parts.iter().try_for_each(|part| part.check_within(depth + 1, comparisons))
            }
            Filter::Not(part) => part.check_within(depth + 1, comparisons),
        }
    }
}

impl Comparison {
    fn has_order(self) -> bool {
        !matches!(self, Comparison::Equal | Comparison::NotEqual)
    }
}

impl Scalar {
    fn check(&self, comparison: Comparison) -> Result<(), ServiceError> {
        match self {
            Scalar::Null | Scalar::Boolean(_) if comparison.has_order() => {
                Err(ServiceError::invalid("Null, true and false are equal or not, and have no order."))
            }
            Scalar::Real(value) if !value.is_finite() => Err(ServiceError::invalid("A number must be finite.")),
            Scalar::Text(text) if text.len() > TEXT_BYTES_MAX => Err(ServiceError::invalid(format!(
                "A text that is compared with must have at most {TEXT_BYTES_MAX} bytes."
            ))),
            Scalar::Text(text) => refuse_zero("A text that is compared with", text),
            _ => Ok(()),
        }
    }
}

macro_rules! from {
    ($($type:ty => |$value:ident| $made:expr;)+) => {$(
        impl From<$type> for Scalar {
            fn from($value: $type) -> Scalar {
                $made
            }
        }
    )+};
}

from! {
    bool => |value| Scalar::Boolean(value);
    i32 => |value| Scalar::Integer(value.into());
    i64 => |value| Scalar::Integer(value);
    f64 => |value| Scalar::Real(value);
    &str => |value| Scalar::Text(value.to_owned());
    String => |value| Scalar::Text(value);
}
