//! Signing keys of a provider, read from the URL where it publishes them.

use super::remote::Remote;
use crate::error::ServiceError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;

/// Age at which keys are reloaded, so that a withdrawn key does not stay valid.
const FRESH_MS: i64 = 3_600_000;
/// Maximum age of keys that could not be reloaded.
const STALE_MS: i64 = 86_400_000;
/// Minimum time between reloads. Tokens with unknown keys are easy to forge, and each would cause one.
const PAUSE_MS: i64 = 30_000;
/// Maximum number of keys of a provider. Real ones have two or three.
const KEYS_MAX: usize = 64;
/// Maximum bytes of a key id.
const KEY_ID_BYTES_MAX: usize = 256;
/// Length of an RSA modulus, in bytes: shorter is weak, longer is slow.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1_024;
/// Maximum bytes of an RSA exponent.
const EXPONENT_BYTES_MAX: usize = 8;

/// Keys of a provider.
pub(super) struct KeySet {
    url: String,
    keys: RwLock<Keys>,
    /// Locked while the keys are reloaded.
    reading: Mutex<()>,
}

/// Key with its only algorithm.
pub(super) struct Key {
    pub algorithm: Algorithm,
    pub decoding: DecodingKey,
}

#[derive(Default)]
struct Keys {
    by_id: HashMap<String, Arc<Key>>,
    read_at: Option<i64>,
    tried_at: Option<i64>,
}

#[derive(Deserialize)]
struct Published {
    keys: Vec<serde_json::Value>,
}

/// Relevant fields of a published key.
#[derive(Deserialize)]
struct PublishedKey {
    kty: String,
    kid: String,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    pub fn new(url: String) -> KeySet {
        KeySet { url, keys: RwLock::default(), reading: Mutex::default() }
    }

    /// Returns the key with this id, if the provider has one.
    pub async fn find(&self, id: &str, remote: &Remote) -> Result<Option<Arc<Key>>, ServiceError> {
        if id.len() > KEY_ID_BYTES_MAX {
            return Ok(None);
        }
        let now = remote.now_ms();
        if let Some(key) = self.known(id, now, FRESH_MS) {
            return Ok(Some(key));
        }
        let Some(stale) = self.known(id, now, STALE_MS) else { return self.reload_for(id, remote).await };
        // One sign-in reloads the keys; the others continue with the present ones.
        if let Ok(_reading) = self.reading.try_lock()
            && self.can_reload(now)
            && self.read(remote).await.is_ok()
        {
            return Ok(self.known(id, now, FRESH_MS));
        }
        Ok(Some(stale))
    }

    /// Reloads the keys, because the requested one is missing.
    async fn reload_for(&self, id: &str, remote: &Remote) -> Result<Option<Arc<Key>>, ServiceError> {
        let _reading = self.reading.lock().await;
        let now = remote.now_ms();
        if let Some(key) = self.known(id, now, FRESH_MS) {
            // The previous lock holder loaded it.
            return Ok(Some(key));
        }
        if self.can_reload(now) {
            self.read(remote).await?;
            return Ok(self.known(id, now, FRESH_MS));
        }
        let were_read = self.keys.read().unwrap_or_else(PoisonError::into_inner).read_at.is_some();
        if were_read { Ok(None) } else { Err(super::UNAVAILABLE) }
    }

    fn known(&self, id: &str, now: i64, age_ms_max: i64) -> Option<Arc<Key>> {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.read_at.filter(|at| now.saturating_sub(*at) < age_ms_max)?;
        keys.by_id.get(id).cloned()
    }

    fn can_reload(&self, now: i64) -> bool {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        let may = keys.tried_at.is_none_or(|at| now.saturating_sub(at) >= PAUSE_MS);
        if may {
            keys.tried_at = Some(now);
        }
        may
    }

    async fn read(&self, remote: &Remote) -> Result<(), ServiceError> {
        let published = remote.get_json(&self.url, &[("accept", "application/json")]).await?;
        let published: Published =
            serde_json::from_value(published).map_err(|_| remote.report_failure("its key set is malformed"))?;
        // Unknown kinds of keys do not affect the others.
        let keys = published.keys.into_iter().take(KEYS_MAX).filter_map(|key| serde_json::from_value(key).ok());
        let by_id = keys.filter_map(|key: PublishedKey| Some((key.kid.clone(), Arc::new(key.key()?)))).collect();
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.by_id = by_id;
        keys.read_at = Some(remote.now_ms());
        Ok(())
    }
}

impl PublishedKey {
    /// Returns the key, if it is for signatures of an accepted kind.
    fn key(&self) -> Option<Key> {
        if self.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let (name, algorithm, decoding) = match (self.kty.as_str(), self.crv.as_deref()) {
            ("RSA", None) => {
                let (modulus, exponent) = (decoded(self.n.as_deref())?, decoded(self.e.as_deref())?);
                let is_sound = MODULUS_BYTES.contains(&modulus.len()) && exponent.len() <= EXPONENT_BYTES_MAX;
                let key = is_sound.then(|| DecodingKey::from_rsa_raw_components(&modulus, &exponent))?;
                ("RS256", Algorithm::RS256, key)
            }
            ("EC", Some("P-256")) => {
                let key = DecodingKey::from_ec_components(self.x.as_deref()?, self.y.as_deref()?).ok()?;
                ("ES256", Algorithm::ES256, key)
            }
            ("OKP", Some("Ed25519")) => {
                ("EdDSA", Algorithm::EdDSA, DecodingKey::from_ed_components(self.x.as_deref()?).ok()?)
            }
            _ => return None,
        };
        let algorithm_matches = self.alg.as_deref().is_none_or(|alg| alg == name);
        algorithm_matches.then_some(Key { algorithm, decoding })
    }
}

fn decoded(text: Option<&str>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text?).ok()
}
