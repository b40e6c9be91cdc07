//! Facebook Instant Games: player information that Facebook signs with the game's secret. No request is needed.

use super::{ExternalIdentity, FACEBOOK_INSTANT, Provider, ProviderProof, REJECTED, VerifyFuture, is_recent};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::facebook::{FacebookInstantSettings, SignatureCheck};
use serde::Deserialize;
use std::sync::Arc;

/// Facebook Instant Games provider.
pub struct FacebookInstant {
    /// `None` rejects all sign-ins.
    signatures: Option<SignatureCheck>,
    clock: Arc<dyn WallClock>,
}

#[derive(Deserialize)]
struct PlayerInfo {
    issued_at: i64,
    player_id: String,
}

impl FacebookInstant {
    /// Creates the provider. Without a secret, all sign-ins are rejected.
    #[must_use]
    pub fn new(settings: &FacebookInstantSettings, clock: Arc<dyn WallClock>) -> FacebookInstant {
        FacebookInstant { signatures: SignatureCheck::new(&settings.app_secret), clock }
    }

    fn check(&self, signed: &str) -> Result<ExternalIdentity, ServiceError> {
        let signatures = self.signatures.as_ref().ok_or(REJECTED)?;
        let payload = signatures.payload(signed).map_err(|_| REJECTED)?;
        let info: PlayerInfo = serde_json::from_value(payload).map_err(|_| REJECTED)?;
        if !is_recent(info.issued_at, self.clock.now_seconds()) || info.player_id.is_empty() {
            return Err(REJECTED);
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
