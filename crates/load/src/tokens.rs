//! Access tokens of bots.

use std::time::{SystemTime, UNIX_EPOCH};

use aether_client_native::{ConnectionError, Connector};
use aether_wire::Token;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;
use uuid::Uuid;

use crate::arguments::LoadArguments;

/// Validity of a signed token. A bot needs it only to connect.
const TOKEN_SECONDS: u64 = 3_600;

/// Audience that the server requires.
const AUDIENCE: &str = "aether";

/// Source of access tokens.
pub(crate) enum BotTokens {
    /// One token for all bots.
    Fixed(Token),
    /// Signed by the load tool, with an account per bot.
    Signed { key: EncodingKey, key_id: String },
    /// Guest tokens from the server.
    Guests,
}

impl BotTokens {
    /// Creates the source from the arguments. `None` if the key is malformed.
    pub(crate) fn new(arguments: &LoadArguments) -> Option<Self> {
        if let Some(token) = &arguments.token {
            return Some(Self::Fixed(Token::new(token)));
        }
        let Some(key) = &arguments.token_key else {
            return Some(Self::Guests);
        };
        let (key_id, secret) = key.split_once(':').filter(|(id, secret)| !id.is_empty() && !secret.is_empty())?;
        Some(Self::Signed { key: EncodingKey::from_secret(&decode_hex(secret)?), key_id: key_id.to_owned() })
    }

    /// Returns a token for a bot.
    pub(crate) async fn token(&self, connector: &Connector, bot: u32) -> Result<Token, ConnectionError> {
        match self {
            Self::Fixed(token) => Ok(token.clone()),
            Self::Signed { key, key_id } => {
                sign(key, key_id, bot).ok_or_else(|| ConnectionError::NoToken("the token cannot be signed".to_owned()))
            }
            Self::Guests => connector.guest_token().await,
        }
    }
}

/// Decodes a secret in the form of the server's key files.
fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
}

#[derive(Serialize)]
struct Claims {
    tid: String,
    uid: String,
    usn: String,
    iat: u64,
    exp: u64,
    aud: &'static str,
}

fn sign(key: &EncodingKey, key_id: &str, bot: u32) -> Option<Token> {
    let iat = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let claims = Claims {
        tid: Uuid::new_v4().to_string(),
        uid: Uuid::new_v4().to_string(),
        usn: format!("bot-{bot}"),
        iat,
        exp: iat + TOKEN_SECONDS,
        aud: AUDIENCE,
    };
    let header = Header { kid: Some(key_id.to_owned()), ..Header::new(Algorithm::HS256) };
    jsonwebtoken::encode(&header, &claims, key).ok().map(Token::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsonwebtoken::{DecodingKey, Validation};

    #[test]
    fn a_signed_token_names_its_key_and_can_be_checked() {
        let secret = b"a secret of the test, and of nobody else";
        let token = sign(&EncodingKey::from_secret(secret), "first", 7).expect("it can be signed");
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_audience(&[AUDIENCE]);
        let data: jsonwebtoken::TokenData<serde_json::Value> =
            jsonwebtoken::decode(token.reveal(), &DecodingKey::from_secret(secret), &validation).expect("it is valid");
        assert_eq!(data.header.kid.as_deref(), Some("first"));
        assert_eq!(data.claims["usn"], "bot-7");
    }
}
