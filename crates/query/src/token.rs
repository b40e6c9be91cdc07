//! Tokens of a query.

use crate::error::{QueryError, QueryErrorKind};

/// Characters that a backslash makes literal. Before another one, a backslash stands for itself.
const RESERVED: &str = "+-=&|><!(){}[]^\"~*?:\\/";

/// A token and the byte where it begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub position: usize,
    pub kind: TokenKind,
}

/// Kinds of token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenKind {
    Plus,
    Minus,
    Colon,
    Greater,
    Less,
    Equal,
    /// The text after `^`.
    Boost(String),
    /// The text after `~`.
    Tilde(String),
    /// The text between quotes.
    Phrase(String),
    /// Digits, with a dot at most.
    Number(String),
    Word(Vec<WordChar>),
}

/// A character of a word. An escaped one is literal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WordChar {
    pub value: char,
    pub is_escaped: bool,
}

/// Returns true if a backslash before this character makes it literal.
pub fn is_reserved(character: char) -> bool {
    character.is_whitespace() || RESERVED.contains(character)
}

/// Splits a query into tokens.
pub fn tokens(query: &str) -> Result<Vec<Token>, QueryError> {
    let mut lexer = Lexer { query, position: 0 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.token()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Lexer<'a> {
    query: &'a str,
    position: usize,
}

impl Lexer<'_> {
    fn token(&mut self) -> Result<Option<Token>, QueryError> {
        while self.peek().is_some_and(char::is_whitespace) {
            self.next();
        }
        let position = self.position;
        let Some(first) = self.peek() else { return Ok(None) };
        let kind = match first {
            '+' => self.operator(TokenKind::Plus),
            '-' => self.operator(TokenKind::Minus),
            ':' => self.operator(TokenKind::Colon),
            '>' => self.operator(TokenKind::Greater),
            '<' => self.operator(TokenKind::Less),
            '=' => self.operator(TokenKind::Equal),
            '^' => TokenKind::Boost(self.suffix(|_| false)),
            '~' => TokenKind::Tilde(self.suffix(|next| next == '^')),
            '"' => TokenKind::Phrase(self.phrase()?),
            _ => self.word()?,
        };
        Ok(Some(Token { position, kind }))
    }

    fn peek(&self) -> Option<char> {
        self.query[self.position..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.position += next.len_utf8();
        Some(next)
    }

    fn operator(&mut self, kind: TokenKind) -> TokenKind {
        self.next();
        kind
    }

    /// Reads what follows a `^` or `~`, up to a space or an end that the caller knows.
    fn suffix(&mut self, is_end: impl Fn(char) -> bool) -> String {
        self.next();
        let mut text = String::new();
        while let Some(next) = self.peek().filter(|next| !next.is_whitespace() && !is_end(*next)) {
            text.push(next);
            self.next();
        }
        text
    }

    fn phrase(&mut self) -> Result<String, QueryError> {
        let start = self.position;
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(QueryError::new(start, QueryErrorKind::UnclosedQuote)),
                Some('"') => return Ok(text),
                Some('\\') => {
                    let Some(next) = self.next() else {
                        return Err(QueryError::new(start, QueryErrorKind::UnclosedQuote));
                    };
                    if !is_reserved(next) {
                        text.push('\\');
                    }
                    text.push(next);
                }
                Some(next) => text.push(next),
            }
        }
    }

    fn word(&mut self) -> Result<TokenKind, QueryError> {
        let mut word = Vec::new();
        while let Some(next) = self.peek() {
            match next {
                ':' | '^' | '~' => break,
                _ if next.is_whitespace() => break,
                '\\' => {
                    let position = self.position;
                    self.next();
                    let Some(next) = self.next() else {
                        return Err(QueryError::new(position, QueryErrorKind::TrailingBackslash));
                    };
                    if !is_reserved(next) {
                        word.push(WordChar { value: '\\', is_escaped: true });
                    }
                    word.push(WordChar { value: next, is_escaped: true });
                }
                _ => {
                    word.push(WordChar { value: next, is_escaped: false });
                    self.next();
                }
            }
        }
        Ok(number(&word).map_or(TokenKind::Word(word), TokenKind::Number))
    }
}

/// Returns the text of a word that is a number: it begins with a digit, and has a dot at most besides.
fn number(word: &[WordChar]) -> Option<String> {
    let is_digit = |character: &WordChar| !character.is_escaped && character.value.is_ascii_digit();
    let is_dot = |character: &WordChar| !character.is_escaped && character.value == '.';
    let begins_with_digit = word.first().is_some_and(is_digit);
    let dots = word.iter().filter(|character| is_dot(character)).count();
    let is_number =
        begins_with_digit && dots <= 1 && word.iter().all(|character| is_digit(character) || is_dot(character));
    is_number.then(|| word.iter().map(|character| character.value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(query: &str) -> Vec<TokenKind> {
        tokens(query).unwrap().into_iter().map(|token| token.kind).collect()
    }

    fn word(text: &str) -> TokenKind {
        TokenKind::Word(text.chars().map(|value| WordChar { value, is_escaped: false }).collect())
    }

    #[test]
    fn operators_count_only_where_a_token_begins() {
        assert_eq!(kinds("+a+b"), [TokenKind::Plus, word("a+b")]);
        assert_eq!(
            kinds("a:>=5"),
            [word("a"), TokenKind::Colon, TokenKind::Greater, TokenKind::Equal, TokenKind::Number("5".to_owned())]
        );
    }

    #[test]
    fn digits_with_a_dot_are_a_number_and_anything_else_is_a_word() {
        assert_eq!(kinds("1.5"), [TokenKind::Number("1.5".to_owned())]);
        assert_eq!(kinds("1.5.2"), [word("1.5.2")]);
        assert_eq!(kinds("2v2"), [word("2v2")]);
        assert_eq!(kinds(".5"), [word(".5")]);
    }

    #[test]
    fn a_backslash_before_an_unreserved_character_is_literal() {
        let TokenKind::Word(word) = kinds(r"\d\*").remove(0) else { panic!("a word") };
        assert_eq!(word.iter().map(|character| character.value).collect::<String>(), r"\d*");
        assert_eq!(kinds(r#""a\"\n""#), [TokenKind::Phrase(r#"a"\n"#.to_owned())]);
    }

    #[test]
    fn errors_have_a_position() {
        assert_eq!(tokens(r#"a "b"#), Err(QueryError::new(2, QueryErrorKind::UnclosedQuote)));
        assert_eq!(tokens(r"ab\"), Err(QueryError::new(2, QueryErrorKind::TrailingBackslash)));
    }
}
