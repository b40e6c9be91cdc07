//! Facebook Instant Games: information about the player that Facebook signed with the game's secret. Nobody is asked.

use super::{External, FACEBOOK_INSTANT, Proof, Provider, REFUSED, Verifying, is_recent};
use crate::clock::Clock;
use crate::refusal::Refusal;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;
use serde::Deserialize;
use std::sync::Arc;

/// The base64 of addresses, with or without padding at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How a game is known to Facebook.
#[derive(Clone)]
pub struct FacebookInstantSettings {
    /// The game's secret.
    pub app_secret: String,
}

/// Facebook Instant Games.
pub struct FacebookInstant {
    key: hmac::Key,
    clock: Arc<dyn Clock>,
}

#[derive(Deserialize)]
struct PlayerInfo {
    algorithm: String,
    issued_at: i64,
    player_id: String,
}

impl FacebookInstant {
    /// Facebook Instant Games with these settings.
    #[must_use]
    pub fn new(settings: &FacebookInstantSettings, clock: Arc<dyn Clock>) -> FacebookInstant {
        FacebookInstant { key: hmac::Key::new(hmac::HMAC_SHA256, settings.app_secret.as_bytes()), clock }
    }

    fn check(&self, signed: &str) -> Result<External, Refusal> {
        let (signature, payload) = signed.split_once('.').ok_or(REFUSED)?;
        let signature = BASE64.decode(signature).map_err(|_| REFUSED)?;
        hmac::verify(&self.key, payload.as_bytes(), &signature).map_err(|_| REFUSED)?;
        let payload = BASE64.decode(payload).map_err(|_| REFUSED)?;
        let info: PlayerInfo = serde_json::from_slice(&payload).map_err(|_| REFUSED)?;
        let is_right = info.algorithm == "HMAC-SHA256" && is_recent(info.issued_at, self.clock.now_seconds());
        if !is_right || info.player_id.is_empty() {
            return Err(REFUSED);
        }
        Ok(External { subject: info.player_id, ..External::default() })
    }
}

impl Provider for FacebookInstant {
    fn name(&self) -> &str {
        FACEBOOK_INSTANT
    }

    fn verify<'a>(&'a self, proof: &'a Proof) -> Verifying<'a> {
        Box::pin(async { self.check(proof.token()?) })
    }
}

impl std::fmt::Debug for FacebookInstantSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FacebookInstantSettings").finish_non_exhaustive()
    }
}
