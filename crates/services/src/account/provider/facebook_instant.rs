//! Facebook Instant Games: information about the player that Facebook signed with the game's secret. Nobody is asked.

use super::{ExternalIdentity, FACEBOOK_INSTANT, Provider, ProviderProof, REFUSED, VerifyFuture, is_recent};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::facebook::{FacebookInstantSettings, SignatureCheck};
use serde::Deserialize;
use std::sync::Arc;

/// Facebook Instant Games.
pub struct FacebookInstant {
    /// Nobody is accepted without one.
    signatures: Option<SignatureCheck>,
    clock: Arc<dyn WallClock>,
}

#[derive(Deserialize)]
struct PlayerInfo {
    issued_at: i64,
    player_id: String,
}

impl FacebookInstant {
    /// Facebook Instant Games with these settings. Without a secret, nobody can sign in.
    #[must_use]
    pub fn new(settings: &FacebookInstantSettings, clock: Arc<dyn WallClock>) -> FacebookInstant {
        FacebookInstant { signatures: SignatureCheck::new(&settings.app_secret), clock }
    }

    fn check(&self, signed: &str) -> Result<ExternalIdentity, ServiceError> {
        let signatures = self.signatures.as_ref().ok_or(REFUSED)?;
        let payload = signatures.payload(signed).map_err(|_| REFUSED)?;
        let info: PlayerInfo = serde_json::from_value(payload).map_err(|_| REFUSED)?;
        if !is_recent(info.issued_at, self.clock.now_seconds()) || info.player_id.is_empty() {
            return Err(REFUSED);
        }
        Ok(ExternalIdentity { subject: info.player_id, ..ExternalIdentity::default() })
    }
}

impl Provider for FacebookInstant {
    fn name(&self) -> &str {
        FACEBOOK_INSTANT
    }

    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a> {
        Box::pin(async { self.check(proof.token()?) })
    }
}
