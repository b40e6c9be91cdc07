//! Regular expressions.

use std::sync::Arc;

use super::set::CharacterSet;
use crate::error::QueryErrorKind;
use crate::limits::{PATTERN_DEPTH_MAX, PATTERN_POSITIONS_MAX};

/// A regular expression as a tree.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A character of a set, which copies of a repetition share.
    Set(Arc<CharacterSet>),
    /// A sequence of parts; the empty text if there are none.
    Concatenation(Vec<Expression>),
    Alternation(Vec<Expression>),
    Repetition {
        repeated: Box<Expression>,
        least: u32,
        most: Option<u32>,
    },
}

impl Expression {
    /// A character of a set.
    pub fn set(set: CharacterSet) -> Expression {
        Expression::Set(Arc::new(set))
    }

    /// Appends the characters that every match begins with. Returns true if the expression is only these characters, so
    /// that the next part can continue the prefix.
    pub fn push_prefix(&self, prefix: &mut String) -> bool {
        match self {
            Expression::Set(set) => set.as_one().map(|value| prefix.push(value)).is_some(),
            Expression::Concatenation(parts) => parts.iter().all(|part| part.push_prefix(prefix)),
            Expression::Alternation(parts) => match parts.as_slice() {
                [only] => only.push_prefix(prefix),
                _ => false,
            },
            Expression::Repetition { repeated, least, most } => {
                if *least == 0 {
                    return *most == Some(0);
                }
                repeated.push_prefix(prefix) && *least == 1 && *most == Some(1)
            }
        }
    }
}

/// Parses a regular expression. A `^` at its start and a `$` at its end change nothing: it matches whole texts anyway.
pub fn parse(source: &str) -> Result<Expression, QueryErrorKind> {
    let (source, ignores_case) = match source.strip_prefix("(?i)") {
        Some(rest) => (rest, true),
        None => (source, false),
    };
    let source = source.strip_prefix('^').unwrap_or(source);
    let mut parser = Parser { rest: source, ignores_case };
    let expression = parser.alternation(0)?;
    if parser.rest.is_empty() { Ok(expression) } else { Err(invalid("close only groups that were opened")) }
}

struct Parser<'a> {
    rest: &'a str,
    ignores_case: bool,
}

impl Parser<'_> {
    fn alternation(&mut self, depth: usize) -> Result<Expression, QueryErrorKind> {
        if depth > PATTERN_DEPTH_MAX {
            return Err(QueryErrorKind::PatternTooDeep);
        }
        let mut parts = vec![self.concatenation(depth)?];
        while self.take('|') {
            parts.push(self.concatenation(depth)?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Expression::Alternation(parts) })
    }

    fn concatenation(&mut self, depth: usize) -> Result<Expression, QueryErrorKind> {
        let mut parts = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            if self.rest == "$" {
                self.rest = "";
                break;
            }
            let part = self.atom(depth)?;
            parts.push(self.repetition(part)?);
        }
        Ok(Expression::Concatenation(parts))
    }

    fn atom(&mut self, depth: usize) -> Result<Expression, QueryErrorKind> {
        let set = match self.next() {
            Some('(') => {
                if self.peek() == Some('?') && !self.take_text("?:") {
                    return Err(invalid("only `(…)`, `(?:…)` and `(?i)` at the start are supported"));
                }
                let inner = self.alternation(depth + 1)?;
                return if self.take(')') { Ok(inner) } else { Err(invalid("close the group with `)`")) };
            }
            Some('[') => self.class()?,
            Some('.') => CharacterSet::one('\n').negated(),
            Some('\\') => self.escape()?,
            Some('*' | '+' | '?') => return Err(invalid("put something before `*`, `+` and `?`, or escape them")),
            Some('{' | '}') => return Err(invalid("write `x{2}`, `x{2,}` or `x{2,5}`, or escape the brace")),
            Some('^' | '$') => return Err(invalid("`^` belongs to the start and `$` to the end; escape others")),
            Some(value) => CharacterSet::one(value),
            None => return Err(invalid("something is missing at the end")),
        };
        Ok(Expression::set(if self.ignores_case { set.ignoring_case() } else { set }))
    }

    fn repetition(&mut self, repeated: Expression) -> Result<Expression, QueryErrorKind> {
        let (least, most) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => self.counts()?,
            _ => return Ok(repeated),
        };
        self.next();
        // A reluctant repetition matches the same whole texts.
        self.take('?');
        if matches!(self.peek(), Some('*' | '+' | '?' | '{')) {
            return Err(invalid("put a group around a repetition that is repeated"));
        }
        Ok(Expression::Repetition { repeated: Box::new(repeated), least, most })
    }

    /// Reads `{2`, `{2,` or `{2,5`, up to the brace that closes it.
    fn counts(&mut self) -> Result<(u32, Option<u32>), QueryErrorKind> {
        self.next();
        let least = self.count().ok_or(invalid("write `x{2}`, `x{2,}` or `x{2,5}`, or escape the brace"))?;
        let most = if self.take(',') { self.count() } else { Some(least) };
        if self.peek() != Some('}') || most.is_some_and(|most| most < least) {
            return Err(invalid("write `x{2}`, `x{2,}` or `x{2,5}`, or escape the brace"));
        }
        if most.unwrap_or(least) as usize > PATTERN_POSITIONS_MAX {
            return Err(QueryErrorKind::PatternTooLarge);
        }
        Ok((least, most))
    }

    fn count(&mut self) -> Option<u32> {
        let digits = self.rest.len() - self.rest.trim_start_matches(|character: char| character.is_ascii_digit()).len();
        let (count, rest) = self.rest.split_at(digits);
        self.rest = rest;
        // A number that is too large for its type is too large for the automaton as well.
        (digits > 0).then(|| count.parse().unwrap_or(u32::MAX))
    }

    /// Reads a class after its opening bracket.
    fn class(&mut self) -> Result<CharacterSet, QueryErrorKind> {
        let is_negated = self.take('^');
        let mut set = CharacterSet::default();
        let mut is_first = true;
        loop {
            match self.next() {
                None => return Err(invalid("close the class with `]`")),
                Some(']') if !is_first => break,
                Some('[') if matches!(self.peek(), Some(':' | '.' | '=')) => {
                    return Err(invalid("write `a-z` or `\\d` instead of `[:alpha:]` or the like"));
                }
                Some(first) => self.class_item(first, &mut set)?,
            }
            is_first = false;
        }
        Ok(if is_negated { set.negated() } else { set })
    }

    fn class_item(&mut self, first: char, set: &mut CharacterSet) -> Result<(), QueryErrorKind> {
        let first = if first == '\\' { self.escape()? } else { CharacterSet::one(first) };
        let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
        if !is_range {
            let ranges = first.as_ranges().ok_or(invalid("write `\\D`, `\\W` and `\\S` outside of a class"))?;
            ranges.iter().for_each(|(first, last)| set.add(*first, *last));
            return Ok(());
        }
        self.next();
        let last = match self.next() {
            Some('\\') => self.escape()?,
            Some(last) => CharacterSet::one(last),
            None => return Err(invalid("close the class with `]`")),
        };
        match (first.as_one(), last.as_one()) {
            (Some(first), Some(last)) if first <= last => set.add(first, last),
            _ => return Err(invalid("write a range from a lower to a higher character, such as `a-z`")),
        }
        Ok(())
    }

    /// Reads the escape after a backslash.
    fn escape(&mut self) -> Result<CharacterSet, QueryErrorKind> {
        const DIGITS: &[(char, char)] = &[('0', '9')];
        const LETTERS: &[(char, char)] = &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];
        const SPACES: &[(char, char)] = &[('\t', '\n'), ('\u{c}', '\r'), (' ', ' ')];
        Ok(match self.next() {
            Some('d') => CharacterSet::ranges(DIGITS),
            Some('D') => CharacterSet::ranges(DIGITS).negated(),
            Some('w') => CharacterSet::ranges(LETTERS),
            Some('W') => CharacterSet::ranges(LETTERS).negated(),
            Some('s') => CharacterSet::ranges(SPACES),
            Some('S') => CharacterSet::ranges(SPACES).negated(),
            Some('t') => CharacterSet::one('\t'),
            Some('n') => CharacterSet::one('\n'),
            Some('r') => CharacterSet::one('\r'),
            Some(value) if !value.is_alphanumeric() => CharacterSet::one(value),
            _ => return Err(invalid("of letters, only `\\d \\D \\w \\W \\s \\S \\t \\n \\r` may follow a backslash")),
        })
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take_text(&mut self, wanted: &str) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

fn invalid(advice: &'static str) -> QueryErrorKind {
    QueryErrorKind::PatternInvalid(advice)
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::*;

    fn check(source: &str, matching: &[&str], others: &[&str]) {
        let pattern = Pattern::regular(source.to_owned()).unwrap_or_else(|error| panic!("{source}: {error}"));
        for text in matching {
            assert!(pattern.is_match(text), "{source} should match {text:?}");
        }
        for text in others {
            assert!(!pattern.is_match(text), "{source} should not match {text:?}");
        }
    }

    #[test]
    fn common_syntax_is_supported() {
        check("a|bc", &["a", "bc"], &["ac", "abc", "b", ""]);
        check("(?:a|b)c?", &["a", "bc"], &["c", "abc"]);
        check("a.c", &["abc", "aüc"], &["ac", "a\nc"]);
        check("x{2}", &["xx"], &["x", "xxx"]);
        check("x{2,}", &["xx", "xxxxx"], &["x"]);
        check("x{1,2}?y", &["xy", "xxy"], &["y", "xxxy"]);
        check("^a+$", &["a", "aaa"], &["", "^a"]);
        check("", &[""], &["a"]);
        check("(a|)b", &["ab", "b"], &["a"]);
    }

    #[test]
    fn classes_hold_characters_ranges_and_escapes() {
        check("[a-c_]+", &["abc_"], &["d", "-"]);
        check("[^a-c]", &["d", "ü"], &["a", ""]);
        check(r"[\d.]+", &["1.5"], &["a", r"\"]);
        check("[]a-]+", &["]a-"], &["b"]);
        check(r"\w+\s\S", &["a_9 x"], &["ü x", "a  "]);
        check(r"\.\*\\", &[r".*\"], &["a"]);
    }

    #[test]
    fn case_is_ignored_on_request() {
        check("(?i)map-[a-c]", &["MAP-B", "map-b", "Map-C"], &["map-d"]);
        check("(?i)[^a]", &["b"], &["a", "A"]);
        check("map", &["map"], &["Map"]);
    }

    #[test]
    fn other_syntax_is_rejected_with_advice() {
        for source in [
            "(a",
            "a)",
            "[a",
            "*a",
            "a**",
            "a{",
            "a{2,1}",
            "a{x}",
            "a^b",
            "a$b",
            r"\bword",
            r"(\1)",
            "(?=a)",
            "[b-a]",
            "[[:alpha:]]",
            r"[\D]",
            r"a\",
        ] {
            let error = parse(source).unwrap_err();
            assert!(matches!(error, QueryErrorKind::PatternInvalid(_)), "{source}: {error:?}");
        }
        assert_eq!(parse(&("(".repeat(17) + &")".repeat(17))), Err(QueryErrorKind::PatternTooDeep));
    }
}
