//! Clauses of a query.

use std::fmt;

use crate::document::{Document, Field, FieldValue};
use crate::pattern::{Pattern, PatternSource, WildcardPart, is_within};
use crate::token::is_reserved;

/// One condition of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    pub occurrence: Occurrence,
    /// Field whose values are checked, or all of them.
    pub field: Option<String>,
    pub condition: Condition,
    /// Share of the score.
    pub boost: f64,
}

/// Effect of a clause on the match of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrence {
    Must,
    MustNot,
    Should,
}

/// Condition on a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Every document is accepted.
    All,
    /// Any value is accepted.
    Exists,
    Text(String),
    /// A number, or the text it was written as.
    Number {
        value: f64,
        text: String,
    },
    NumberRange(Comparison, f64),
    TimeRange {
        comparison: Comparison,
        microseconds: i64,
        text: String,
    },
    Pattern(Pattern),
    Fuzzy {
        word: String,
        distance: u8,
    },
}

/// Comparison of a value with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
}

impl Clause {
    /// Returns true if a document meets the condition, regardless of the occurrence.
    pub fn accepts(&self, document: &Document) -> bool {
        if matches!(self.condition, Condition::All) {
            return true;
        }
        let fields = match &self.field {
            Some(name) => document.values_of(name),
            None => document.fields(),
        };
        fields.iter().any(|Field { value, .. }| self.condition.accepts(value))
    }
}

impl Condition {
    /// Returns true for conditions whose check reads the whole text: wildcards, regular expressions and fuzzy words.
    pub fn is_pattern(&self) -> bool {
        matches!(self, Condition::Pattern(_) | Condition::Fuzzy { .. })
    }

    fn accepts(&self, value: &FieldValue) -> bool {
        match (self, value) {
            (Condition::All | Condition::Exists, _) => true,
            (Condition::Text(wanted), FieldValue::Text(text)) => **wanted == **text,
            (Condition::Number { text: wanted, .. }, FieldValue::Text(text)) => **wanted == **text,
            (Condition::Number { value: wanted, .. }, FieldValue::Number(number)) => wanted == number,
            (Condition::NumberRange(comparison, bound), FieldValue::Number(number)) => comparison.holds(number, bound),
            (Condition::TimeRange { comparison, microseconds, .. }, FieldValue::Time(time)) => {
                comparison.holds(time, microseconds)
            }
            (Condition::Pattern(pattern), FieldValue::Text(text)) => pattern.is_match(text),
            (Condition::Fuzzy { word, distance }, FieldValue::Text(text)) => is_within(*distance, text, word),
            _ => false,
        }
    }
}

impl Comparison {
    fn holds<T: PartialOrd>(self, value: &T, bound: &T) -> bool {
        match self {
            Comparison::Greater => value > bound,
            Comparison::GreaterOrEqual => value >= bound,
            Comparison::Less => value < bound,
            Comparison::LessOrEqual => value <= bound,
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.occurrence {
            Occurrence::Must => write!(f, "+")?,
            Occurrence::MustNot => write!(f, "-")?,
            Occurrence::Should => {}
        }
        if let Some(field) = &self.field {
            write!(f, "{}:", Escaped(field))?;
        }
        write!(f, "{}", self.condition)?;
        if self.boost != 1.0 {
            write!(f, "^{}", self.boost)?;
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::All | Condition::Exists => write!(f, "*"),
            Condition::Text(text) => write!(f, "{}", Quoted(text)),
            Condition::Number { text, .. } => write!(f, "{text}"),
            Condition::NumberRange(comparison, bound) => write!(f, "{comparison}{bound}"),
            Condition::TimeRange { comparison, text, .. } => write!(f, "{comparison}{}", Quoted(text)),
            Condition::Fuzzy { word, distance } => write!(f, "{}~{distance}", Escaped(word)),
            Condition::Pattern(pattern) => match pattern.source() {
                PatternSource::Expression(expression) => write!(f, "/{}/", Escaped(expression)),
                PatternSource::Wildcard(parts) => parts.iter().try_for_each(|part| match part {
                    WildcardPart::Character(value) => write!(f, "{}", Escaped(value.encode_utf8(&mut [0; 4]))),
                    WildcardPart::One => write!(f, "?"),
                    WildcardPart::Many => write!(f, "*"),
                }),
            },
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
        })
    }
}

/// Text as a word, with reserved characters escaped.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|character| {
            if is_reserved(character) { write!(f, "\\{character}") } else { write!(f, "{character}") }
        })
    }
}

/// Text between quotes.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
