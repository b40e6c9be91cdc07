//! Tokens of Luau, as far as the checks need them.

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Name or keyword.
    Name,
    /// String, also an interpolated one.
    Text,
    Number,
    /// Operator or bracket.
    Symbol,
}

/// Token with its line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub line: u32,
}

impl Token<'_> {
    /// Returns true for this name or symbol.
    pub fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Name | Kind::Symbol) && self.text == text
    }

    /// Returns true for one of these names or symbols.
    pub fn is_any(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.is(text))
    }

    /// Returns the content of a string in quotation marks, without regard to escapes.
    pub fn string(&self) -> Option<String> {
        let inner = self.text.get(1..self.text.len().checked_sub(1)?)?;
        (self.kind == Kind::Text && self.text.starts_with(['"', '\''])).then(|| inner.to_owned())
    }
}

/// Symbols of more than one character, the longest first.
const SYMBOLS: [&str; 14] = ["...", "..=", "//=", "..", "::", "==", "~=", "<=", ">=", "->", "+=", "-=", "*=", "//"];

/// Splits a text that compiles into tokens, without comments.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { text, at: 0, line: 1 };
    std::iter::from_fn(|| scanner.next()).collect()
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Scanner<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = &self.text[self.at..];
            let first = rest.chars().next()?;
            if first.is_whitespace() {
                self.take(first.len_utf8());
            } else if let Some(comment) = rest.strip_prefix("--") {
                let comment = match long_bracket(comment) {
                    Some(length) => 2 + length,
                    None => rest.find('\n').unwrap_or(rest.len()),
                };
                self.take(comment);
            } else {
                let (kind, length) = token(rest, first);
                let line = self.line;
                return Some(Token { kind, text: self.take(length), line });
            }
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = &self.text[self.at..self.at + length];
        self.at += length;
        self.line += u32::try_from(taken.matches('\n').count()).unwrap_or(0);
        taken
    }
}

/// Returns kind and length of the token that a text begins with.
fn token(rest: &str, first: char) -> (Kind, usize) {
    let run = |is_part: fn(char) -> bool| rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    if first.is_alphabetic() || first == '_' {
        (Kind::Name, run(|letter| letter.is_alphanumeric() || letter == '_'))
    } else if first.is_ascii_digit() {
        let length = run(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.');
        // `1..2` concatenates.
        (Kind::Number, rest[..length].find("..").unwrap_or(length))
    } else if matches!(first, '"' | '\'' | '`') {
        (Kind::Text, quoted(rest, first))
    } else if let Some(length) = long_bracket(rest) {
        (Kind::Text, length)
    } else {
        let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
        (Kind::Symbol, symbol.map_or(first.len_utf8(), |symbol| symbol.len()))
    }
}

/// Returns the length of a string in quotation marks.
fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (index, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            letter if letter == quote => return index + letter.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Returns the length of a long string `[=[ … ]=]`, if the text begins with one.
fn long_bracket(rest: &str) -> Option<usize> {
    let level = rest.strip_prefix('[')?.find(|letter| letter != '=')?;
    rest[1 + level..].starts_with('[').then_some(())?;
    let close = format!("]{}]", "=".repeat(level));
    Some(rest.find(&close).map_or(rest.len(), |at| at + close.len()))
}
