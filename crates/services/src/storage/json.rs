//! Validation of texts that hold a JSON object.
//!
//! A text is stored unchanged, so it is only scanned: in one pass, without allocating for its contents. Both databases
//! must be able to read it in queries, otherwise one object would break the queries of a whole collection.

use crate::error::ServiceError;
use std::fmt;

/// Maximum nesting of objects and lists. Parsers differ in how much they accept.
pub const DEPTH_MAX: usize = 100;
/// Maximum bytes of a number. The longest that a 64-bit float needs has 24.
pub const NUMBER_BYTES_MAX: usize = 128;
/// Digits up to which every integer is exact as a 64-bit float.
const DIGITS_EXACT: usize = 15;

/// Rejects a text that is not a JSON object, or that cannot be stored. `what` names it in the error.
pub fn check_object(what: &str, text: &str, bytes_max: usize) -> Result<(), ServiceError> {
    if text.len() > bytes_max {
        return Err(ServiceError::invalid(format!("{what} must have at most {bytes_max} bytes.")));
    }
    Scanner { bytes: text.as_bytes(), at: 0, open: Vec::new() }
        .object()
        .map_err(|fault| ServiceError::invalid(format!("{what} {fault}")))
}

/// Reason for rejecting a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    NotAnObject,
    Syntax,
    Depth,
    Number,
    Character,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NotAnObject | Fault::Syntax => f.write_str("must be a JSON object."),
            Fault::Depth => write!(f, "must not be nested deeper than {DEPTH_MAX} levels."),
            Fault::Number => f.write_str("must contain only numbers that fit a 64-bit float."),
            Fault::Character => f.write_str("must not contain the character U+0000 or half of a surrogate pair."),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    List,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    open: Vec<Container>,
}

impl Scanner<'_> {
    fn object(&mut self) -> Result<(), Fault> {
        self.skip_blanks();
        if self.peek() != Some(b'{') {
            return Err(Fault::NotAnObject);
        }
        loop {
            self.value()?;
            if !self.after_value()? {
                return Ok(());
            }
        }
    }

    /// Scans a scalar or an empty container, with all containers that open before it.
    fn value(&mut self) -> Result<(), Fault> {
        loop {
            self.skip_blanks();
            match self.next()? {
                b'{' => {
                    self.enter(Container::Object)?;
                    if self.take(b'}') {
                        return self.leave();
                    }
                    self.key()?;
                }
                b'[' => {
                    self.enter(Container::List)?;
                    if self.take(b']') {
                        return self.leave();
                    }
                }
                b'"' => return self.string(),
                b't' => return self.word(b"rue"),
                b'f' => return self.word(b"alse"),
                b'n' => return self.word(b"ull"),
                first @ (b'-' | b'0'..=b'9') => return self.number(first),
                _ => return Err(Fault::Syntax),
            }
        }
    }

    /// Scans closing brackets, then a comma or the end. Returns true if another value follows.
    fn after_value(&mut self) -> Result<bool, Fault> {
        loop {
            self.skip_blanks();
            let Some(container) = self.open.last().copied() else {
                return if self.peek().is_none() { Ok(false) } else { Err(Fault::Syntax) };
            };
            match (container, self.next()?) {
                (Container::Object, b',') => {
                    self.key()?;
                    return Ok(true);
                }
                (Container::List, b',') => return Ok(true),
                (Container::Object, b'}') | (Container::List, b']') => self.leave()?,
                _ => return Err(Fault::Syntax),
            }
        }
    }

    fn key(&mut self) -> Result<(), Fault> {
        self.skip_blanks();
        if self.next()? != b'"' {
            return Err(Fault::Syntax);
        }
        self.string()?;
        if self.take(b':') { Ok(()) } else { Err(Fault::Syntax) }
    }

    fn enter(&mut self, container: Container) -> Result<(), Fault> {
        if self.open.len() == DEPTH_MAX {
            return Err(Fault::Depth);
        }
        self.open.push(container);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Fault> {
        self.open.pop().map(|_| ()).ok_or(Fault::Syntax)
    }

    /// Scans the rest of a string after its quotation mark.
    fn string(&mut self) -> Result<(), Fault> {
        loop {
            match self.next()? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                0 => return Err(Fault::Character),
                1..0x20 => return Err(Fault::Syntax),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        match self.next()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => match self.code_unit()? {
                0 | 0xDC00..=0xDFFF => Err(Fault::Character),
                0xD800..=0xDBFF => {
                    let follows = self.bytes[self.at..].starts_with(b"\\u");
                    self.at += 2 * usize::from(follows);
                    let is_pair = follows && (0xDC00..=0xDFFF).contains(&self.code_unit()?);
                    if is_pair { Ok(()) } else { Err(Fault::Character) }
                }
                _ => Ok(()),
            },
            _ => Err(Fault::Syntax),
        }
    }

    fn code_unit(&mut self) -> Result<u32, Fault> {
        let digits = self.bytes.get(self.at..self.at + 4).ok_or(Fault::Syntax)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, &digit| {
            let digit = char::from(digit).to_digit(16).ok_or(Fault::Syntax)?;
            Ok(unit * 16 + digit)
        })
    }

    /// Scans the rest of a number after its first character.
    fn number(&mut self, first: u8) -> Result<(), Fault> {
        let begin = self.at - 1;
        let leading = if first == b'-' { self.next()? } else { first };
        if !leading.is_ascii_digit() {
            return Err(Fault::Syntax);
        }
        let digits = if leading == b'0' { 1 } else { 1 + self.digits() };
        let mut is_whole = true;
        if self.peek() == Some(b'.') {
            is_whole = false;
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_whole = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        if is_whole && digits <= DIGITS_EXACT { Ok(()) } else { fits(&self.bytes[begin..self.at]) }
    }

    fn some_digits(&mut self) -> Result<(), Fault> {
        if self.digits() > 0 { Ok(()) } else { Err(Fault::Syntax) }
    }

    fn digits(&mut self) -> usize {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn word(&mut self, rest: &[u8]) -> Result<(), Fault> {
        if !self.bytes[self.at..].starts_with(rest) {
            return Err(Fault::Syntax);
        }
        self.at += rest.len();
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips blanks, and then a character if it is the next one.
    fn take(&mut self, wanted: u8) -> bool {
        self.skip_blanks();
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, Fault> {
        let byte = self.peek().ok_or(Fault::Syntax)?;
        self.at += 1;
        Ok(byte)
    }
}

/// Rejects numbers beyond the range of 64-bit floats: PostgreSQL fails to compare them.
fn fits(number: &[u8]) -> Result<(), Fault> {
    let text = std::str::from_utf8(number).map_err(|_| Fault::Syntax)?;
    let value: f64 = text.parse().map_err(|_| Fault::Syntax)?;
    let mantissa = number.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let underflows = value == 0.0 && mantissa.into_iter().any(|byte| matches!(byte, b'1'..=b'9'));
    if number.len() > NUMBER_BYTES_MAX || !value.is_finite() || underflows { Err(Fault::Number) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH_MAX, check_object};
    use serde_json::Value;

    fn is_accepted(text: &str) -> bool {
        check_object("It", text, 1_000_000).is_ok()
    }

    #[test]
    fn objects_pass_and_other_values_do_not() {
        for text in ["{}", " {\"a\" : [1, -0.5e+3, true, null, {\"b\":\"\\u00e9\\ud83d\\ude00\"}] }\n"] {
            assert!(is_accepted(text), "{text}");
        }
        for text in ["", " ", "[]", "1", "\"a\"", "null", "{", "{}}", "{}{}", "{\"a\"}", "{a:1}", "{\"a\":1,}", "{,}"] {
            assert!(!is_accepted(text), "{text}");
        }
    }

    #[test]
    fn texts_that_a_database_cannot_read_are_rejected() {
        let rejection = |text: &str| check_object("It", text, 1_000_000).unwrap_err().message.into_owned();
        for text in [
            r#"{"a":"\u0000"}"#,
            "{\"a\":\"\0\"}",
            r#"{"\ud800":1}"#,
            r#"{"a":"\udc00\ud800"}"#,
            r#"{"a":"\ud800\u0041"}"#,
        ] {
            assert!(rejection(text).contains("U+0000"), "{text}");
        }
        let long = format!(r#"{{"a":1.{}}}"#, "0".repeat(200));
        for text in [r#"{"a":1e309}"#, r#"{"a":1e-400}"#, r#"{"a":-0.1e-999999}"#, &long] {
            assert!(rejection(text).contains("64-bit float"), "{text}");
        }
        assert!(is_accepted(r#"{"a":1.7976931348623157e308,"b":5e-324,"c":0e999999,"d":18446744073709551615}"#));
    }

    #[test]
    fn depth_and_size_are_limited() {
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert!(is_accepted(&nested(DEPTH_MAX)));
        assert!(!is_accepted(&nested(DEPTH_MAX + 1)));
        assert!(!is_accepted(&format!("{{\"a\":{}", "[".repeat(100_000))));
        assert!(check_object("It", r#"{"a":1}"#, 7).is_ok());
        assert!(check_object("It", r#"{"a":1}"#, 6).is_err());
    }

    /// Random texts of valid and invalid pieces of JSON: accepted exactly if serde_json accepts them.
    #[test]
    fn it_agrees_with_serde_json() {
        let pieces = [
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\"",
            "\"a\"",
            "\"a\":",
            "{\"k\":",
            "1",
            "-",
            "0",
            ".5",
            "e2",
            "true",
            "null",
            "fals",
            " ",
            "\\n",
            "\\x",
            "\\u00e9",
            "\\ud83d\\ude00",
            "\u{e9}",
            "\t",
        ];
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut passed = 0;
        for _ in 0..300_000 {
            let text: String = (0..1 + random(9)).map(|_| pieces[random(pieces.len())]).collect();
            // Half of them are nested, so that errors at the beginning do not hide the rest.
            let text = if random(2) == 0 { format!("{{\"k\":{text}}}") } else { text };
            let expected = serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_object());
            assert_eq!(is_accepted(&text), expected, "{text}");
            passed += u32::from(expected);
        }
        assert!(passed > 1_000, "only {passed} texts were valid, too few for the test");
    }
}
