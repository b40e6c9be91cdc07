//! Parser of queries.
//!
//! ```text
//! query     = { clause }
//! clause    = [ "+" | "-" ] ( [ field ":" ] value | comparison ) [ "^" boost ]
//! value     = word [ "~" [ distance ] ] | [ "-" ] number | "\"" phrase "\"" | "/" expression "/" | wildcard | "*"
//! comparison = field ":" ( ">" | "<" ) [ "=" ] ( [ "-" ] number | "\"" date "\"" )
//! ```

use crate::clause::{Clause, Comparison, Condition, Occurrence};
use crate::document::normal;
use crate::error::{QueryError, QueryErrorKind};
use crate::limits::{BOOST_MAX, CLAUSES_MAX, FUZZY_DISTANCE_MAX, PATTERN_BYTES_MAX, PATTERNS_MAX, QUERY_BYTES_MAX};
use crate::pattern::{Pattern, PatternSource, WildcardPart};
use crate::time::parse_date;
use crate::token::{Token, TokenKind, WordChar, tokens};

/// Parses the clauses of a query.
pub fn parse(query: &str) -> Result<Vec<Clause>, QueryError> {
    if query.len() > QUERY_BYTES_MAX {
        return Err(QueryError::new(QUERY_BYTES_MAX, QueryErrorKind::TooLong));
    }
    let mut parser = Parser { tokens: tokens(query)?, next: 0, end: query.len() };
    let mut clauses = Vec::new();
    let mut patterns = 0;
    while parser.peek().is_some() {
        let position = parser.position();
        if clauses.len() == CLAUSES_MAX {
            return Err(QueryError::new(position, QueryErrorKind::TooManyClauses));
        }
        let clause = parser.clause()?;
        patterns += usize::from(matches!(clause.condition, Condition::Pattern(_) | Condition::Fuzzy { .. }));
        if patterns > PATTERNS_MAX {
            return Err(QueryError::new(position, QueryErrorKind::TooManyPatterns));
        }
        clauses.push(clause);
    }
    Ok(clauses)
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    end: usize,
}

impl Parser {
    fn clause(&mut self) -> Result<Clause, QueryError> {
        let occurrence = match self.peek() {
            Some(TokenKind::Plus) => Occurrence::Must,
            Some(TokenKind::Minus) => Occurrence::MustNot,
            _ => Occurrence::Should,
        };
        if occurrence != Occurrence::Should {
            self.next += 1;
        }
        let field = self.field()?;
        let condition = match field {
            Some(_) => self.field_condition()?,
            None => self.value(QueryErrorKind::MissingTerm)?,
        };
        let condition = simplified(condition, field.is_some());
        Ok(Clause { occurrence, field, condition, boost: self.boost()? })
    }

    /// Reads the name of a field and its colon, if they come next.
    fn field(&mut self) -> Result<Option<String>, QueryError> {
        let is_colon = |token: Option<&Token>| token.is_some_and(|token| token.kind == TokenKind::Colon);
        if !is_colon(self.tokens.get(self.next + 1)) {
            return Ok(None);
        }
        let name = match self.peek() {
            Some(TokenKind::Word(word)) => text(word),
            Some(TokenKind::Number(number)) => number.clone(),
            Some(TokenKind::Phrase(_)) => return Err(self.error(QueryErrorKind::QuotedField)),
            _ => return Err(self.error(QueryErrorKind::MissingTerm)),
        };
        self.next += 2;
        Ok(Some(name))
    }

    fn field_condition(&mut self) -> Result<Condition, QueryError> {
        let is_greater = match self.peek() {
            Some(TokenKind::Greater) => true,
            Some(TokenKind::Less) => false,
            Some(TokenKind::Minus) => return self.number(QueryErrorKind::MissingValue).map(number_condition),
            _ => return self.value(QueryErrorKind::MissingValue),
        };
        self.next += 1;
        let includes_bound = self.take(&TokenKind::Equal);
        let comparison = match (is_greater, includes_bound) {
            (true, false) => Comparison::Greater,
            (true, true) => Comparison::GreaterOrEqual,
            (false, false) => Comparison::Less,
            (false, true) => Comparison::LessOrEqual,
        };
        if let Some(TokenKind::Phrase(date)) = self.peek() {
            let text = date.clone();
            let microseconds = parse_date(&text).ok_or_else(|| self.error(QueryErrorKind::InvalidDate))?;
            self.next += 1;
            return Ok(Condition::TimeRange { comparison, microseconds, text });
        }
        let (value, _) = self.number(QueryErrorKind::MissingBound)?;
        Ok(Condition::NumberRange(comparison, value))
    }

    /// Reads a number with an optional sign, as value and text.
    fn number(&mut self, missing: QueryErrorKind) -> Result<(f64, String), QueryError> {
        let sign = if self.take(&TokenKind::Minus) { "-" } else { "" };
        let Some(TokenKind::Number(digits)) = self.peek() else { return Err(self.error(missing)) };
        let text = format!("{sign}{digits}");
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| self.error(missing))?;
        self.next += 1;
        Ok((normal(value), text))
    }

    fn value(&mut self, missing: QueryErrorKind) -> Result<Condition, QueryError> {
        let position = self.position();
        let (condition, is_plain) = match self.peek() {
            Some(TokenKind::Phrase(text)) => (Condition::Text(text.clone()), false),
            Some(TokenKind::Word(word)) => {
                let condition = word_condition(word).map_err(|kind| QueryError::new(position, kind))?;
                let is_plain = matches!(condition, Condition::Text(_));
                (condition, is_plain)
            }
            Some(TokenKind::Number(_)) => {
                let condition = number_condition(self.number(missing)?);
                self.next -= 1;
                (condition, true)
            }
            _ => return Err(self.error(missing)),
        };
        self.next += 1;
        let Some(TokenKind::Tilde(distance)) = self.peek() else { return Ok(condition) };
        let distance = if distance.is_empty() { Some(1) } else { distance.parse().ok() };
        let distance = distance.filter(|distance| *distance <= FUZZY_DISTANCE_MAX);
        let distance = distance.ok_or_else(|| self.error(QueryErrorKind::InvalidFuzziness))?;
        let word = match condition {
            Condition::Text(word) | Condition::Number { text: word, .. } if is_plain => word,
            _ => return Err(self.error(QueryErrorKind::FuzzyPattern)),
        };
        if word.len() > PATTERN_BYTES_MAX {
            return Err(QueryError::new(position, QueryErrorKind::PatternTooLong));
        }
        self.next += 1;
        Ok(Condition::Fuzzy { word, distance })
    }

    fn boost(&mut self) -> Result<f64, QueryError> {
        let Some(TokenKind::Boost(text)) = self.peek() else { return Ok(1.0) };
        let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'));
        let boost = if text.is_empty() { Some(1.0) } else { text.parse::<f64>().ok().filter(|_| is_decimal) };
        let boost = boost.filter(|boost| boost.abs() <= BOOST_MAX);
        let boost = boost.ok_or_else(|| self.error(QueryErrorKind::InvalidBoost))?;
        self.next += 1;
        Ok(normal(boost))
    }

    fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    fn take(&mut self, kind: &TokenKind) -> bool {
        let is_next = self.peek() == Some(kind);
        self.next += usize::from(is_next);
        is_next
    }

    fn position(&self) -> usize {
        self.tokens.get(self.next).map_or(self.end, |token| token.position)
    }

    fn error(&self, kind: QueryErrorKind) -> QueryError {
        QueryError::new(self.position(), kind)
    }
}

fn number_condition((value, text): (f64, String)) -> Condition {
    Condition::Number { value, text }
}

fn word_condition(word: &[WordChar]) -> Result<Condition, QueryErrorKind> {
    let is_slash = |character: &WordChar| character.value == '/' && !character.is_escaped;
    let is_wild = |character: &WordChar| matches!(character.value, '*' | '?') && !character.is_escaped;
    Ok(match word {
        [first, inner @ .., last] if is_slash(first) && is_slash(last) => {
            Condition::Pattern(Pattern::regular(text(inner))?)
        }
        _ if word.iter().any(is_wild) => Condition::Pattern(Pattern::wildcard(word)?),
        _ => Condition::Text(text(word)),
    })
}

/// Replaces a wildcard that accepts everything by the condition that it means.
fn simplified(condition: Condition, has_field: bool) -> Condition {
    match &condition {
        Condition::Pattern(pattern) if *pattern.source() == PatternSource::Wildcard(vec![WildcardPart::Many]) => {
            if has_field {
                Condition::Exists
            } else {
                Condition::All
            }
        }
        _ => condition,
    }
}

fn text(word: &[WordChar]) -> String {
    word.iter().map(|character| character.value).collect()
}
