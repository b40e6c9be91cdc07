//! Patterns over text: wildcards and regular expressions, run by one automaton, and fuzzy words.

mod automaton;
mod expression;
mod fuzzy;
mod set;

pub use fuzzy::is_within;

use automaton::Automaton;
use expression::Expression;
use set::CharacterSet;

use crate::error::QueryErrorKind;
use crate::limits::{PATTERN_BYTES_MAX, PATTERN_TEXT_BYTES_MAX};
use crate::token::WordChar;

/// A wildcard or a regular expression. It matches a whole text, never a part of one.
#[derive(Clone, Debug)]
pub struct Pattern {
    source: PatternSource,
    automaton: Automaton,
    prefix: String,
}

/// Source of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum PatternSource {
    /// Text with `*` for any characters and `?` for one.
    Wildcard(Vec<WildcardPart>),
    /// A regular expression without its slashes.
    Expression(String),
}

/// A part of a wildcard.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WildcardPart {
    Character(char),
    /// `?`
    One,
    /// `*`
    Many,
}

impl Pattern {
    /// Compiles a wildcard. Several `*` in a row are one.
    pub fn wildcard(word: &[WordChar]) -> Result<Pattern, QueryErrorKind> {
        let mut parts = Vec::with_capacity(word.len());
        for character in word {
            match character.value {
                '*' if !character.is_escaped && parts.last() == Some(&WildcardPart::Many) => {}
                '*' if !character.is_escaped => parts.push(WildcardPart::Many),
                '?' if !character.is_escaped => parts.push(WildcardPart::One),
                value => parts.push(WildcardPart::Character(value)),
            }
        }
        let expression = Expression::Concatenation(parts.iter().map(|part| part.expression()).collect());
        let bytes = word.iter().map(|character| character.value.len_utf8()).sum();
        Pattern::compile(PatternSource::Wildcard(parts), bytes, &expression)
    }

    /// Compiles a regular expression.
    pub fn regular(source: String) -> Result<Pattern, QueryErrorKind> {
        let bytes = source.len();
        if bytes > PATTERN_BYTES_MAX {
            return Err(QueryErrorKind::PatternTooLong);
        }
        let expression = expression::parse(&source)?;
        Pattern::compile(PatternSource::Expression(source), bytes, &expression)
    }

    fn compile(source: PatternSource, bytes: usize, expression: &Expression) -> Result<Pattern, QueryErrorKind> {
        if bytes > PATTERN_BYTES_MAX {
            return Err(QueryErrorKind::PatternTooLong);
        }
        let automaton = Automaton::compile(expression).ok_or(QueryErrorKind::PatternTooLarge)?;
        let mut prefix = String::new();
        expression.push_prefix(&mut prefix);
        Ok(Pattern { source, automaton, prefix })
    }

    /// Returns true if the whole text matches. A text that is too long does not.
    pub fn is_match(&self, text: &str) -> bool {
        text.len() <= PATTERN_TEXT_BYTES_MAX && self.automaton.is_match(text)
    }

    /// Returns the characters that every matching text begins with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the source of the pattern.
    pub fn source(&self) -> &PatternSource {
        &self.source
    }
}

impl PartialEq for Pattern {
    /// Compares the sources, which determine the automata.
    fn eq(&self, other: &Pattern) -> bool {
        self.source == other.source
    }
}

impl WildcardPart {
    fn expression(self) -> Expression {
        match self {
            WildcardPart::Character(value) => Expression::set(CharacterSet::one(value)),
            WildcardPart::One => Expression::set(CharacterSet::any()),
            WildcardPart::Many => Expression::Repetition {
                repeated: Box::new(Expression::set(CharacterSet::any())),
                least: 0,
                most: None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wildcard(text: &str) -> Pattern {
        let word: Vec<WordChar> = text.chars().map(|value| WordChar { value, is_escaped: false }).collect();
        Pattern::wildcard(&word).unwrap()
    }

    #[test]
    fn a_wildcard_matches_the_whole_text() {
        let pattern = wildcard("ma?p*");
        for text in ["maxp", "ma\u{00e4}ple", "ma\np"] {
            assert!(pattern.is_match(text), "{text}");
        }
        for text in ["map", "maxq", "a maxp", ""] {
            assert!(!pattern.is_match(text), "{text}");
        }
        assert_eq!(pattern.prefix(), "ma");
    }

    #[test]
    fn stars_in_a_row_are_one() {
        assert_eq!(wildcard("a***b"), wildcard("a*b"));
        assert!(wildcard("**").is_match(""));
    }

    #[test]
    fn a_regular_expression_matches_the_whole_text_and_knows_its_prefix() {
        let pattern = Pattern::regular("map-(one|two)+".to_owned()).unwrap();
        assert!(pattern.is_match("map-onetwo"));
        assert!(!pattern.is_match("map-"));
        assert!(!pattern.is_match("the map-one"));
        assert_eq!(pattern.prefix(), "map-");
    }

    #[test]
    fn patterns_that_are_too_large_are_rejected() {
        assert_eq!(Pattern::regular("a{129}".to_owned()).err(), Some(QueryErrorKind::PatternTooLarge));
        assert_eq!(Pattern::regular("((a{9}){9}){9}".to_owned()).err(), Some(QueryErrorKind::PatternTooLarge));
        assert_eq!(Pattern::regular("a".repeat(257)).err(), Some(QueryErrorKind::PatternTooLong));
        assert!(Pattern::regular("((((){99}){99}){99}){99}".to_owned()).is_ok(), "of nothing there can be many");
    }

    #[test]
    fn time_grows_only_with_the_text_for_the_worst_pattern() {
        let pattern = Pattern::regular("(a*)*(a|a)*(a?){40}b".to_owned()).unwrap();
        assert!(!pattern.is_match(&"a".repeat(PATTERN_TEXT_BYTES_MAX)));
        assert!(pattern.is_match(&("a".repeat(PATTERN_TEXT_BYTES_MAX - 1) + "b")));
    }

    #[test]
    fn a_text_that_is_too_long_does_not_match() {
        assert!(wildcard("a*").is_match(&"a".repeat(PATTERN_TEXT_BYTES_MAX)));
        assert!(!wildcard("a*").is_match(&"a".repeat(PATTERN_TEXT_BYTES_MAX + 1)));
    }
}
