//! Paths to fields of an object.

use crate::error::ServiceError;
use std::fmt::Write as _;

/// Maximum steps from the object to a field.
pub const FIELD_STEPS_MAX: usize = 8;
/// Maximum bytes of a field as text.
pub const FIELD_BYTES_MAX: usize = 256;

/// Path to a field, such as `stats.level` or `items[0].name`: names joined by dots, and list indexes.
///
/// Names must not contain dots, brackets, quotation marks, backslashes or control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// JSON path that both databases accept, with every name in quotation marks.
    path: String,
}

impl Field {
    /// Parses a field.
    pub fn parse(text: &str) -> Result<Field, ServiceError> {
        if text.is_empty() || text.len() > FIELD_BYTES_MAX {
            return Err(ServiceError::invalid(format!("A field must have 1 to {FIELD_BYTES_MAX} bytes.")));
        }
        let mut path = "$".to_owned();
        let mut steps = 0;
        for part in text.split('.') {
            let (name, indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() || name.chars().any(is_forbidden) {
                return Err(invalid_field(text));
            }
            let _ = write!(path, ".\"{name}\"");
            steps += 1 + add_indexes(&mut path, indexes).ok_or_else(|| invalid_field(text))?;
        }
        match steps <= FIELD_STEPS_MAX {
            true => Ok(Field { path }),
            false => Err(ServiceError::invalid(format!("A field must have at most {FIELD_STEPS_MAX} steps."))),
        }
    }

    /// Returns the path for SQLite, and for PostgreSQL in strict mode.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// Appends indexes such as `[0][1]` to a path. Returns their number.
fn add_indexes(path: &mut String, mut indexes: &str) -> Option<usize> {
    let mut count = 0;
    while !indexes.is_empty() {
        let (number, rest) = indexes.strip_prefix('[')?.split_once(']')?;
        // Signs and leading zeros are ambiguous.
        let index: u16 = number.parse().ok().filter(|index: &u16| index.to_string() == number)?;
        let _ = write!(path, "[{index}]");
        indexes = rest;
        count += 1;
    }
    Some(count)
}

fn is_forbidden(character: char) -> bool {
    matches!(character, '"' | '\\' | '[' | ']' | '.') || character.is_control()
}

fn invalid_field(text: &str) -> ServiceError {
    ServiceError::invalid(format!(
        "'{}' is not a valid field. Write it like stats.level or items[0].name.",
        text.escape_debug()
    ))
}

#[cfg(test)]
mod tests {
    use super::{FIELD_STEPS_MAX, Field};

    #[test]
    fn names_and_indexes_become_a_path() {
        assert_eq!(Field::parse("stats.level").unwrap().path(), "$.\"stats\".\"level\"");
        assert_eq!(Field::parse("items[0][12].née 1").unwrap().path(), "$.\"items\"[0][12].\"née 1\"");
    }

    #[test]
    fn ambiguous_fields_are_rejected() {
        for text in [
            "", ".", "a.", ".a", "a..b", "[0]", "a[", "a[]", "a[-1]", "a[01]", "a[+1]", "a[x]", "a[0]b", "a]", "a\"b",
            "a\\", "a\0", "a[99999]",
        ] {
            assert!(Field::parse(text).is_err(), "{text}");
        }
        let deep = |steps: usize| vec!["a"; steps].join(".");
        assert!(Field::parse(&deep(FIELD_STEPS_MAX)).is_ok());
        assert!(Field::parse(&deep(FIELD_STEPS_MAX + 1)).is_err());
        assert!(Field::parse(&"a".repeat(257)).is_err());
    }
}
