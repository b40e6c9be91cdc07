//! Messages signed by Facebook with the secret of a game: `<signature>.<payload>`, both in URL-safe base64.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;
use serde_json::Value;

/// URL-safe base64, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The only accepted algorithm. The payload has to name it.
const ALGORITHM: &str = "HMAC-SHA256";

/// Settings of Facebook Instant Games.
#[derive(Clone)]
pub struct FacebookInstantSettings {
    /// Secret of the game.
    pub app_secret: String,
}

/// Checks signatures with the secret of a game.
pub(crate) struct SignatureCheck {
    key: hmac::Key,
}

/// Reason for rejecting a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignatureError {
    /// The message does not have Facebook's format.
    Malformed,
    /// The message was signed with another secret or algorithm, or changed afterwards.
    Invalid,
}

impl SignatureCheck {
    /// Creates a check with this secret. Returns `None` for an empty secret, with which anybody could sign.
    pub(crate) fn new(app_secret: &str) -> Option<SignatureCheck> {
        let key = || hmac::Key::new(hmac::HMAC_SHA256, app_secret.as_bytes());
        (!app_secret.is_empty()).then(|| SignatureCheck { key: key() })
    }

    /// Returns the payload if the signature is valid.
    pub(crate) fn payload(&self, message: &str) -> Result<Value, SignatureError> {
        let (signature, payload) = message.split_once('.').ok_or(SignatureError::Malformed)?;
        let signature = BASE64.decode(signature).map_err(|_| SignatureError::Malformed)?;
        hmac::verify(&self.key, payload.as_bytes(), &signature).map_err(|_| SignatureError::Invalid)?;
        let payload = BASE64.decode(payload).map_err(|_| SignatureError::Malformed)?;
        let payload: Value = serde_json::from_slice(&payload).map_err(|_| SignatureError::Malformed)?;
        if payload["algorithm"] == ALGORITHM { Ok(payload) } else { Err(SignatureError::Invalid) }
    }
}

impl std::fmt::Debug for FacebookInstantSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FacebookInstantSettings").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signed(secret: &str, payload: &Value) -> String {
        let payload = BASE64.encode(payload.to_string());
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        format!("{}.{payload}", BASE64.encode(hmac::sign(&key, payload.as_bytes())))
    }

    #[test]
    fn a_message_is_accepted_only_if_it_was_signed_with_the_secret() {
        let check = SignatureCheck::new("secret").expect("there is a secret");
        let payload = json!({ "algorithm": "HMAC-SHA256", "player_id": "5001" });
        assert_eq!(check.payload(&signed("secret", &payload)), Ok(payload.clone()));
        assert_eq!(check.payload(&signed("other", &payload)), Err(SignatureError::Invalid));
        assert_eq!(check.payload(&signed("", &payload)), Err(SignatureError::Invalid));
        assert_eq!(check.payload(&signed("secret", &json!({ "algorithm": "none" }))), Err(SignatureError::Invalid));
        assert_eq!(check.payload(&signed("secret", &json!([]))), Err(SignatureError::Invalid));
        for malformed in ["", "no dot", "!.!"] {
            assert_eq!(check.payload(malformed), Err(SignatureError::Malformed), "{malformed}");
        }
    }

    #[test]
    fn there_is_no_check_without_a_secret() {
        assert!(SignatureCheck::new("").is_none());
    }
}
