//! The keys by which a provider signs, read from where it publishes them.

use super::remote::Remote;
use crate::error::ServiceError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::Mutex;

/// After so long the keys are read anew, so that one that was withdrawn does not count for ever.
const FRESH_MS: i64 = 3_600_000;
/// For so long they count though they could not be read anew.
const STALE_MS: i64 = 86_400_000;
/// Between two attempts to read them. Tokens under unknown keys are easy to make, and would cause one each.
const PAUSE_MS: i64 = 30_000;
/// Keys of a provider. They have two or three.
const KEYS_MAX: usize = 64;
/// Bytes of a key's id.
const KEY_ID_BYTES_MAX: usize = 256;
/// Bytes of the modulus of an RSA key: shorter is weak, longer takes long.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1_024;
/// Bytes of the exponent of an RSA key.
const EXPONENT_BYTES_MAX: usize = 8;

/// The keys of a provider.
pub(super) struct KeySet {
    url: String,
    keys: RwLock<Keys>,
    /// Held by the one who reads the keys anew.
    reading: Mutex<()>,
}

/// A key, and the one algorithm that it is for.
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

/// A published key, as far as it matters here.
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

    /// The key of an id, if the provider has it.
    pub async fn find(&self, id: &str, remote: &Remote) -> Result<Option<Arc<Key>>, ServiceError> {
        if id.len() > KEY_ID_BYTES_MAX {
            return Ok(None);
        }
        let now = remote.now_ms();
        if let Some(key) = self.known(id, now, FRESH_MS) {
            return Ok(Some(key));
        }
        let Some(stale) = self.known(id, now, STALE_MS) else { return self.read_for(id, remote).await };
        // One of those who sign in reads the keys anew; the others go on with what there is.
        if let Ok(_reading) = self.reading.try_lock()
            && self.may_read(now)
            && self.read(remote).await.is_ok()
        {
            return Ok(self.known(id, now, FRESH_MS));
        }
        Ok(Some(stale))
    }

    /// Reads the keys anew, because the one that is needed is not among them.
    async fn read_for(&self, id: &str, remote: &Remote) -> Result<Option<Arc<Key>>, ServiceError> {
        let _reading = self.reading.lock().await;
        let now = remote.now_ms();
        if let Some(key) = self.known(id, now, FRESH_MS) {
            // Whoever was before us has read it.
            return Ok(Some(key));
        }
        if self.may_read(now) {
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

    fn may_read(&self, now: i64) -> bool {
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
            serde_json::from_value(published).map_err(|_| remote.complain("its keys are no set of keys"))?;
        // Kinds of keys that are not known here do not concern the others.
        let keys = published.keys.into_iter().take(KEYS_MAX).filter_map(|key| serde_json::from_value(key).ok());
        let by_id = keys.filter_map(|key: PublishedKey| Some((key.kid.clone(), Arc::new(key.key()?)))).collect();
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.by_id = by_id;
        keys.read_at = Some(remote.now_ms());
        Ok(())
    }
}

impl PublishedKey {
    /// The key, if it is one for signatures of a kind that is accepted.
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
        let is_for_it = self.alg.as_deref().is_none_or(|alg| alg == name);
        is_for_it.then_some(Key { algorithm, decoding })
    }
}

fn decoded(text: Option<&str>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text?).ok()
}
