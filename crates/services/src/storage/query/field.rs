//! Where in an object something stands.

use crate::error::ServiceError;
use std::fmt::Write as _;

/// Steps from the object to a field.
pub const FIELD_STEPS_MAX: usize = 8;
/// Bytes of a field as it is written.
pub const FIELD_BYTES_MAX: usize = 256;

/// A field, such as `stats.level` or `items[0].name`: names joined by points, and places in lists.
///
/// Names must not hold points, brackets, quotation marks, backslashes or control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// In the language of paths that both databases read, with every name in quotation marks.
    path: String,
}

impl Field {
    /// Reads a field.
    pub fn parse(text: &str) -> Result<Field, ServiceError> {
        if text.is_empty() || text.len() > FIELD_BYTES_MAX {
            return Err(ServiceError::invalid(format!("A field must have 1 to {FIELD_BYTES_MAX} bytes.")));
        }
        let mut path = "$".to_owned();
        let mut steps = 0;
        for part in text.split('.') {
            let (name, places) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() || name.chars().any(is_forbidden) {
                return Err(wrong(text));
            }
            let _ = write!(path, ".\"{name}\"");
            steps += 1 + add_places(&mut path, places).ok_or_else(|| wrong(text))?;
        }
        match steps <= FIELD_STEPS_MAX {
            true => Ok(Field { path }),
            false => Err(ServiceError::invalid(format!("A field must have at most {FIELD_STEPS_MAX} steps."))),
        }
    }

    /// The path, as SQLite reads it, and PostgreSQL in its strict mode.
    pub(super) fn path(&self) -> &str {
        &self.path
    }
}

/// Adds `[0][1]` to a path; tells how many they were.
fn add_places(path: &mut String, mut places: &str) -> Option<usize> {
    let mut count = 0;
    while !places.is_empty() {
        let (number, rest) = places.strip_prefix('[')?.split_once(']')?;
        // Signs and zeros in front would be read in different ways.
        let place: u16 = number.parse().ok().filter(|place: &u16| place.to_string() == number)?;
        let _ = write!(path, "[{place}]");
        places = rest;
        count += 1;
    }
    Some(count)
}

fn is_forbidden(character: char) -> bool {
    matches!(character, '"' | '\\' | '[' | ']' | '.') || character.is_control()
}

fn wrong(text: &str) -> ServiceError {
    ServiceError::invalid(format!(
        "'{}' is no field. Write it as in stats.level or items[0].name.",
        text.escape_debug()
    ))
}

#[cfg(test)]
mod tests {
    use super::{FIELD_STEPS_MAX, Field};

    #[test]
    fn names_and_places_become_a_path() {
        assert_eq!(Field::parse("stats.level").unwrap().path(), "$.\"stats\".\"level\"");
        assert_eq!(Field::parse("items[0][12].née 1").unwrap().path(), "$.\"items\"[0][12].\"née 1\"");
    }

    #[test]
    fn what_could_be_read_in_another_way_is_refused() {
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
