//! Filters of queries.

use super::super::object::reject_nul;
use super::field::Field;
use crate::error::ServiceError;

/// Maximum nesting of filters.
pub const FILTER_DEPTH_MAX: usize = 8;
/// Maximum number of comparisons in a filter. Each is evaluated for each object.
pub const COMPARISONS_MAX: usize = 32;
/// Maximum bytes of a text to compare with.
pub const TEXT_BYTES_MAX: usize = 1_024;

/// Condition on an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Compares a field with a value.
    Compare(Field, Comparison, Scalar),
    /// The field exists, with any value.
    Exists(Field),
    /// All conditions hold. True if empty.
    And(Vec<Filter>),
    /// At least one condition holds. False if empty.
    Or(Vec<Filter>),
    /// The condition does not hold.
    Not(Box<Filter>),
}

/// Comparison of a field with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal, or the field is missing or of another type.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
}

/// Value to compare with.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// `null`. Has no order.
    Null,
    /// Boolean. Has no order.
    Boolean(bool),
    /// Integer.
    Integer(i64),
    /// Number.
    Real(f64),
    /// Text, ordered by its bytes.
    Text(String),
}

impl Filter {
    /// Compares a field with a value: `Filter::compare("stats.level", Comparison::Greater, 5)`.
    pub fn compare(field: &str, comparison: Comparison, value: impl Into<Scalar>) -> Result<Filter, ServiceError> {
        Ok(Filter::Compare(Field::parse(field)?, comparison, value.into()))
    }

    /// The field exists, with any value.
    pub fn exists(field: &str) -> Result<Filter, ServiceError> {
        Field::parse(field).map(Filter::Exists)
    }

    /// Negates the filter.
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
                Err(ServiceError::invalid("Null, true and false have no order. Compare them with equal or not equal."))
            }
            Scalar::Real(value) if !value.is_finite() => Err(ServiceError::invalid("A number must be finite.")),
            Scalar::Text(text) if text.len() > TEXT_BYTES_MAX => {
                Err(ServiceError::invalid(format!("A text in a comparison must have at most {TEXT_BYTES_MAX} bytes.")))
            }
            Scalar::Text(text) => reject_nul("A text in a comparison", text),
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
