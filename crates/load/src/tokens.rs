//! Where bots get their access tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use aether_client_native::{ConnectionError, Connector};
use aether_wire::Token;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde::Serialize;
use uuid::Uuid;

use crate::arguments::LoadArguments;

/// How long a signed token is good: a bot shows it when it connects, and not later.
const TOKEN_SECONDS: u64 = 3_600;

/// The audience that the server asks for.
const AUDIENCE: &str = "aether";

/// Where tokens come from.
pub(crate) enum Tokens {
    /// One for all.
    Fixed(Token),
    /// Signed here, for an account of the bot's own.
    Signed { key: EncodingKey, key_id: String },
    /// The server makes a guest of each bot.
    Guests,
}

impl Tokens {
    /// What the arguments say; nothing if the key is malformed.
    pub(crate) fn new(arguments: &LoadArguments) -> Option<Self> {
        if let Some(token) = &arguments.token {
            return Some(Self::Fixed(Token::new(token)));
        }
        let Some(key) = &arguments.token_key else {
            return Some(Self::Guests);
        };
        let (key_id, secret) = key.split_once(':').filter(|(id, secret)| !id.is_empty() && !secret.is_empty())?;
        Some(Self::Signed { key: EncodingKey::from_secret(&from_hexadecimal(secret)?), key_id: key_id.to_owned() })
    }

    /// A token for a bot.
    pub(crate) async fn take(&self, connector: &Connector, bot: u32) -> Result<Token, ConnectionError> {
        match self {
            Self::Fixed(token) => Ok(token.clone()),
            Self::Signed { key, key_id } => {
                sign(key, key_id, bot).ok_or_else(|| ConnectionError::NoToken("it cannot be signed".to_owned()))
            }
            Self::Guests => connector.guest_token().await,
        }
    }
}

/// A secret as the server's key files write it.
fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
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
