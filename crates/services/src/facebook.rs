//! Messages that Facebook signs with the secret of a game: `<signature>.<payload>`, both in the base64 of addresses.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;
use serde_json::Value;

/// The base64 of addresses, with or without padding at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Name of the only accepted algorithm, which the payload has to contain.
const ALGORITHM: &str = "HMAC-SHA256";

/// A game as Facebook Instant Games knows it.
#[derive(Clone)]
pub struct FacebookInstantSettings {
    /// The game's secret.
    pub app_secret: String,
}

/// Checks signatures by the secret of a game.
pub(crate) struct SignatureCheck {
    key: hmac::Key,
}

/// Reason why a message is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignatureError {
    /// It is not of the form that Facebook gives.
    Malformed,
    /// It was signed with another secret or by another algorithm, or was changed afterwards.
    Invalid,
}

impl SignatureCheck {
    /// A check by this secret. There is none without a secret, because then anybody could sign.
    pub(crate) fn new(app_secret: &str) -> Option<SignatureCheck> {
        let key = || hmac::Key::new(hmac::HMAC_SHA256, app_secret.as_bytes());
        (!app_secret.is_empty()).then(|| SignatureCheck { key: key() })
    }

    /// Returns the payload of a message that is signed.
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
