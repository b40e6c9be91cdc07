//! Apple's Game Center: a signature over who plays which game and when, by a key that Apple publishes as a certificate.
//!
//! What is signed is the player's id, the game's bundle id, the time as 8 bytes, the highest first, and the salt, one
//! after the other. The client says where the certificate is; it counts only from Apple's own addresses.

use super::remote::Remote;
use super::{
    ExternalIdentity, GAME_CENTER, GameCenterProof, Provider, ProviderProof, REFUSED, VerifyFuture, is_recent,
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

/// Bytes of each text of a proof: the longest, a signature of 4,096 bits in base64, has 684.
const TEXT_BYTES_MAX: usize = 1_024;
/// Certificates that are remembered, and for how long. Apple has one at a time, and changes it every few months.
const CERTIFICATES_MAX: usize = 16;
const CERTIFICATE_AGE_MS_MAX: i64 = 86_400_000;

/// How a game is known to Game Center.
#[derive(Clone, Debug)]
pub struct GameCenterSettings {
    /// The bundle ids of the game.
    pub bundle_ids: Vec<String>,
    /// Where certificates may come from: scheme and host.
    pub key_origins: Vec<String>,
}

/// Game Center.
pub struct GameCenter {
    settings: GameCenterSettings,
    remote: Remote,
    certificates: Mutex<Certificates>,
}

/// Certificates by address, and when they were read.
type Certificates = HashMap<String, (i64, Arc<[u8]>)>;

impl GameCenterSettings {
    /// A game with these bundle ids, and Apple's addresses.
    #[must_use]
    pub fn new(bundle_ids: Vec<String>) -> GameCenterSettings {
        let key_origins = vec!["https://static.gc.apple.com".to_owned(), "https://sandbox.gc.apple.com".to_owned()];
        GameCenterSettings { bundle_ids, key_origins }
    }
}

impl GameCenter {
    /// Game Center with these settings.
    #[must_use]
    pub fn new(settings: GameCenterSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> GameCenter {
        GameCenter { settings, remote: Remote::new(GAME_CENTER, http_client, clock), certificates: Mutex::default() }
    }

    async fn check(&self, proof: &GameCenterProof) -> Result<ExternalIdentity, ServiceError> {
        let texts = [&proof.player_id, &proof.salt, &proof.signature, &proof.public_key_url];
        if texts.iter().any(|text| text.is_empty() || text.len() > TEXT_BYTES_MAX) {
            return Err(REFUSED);
        }
        let now = self.remote.now_ms();
        let is_ours = self.settings.bundle_ids.contains(&proof.bundle_id);
        if !is_ours || !is_recent(proof.timestamp.div_euclid(1_000), now.div_euclid(1_000)) {
            return Err(REFUSED);
        }
        let (signed, signature) = (signed_bytes(proof)?, STANDARD.decode(&proof.signature).map_err(|_| REFUSED)?);
        let certificate = self.certificate(&proof.public_key_url).await?;
        let (_, certificate) = X509Certificate::from_der(&certificate).map_err(|_| REFUSED)?;
        let at = ASN1Time::from_timestamp(now.div_euclid(1_000)).map_err(|_| REFUSED)?;
        if !certificate.validity().is_valid_at(at) {
            return Err(REFUSED);
        }
        let key = &certificate.public_key().subject_public_key.data;
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key);
        key.verify(&signed, &signature).map_err(|_| REFUSED)?;
        Ok(ExternalIdentity { subject: proof.player_id.clone(), ..ExternalIdentity::default() })
    }

    /// The certificate at an address, if it is one of Apple's. That it is Apple's is shown by the connection.
    async fn certificate(&self, url: &str) -> Result<Arc<[u8]>, ServiceError> {
        let origin = origin_of(url).ok_or(REFUSED)?;
        if !self.settings.key_origins.contains(&origin) {
            return Err(REFUSED);
        }
        let now = self.remote.now_ms();
        if let Some((read_at, certificate)) = self.certificates().get(url)
            && now.saturating_sub(*read_at) < CERTIFICATE_AGE_MS_MAX
        {
            return Ok(Arc::clone(certificate));
        }
        let response = self.remote.get(url, &[]).await?;
        // An address at which there is none was written by the client.
        if !response.is_success() || X509Certificate::from_der(&response.body).is_err() {
            return Err(REFUSED);
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
                ProviderProof::Token(_) => Err(REFUSED),
            }
        })
    }
}

fn signed_bytes(proof: &GameCenterProof) -> Result<Vec<u8>, ServiceError> {
    let salt = STANDARD.decode(&proof.salt).map_err(|_| REFUSED)?;
    let time = u64::try_from(proof.timestamp).map_err(|_| REFUSED)?;
    Ok([proof.player_id.as_bytes(), proof.bundle_id.as_bytes(), &time.to_be_bytes(), &salt].concat())
}

/// Scheme and host of an address.
fn origin_of(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    Some(format!("{}://{}", uri.scheme_str()?, uri.authority()?))
}
