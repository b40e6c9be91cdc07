//! Secret tokens.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Access token or resume token. Debug output hides it, so that it cannot reach a log by accident.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// Wraps the text of a token.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    /// Returns the secret.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_hidden_in_debug_output() {
        assert_eq!(format!("{:?}", Some(Token::new("secret"))), "Some(Token(6 bytes))");
    }
}
