//! Apple's Game Center: a signature over player, game and time, with a key that Apple publishes as a certificate.
//!
//! The signed bytes are the player id, the bundle id, the time as 8 big-endian bytes, and the salt. The client names
//! the URL of the certificate, which is accepted from Apple's hosts only.

use super::remote::Remote;
use super::{
    ExternalIdentity, GAME_CENTER, GameCenterProof, Provider, ProviderProof, REJECTED, VerifyFuture, is_recent,
};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

/// Maximum bytes of each text of a proof: the longest, a signature of 4,096 bits in base64, has 684.
const TEXT_BYTES_MAX: usize = 1_024;
/// Maximum number of cached certificates, and their lifetime. Apple has one at a time, and changes it every few months.
const CERTIFICATES_MAX: usize = 16;
const CERTIFICATE_AGE_MS_MAX: i64 = 86_400_000;

/// Settings of Game Center.
#[derive(Clone, Debug)]
pub struct GameCenterSettings {
    /// Bundle ids of the game.
    pub bundle_ids: Vec<String>,
    /// Origins from which certificates are accepted: scheme and host.
    pub key_origins: Vec<String>,
}

/// Game Center provider.
pub struct GameCenter {
    settings: GameCenterSettings,
    remote: Remote,
    certificates: Mutex<Certificates>,
}

/// Certificates by URL, with the time at which they were read.
type Certificates = HashMap<String, (i64, Arc<[u8]>)>;

impl GameCenterSettings {
    /// Settings of a game with these bundle ids, with Apple's hosts.
    #[must_use]
    pub fn new(bundle_ids: Vec<String>) -> GameCenterSettings {
        let key_origins = vec!["https://static.gc.apple.com".to_owned(), "https://sandbox.gc.apple.com".to_owned()];
        GameCenterSettings { bundle_ids, key_origins }
    }
}

impl GameCenter {
    /// Creates the provider.
    #[must_use]
    pub fn new(settings: GameCenterSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> GameCenter {
        GameCenter { settings, remote: Remote::new(GAME_CENTER, http_client, clock), certificates: Mutex::default() }
    }

    async fn check(&self, proof: &GameCenterProof) -> Result<ExternalIdentity, ServiceError> {
        let texts = [&proof.player_id, &proof.salt, &proof.signature, &proof.public_key_url];
        if texts.iter().any(|text| text.is_empty() || text.len() > TEXT_BYTES_MAX) {
            return Err(REJECTED);
        }
        let now = self.remote.now_ms();
        let is_ours = self.settings.bundle_ids.contains(&proof.bundle_id);
        if !is_ours || !is_recent(proof.timestamp.div_euclid(1_000), now.div_euclid(1_000)) {
            return Err(REJECTED);
        }
        let (signed, signature) = (signed_bytes(proof)?, STANDARD.decode(&proof.signature).map_err(|_| REJECTED)?);
        let certificate = self.certificate(&proof.public_key_url).await?;
        let (_, certificate) = X509Certificate::from_der(&certificate).map_err(|_| REJECTED)?;
        let at = ASN1Time::from_timestamp(now.div_euclid(1_000)).map_err(|_| REJECTED)?;
        if !certificate.validity().is_valid_at(at) {
            return Err(REJECTED);
        }
        let key = &certificate.public_key().subject_public_key.data;
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
        key.verify(&signed, &signature).map_err(|_| REJECTED)?;
        Ok(ExternalIdentity { subject: proof.player_id.clone(), ..ExternalIdentity::default() })
    }

    /// Returns the certificate at a URL of an accepted origin. The TLS connection proves that it is Apple's.
    async fn certificate(&self, url: &str) -> Result<Arc<[u8]>, ServiceError> {
        let origin = origin_of(url).ok_or(REJECTED)?;
        if !self.settings.key_origins.contains(&origin) {
            return Err(REJECTED);
        }
        let now = self.remote.now_ms();
        if let Some((read_at, certificate)) = self.certificates().get(url)
            && now.saturating_sub(*read_at) < CERTIFICATE_AGE_MS_MAX
        {
            return Ok(Arc::clone(certificate));
        }
        let response = self.remote.get(url, &[]).await?;
        // A URL without a certificate is a fault of the client.
        if !response.is_success() || X509Certificate::from_der(&response.body).is_err() {
            return Err(REJECTED);
        }
        let certificate: Arc<[u8]> = response.body.as_ref().into();
        let mut certificates = self.certificates();
        if certificates.len() >= CERTIFICATES_MAX {
            certificates.clear();
        }
        certificates.insert(url.to_owned(), (now, Arc::clone(&certificate)));
        Ok(certificate)
    }

    fn certificates(&self) -> MutexGuard<'_, Certificates> {
        self.certificates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for GameCenter {
    fn name(&self) -> &str {
        GAME_CENTER
    }

    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a> {
        Box::pin(async {
            match proof {
                ProviderProof::GameCenter(proof) => self.check(proof).await,
                ProviderProof::Token(_) => Err(REJECTED),
            }
        })
    }
}

fn signed_bytes(proof: &GameCenterProof) -> Result<Vec<u8>, ServiceError> {
    let salt = STANDARD.decode(&proof.salt).map_err(|_| REJECTED)?;
    let time = u64::try_from(proof.timestamp).map_err(|_| REJECTED)?;
    Ok([proof.player_id.as_bytes(), proof.bundle_id.as_bytes(), &time.to_be_bytes(), &salt].concat())
}

/// Returns scheme and host of a URL.
fn origin_of(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}
