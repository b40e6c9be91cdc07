//! Errors of queries.

use std::error::Error;
use std::fmt;

use crate::limits::{
    BOOST_MAX, CLAUSES_MAX, FUZZY_DISTANCE_MAX, PATTERN_BYTES_MAX, PATTERN_DEPTH_MAX, PATTERN_POSITIONS_MAX,
    PATTERNS_MAX, QUERY_BYTES_MAX,
};

/// Error of a query, with its position in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    position: usize,
    kind: QueryErrorKind,
}

/// Kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryErrorKind {
    /// The query has more bytes than are allowed.
    TooLong,
    /// The query has more clauses than are allowed.
    TooManyClauses,
    /// The query has more wildcards, regular expressions and fuzzy words than are allowed.
    TooManyPatterns,
    /// A wildcard, regular expression or fuzzy word has more bytes than are allowed.
    PatternTooLong,
    /// A pattern has too many characters once its repetitions are written out.
    PatternTooLarge,
    /// Groups of a regular expression are nested too deeply.
    PatternTooDeep,
    /// A regular expression uses something that is not supported or not well formed.
    PatternInvalid(&'static str),
    /// A quote has no end.
    UnclosedQuote,
    /// A backslash stands at the very end.
    TrailingBackslash,
    /// A term was expected.
    MissingTerm,
    /// A value was expected after the name of a field.
    MissingValue,
    /// A number or a quoted date was expected after a comparison.
    MissingBound,
    /// Quotes stand where the name of a field was expected.
    QuotedField,
    /// The text after a comparison is not a date.
    InvalidDate,
    /// The text after `^` is not a boost.
    InvalidBoost,
    /// The text after `~` is not an edit distance.
    InvalidFuzziness,
    /// A `~` follows something other than a plain word.
    FuzzyPattern,
}

impl QueryError {
    pub(crate) fn new(position: usize, kind: QueryErrorKind) -> QueryError {
        QueryError { position, kind }
    }

    /// Returns the byte of the query where the error was found.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Returns the kind of error.
    pub fn kind(&self) -> QueryErrorKind {
        self.kind
    }
}

impl QueryErrorKind {
    /// Returns the label for metrics.
    pub fn label(self) -> &'static str {
        match self {
            QueryErrorKind::TooLong => "too_long",
            QueryErrorKind::TooManyClauses => "too_many_clauses",
            QueryErrorKind::TooManyPatterns => "too_many_patterns",
            QueryErrorKind::PatternTooLong => "pattern_too_long",
            QueryErrorKind::PatternTooLarge => "pattern_too_large",
            QueryErrorKind::PatternTooDeep => "pattern_too_deep",
            QueryErrorKind::PatternInvalid(_) => "pattern_invalid",
            QueryErrorKind::UnclosedQuote => "unclosed_quote",
            QueryErrorKind::TrailingBackslash => "trailing_backslash",
            QueryErrorKind::MissingTerm => "missing_term",
            QueryErrorKind::MissingValue => "missing_value",
            QueryErrorKind::MissingBound => "missing_bound",
            QueryErrorKind::QuotedField => "quoted_field",
            QueryErrorKind::InvalidDate => "invalid_date",
            QueryErrorKind::InvalidBoost => "invalid_boost",
            QueryErrorKind::InvalidFuzziness => "invalid_fuzziness",
            QueryErrorKind::FuzzyPattern => "fuzzy_pattern",
        }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query is not valid at byte {}: {}", self.position, self.kind)
    }
}

impl fmt::Display for QueryErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueryErrorKind::TooLong => write!(f, "shorten it to {QUERY_BYTES_MAX} bytes"),
            QueryErrorKind::TooManyClauses => write!(f, "use at most {CLAUSES_MAX} clauses"),
            QueryErrorKind::TooManyPatterns => {
                write!(f, "use at most {PATTERNS_MAX} wildcards, regular expressions and fuzzy words")
            }
            QueryErrorKind::PatternTooLong => write!(f, "shorten the pattern to {PATTERN_BYTES_MAX} bytes"),
            QueryErrorKind::PatternTooLarge => write!(
                f,
                "use at most {PATTERN_POSITIONS_MAX} characters in the pattern, repetitions such as `a{{3}}` written out"
            ),
            QueryErrorKind::PatternTooDeep => write!(f, "nest groups at most {PATTERN_DEPTH_MAX} deep"),
            QueryErrorKind::PatternInvalid(advice) => write!(f, "the regular expression is not valid: {advice}"),
            QueryErrorKind::UnclosedQuote => write!(f, "close the quote, or write `\\\"` for a quote inside a term"),
            QueryErrorKind::TrailingBackslash => write!(f, "write `\\\\` for a backslash"),
            QueryErrorKind::MissingTerm => {
                write!(f, "a term was expected, such as `field:value`; escape `+ - : > < = ^ ~` at its start with `\\`")
            }
            QueryErrorKind::MissingValue => {
                write!(f, "a value was expected after `field:`; escape `+ - : > < = ^ ~` at its start with `\\`")
            }
            QueryErrorKind::MissingBound => {
                write!(f, "a number such as `10` or a date such as `\"2026-01-31T12:00:00Z\"` was expected")
            }
            QueryErrorKind::QuotedField => {
                write!(f, "write the name of a field without quotes, with `\\` before spaces and colons")
            }
            QueryErrorKind::InvalidDate => {
                write!(f, "write a date as `\"2026-01-31T12:00:00Z\"` or `\"2026-01-31\"`")
            }
            QueryErrorKind::InvalidBoost => {
                write!(f, "write a boost as a number such as `^2.5`, of at most {BOOST_MAX}, and a space after it")
            }
            QueryErrorKind::InvalidFuzziness => write!(f, "write `~`, or `~0` to `~{FUZZY_DISTANCE_MAX}`"),
            QueryErrorKind::FuzzyPattern => write!(f, "`~` applies to a plain word only"),
        }
    }
}

impl Error for QueryError {}
