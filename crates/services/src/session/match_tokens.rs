//! Signed tokens with which matched players join a relayed match.
//!
//! A match token is a JWT of the session key with the claims `mid` (id of the match), `exp`, `iat` and `aud`. It has an
//! audience of its own and names no user, so neither it nor an access token passes for the other.

use super::tokens::{TokenError, Tokens};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Validity of a match token, in seconds.
pub const MATCH_TOKEN_SECONDS: u64 = 30;

/// Suffix of the audience.
const AUDIENCE: &str = "#match";

/// Signs and verifies match tokens.
#[derive(Clone, Debug)]
pub struct MatchTokens {
    tokens: Arc<Tokens>,
    audience: String,
}

#[derive(Serialize, Deserialize)]
struct MatchClaims {
    mid: String,
    exp: u64,
    iat: u64,
    aud: String,
}

impl MatchTokens {
    /// Creates a signer with the keys of the session tokens.
    #[must_use]
    pub fn new(tokens: Arc<Tokens>) -> MatchTokens {
        let audience = tokens.audience_for(AUDIENCE);
        MatchTokens { tokens, audience }
    }

    /// Signs a token for a match. `now` is in seconds since 1970.
    #[must_use]
    pub fn issue(&self, match_id: &str, now: u64) -> String {
        let exp = now.saturating_add(MATCH_TOKEN_SECONDS);
        let claims = MatchClaims { mid: match_id.to_owned(), exp, iat: now, aud: self.audience.clone() };
        self.tokens.sign_claims(&claims)
    }

    /// Returns the id of the match that a token is for. `now` is in seconds since 1970.
    pub fn verify(&self, token: &str, now: u64) -> Result<String, TokenError> {
        let (claims, _): (MatchClaims, _) = self.tokens.read(token, false)?;
        if claims.aud != self.audience {
            return Err(TokenError::Audience);
        }
        if claims.exp <= now {
            return Err(TokenError::Expired);
        }
        Ok(claims.mid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::keys::KeyRing;
    use crate::session::tokens::{Claims, TokenKind};
    use uuid::Uuid;

    const NOW: u64 = 1_893_456_000;

    fn tokens() -> Arc<Tokens> {
        let folder = std::env::temp_dir().join(format!("aether-match-tokens-{}", Uuid::new_v4()));
        let ring = KeyRing::open(&folder, NOW).expect("the folder can be created");
        let _ = std::fs::remove_dir_all(&folder);
        Arc::new(Tokens::new(ring, "aether"))
    }

    #[test]
    fn a_match_token_names_its_match_for_thirty_seconds() {
        let tokens = MatchTokens::new(tokens());
        let token = tokens.issue("a.", NOW);
        assert_eq!(tokens.verify(&token, NOW), Ok("a.".to_owned()));
        assert_eq!(tokens.verify(&token, NOW + MATCH_TOKEN_SECONDS - 1), Ok("a.".to_owned()));
        assert_eq!(tokens.verify(&token, NOW + MATCH_TOKEN_SECONDS), Err(TokenError::Expired));
        assert!(tokens.verify(&token[..token.len() - 2], NOW).is_err());
        assert_eq!(MatchTokens::new(self::tokens()).verify(&token, NOW), Err(TokenError::UnknownKey));
    }

    #[test]
    fn neither_a_match_token_nor_a_session_token_passes_for_the_other() {
        let sessions = tokens();
        let matches = MatchTokens::new(Arc::clone(&sessions));
        let token = matches.issue("a.", NOW);
        assert_eq!(sessions.verify(&token, NOW, true), Err(TokenError::Malformed));
        assert_eq!(sessions.verify_refresh(&token, NOW), Err(TokenError::Malformed));
        for kind in [TokenKind::Access, TokenKind::Guest, TokenKind::Refresh(0)] {
            let claims = Claims { kind, ..Claims::new(Uuid::from_u128(1), "ann", NOW, 30) };
            assert_eq!(matches.verify(&sessions.sign(&claims), NOW), Err(TokenError::Malformed));
        }
    }

    #[test]
    fn a_token_with_the_claims_of_both_kinds_is_for_its_audience_only() {
        let sessions = tokens();
        let matches = MatchTokens::new(Arc::clone(&sessions));
        let both = |audience: &str| {
            let id = Uuid::from_u128(1);
            sessions.sign_claims(&serde_json::json!({
                "mid": "a.", "tid": id, "uid": id, "usn": "ann", "iat": NOW, "exp": NOW + 30, "aud": audience,
            }))
        };
        assert_eq!(matches.verify(&both("aether"), NOW), Err(TokenError::Audience));
        assert_eq!(sessions.verify(&both("aether#match"), NOW, true), Err(TokenError::Audience));
        assert!(matches.verify(&both("aether#match"), NOW).is_ok());
        assert!(sessions.verify(&both("aether"), NOW, true).is_ok());
    }
}
