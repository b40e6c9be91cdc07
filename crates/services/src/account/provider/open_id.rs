//! OpenID Connect: a signed token, checked with the provider's published keys. Covers Google, Apple, Clerk, Auth0 and
//! many others by configuration.

use super::key_set::KeySet;
use super::remote::Remote;
use super::{
    APPLE, CLOCK_SKEW_SECONDS_MAX, ExternalIdentity, FACEBOOK, GOOGLE, Provider, ProviderProof, REJECTED, VerifyFuture,
    encoded,
};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use jsonwebtoken::{Algorithm, Validation};
use serde::Deserialize;
use std::sync::Arc;

/// Accepted algorithms. A key is for one of them, and its tokens for no other.
const ALGORITHMS: [Algorithm; 3] = [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA];
/// Maximum bytes of a session id at a provider.
const SESSION_ID_BYTES_MAX: usize = 128;
/// Placeholder for the session id in the status URL.
const SESSION_PLACEHOLDER: &str = "{session}";

/// Settings of an OpenID Connect provider.
#[derive(Clone, Debug)]
pub struct OpenIdSettings {
    /// Name under which identities are stored, such as `google`.
    pub name: String,
    /// Accepted issuers, compared exactly.
    pub issuers: Vec<String>,
    /// Accepted audiences, compared exactly: the ids of this game at the provider.
    pub audiences: Vec<String>,
    /// Accepted authorized parties (`azp`) of tokens without an audience, such as Clerk's, compared exactly.
    pub authorized_parties: Vec<String>,
    /// URL of the keys.
    pub keys_url: String,
    /// Endpoint for the status of the provider's sessions, if used.
    pub session_status: Option<SessionStatus>,
}

/// Endpoint for the status of a provider's sessions.
#[derive(Clone)]
pub struct SessionStatus {
    /// URL with `{session}` in place of the session id, which is the claim `sid`. The answer is JSON with `"status":
    /// "active"` or `"active": true`.
    pub url: String,
    /// Bearer token that authenticates this server.
    pub bearer: String,
}

/// OpenID Connect provider.
pub struct OpenId {
    settings: OpenIdSettings,
    keys: KeySet,
    remote: Remote,
}

/// Claims of a token.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Option<Audience>,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    sid: Option<String>,
    email: Option<String>,
    name: Option<String>,
    preferred_username: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

impl OpenIdSettings {
    /// Settings of Google, for a game with these client ids.
    #[must_use]
    pub fn google(client_ids: Vec<String>) -> OpenIdSettings {
        let issuers = ["https://accounts.google.com", "accounts.google.com"];
        OpenIdSettings::new(GOOGLE, &issuers, client_ids, "https://www.googleapis.com/oauth2/v3/certs")
    }

    /// Settings of Apple, for games with these bundle ids.
    #[must_use]
    pub fn apple(bundle_ids: Vec<String>) -> OpenIdSettings {
        OpenIdSettings::new(APPLE, &["https://appleid.apple.com"], bundle_ids, "https://appleid.apple.com/auth/keys")
    }

    /// Settings of Facebook's limited login, for devices whose users refuse tracking.
    #[must_use]
    pub fn facebook_limited(app_id: String) -> OpenIdSettings {
        let issuers = ["https://www.facebook.com", "https://limited.facebook.com"];
        let keys_url = "https://limited.facebook.com/.well-known/oauth/openid/jwks/";
        OpenIdSettings::new(FACEBOOK, &issuers, vec![app_id], keys_url)
    }

    fn new(name: &str, issuers: &[&str], audiences: Vec<String>, keys_url: &str) -> OpenIdSettings {
        OpenIdSettings {
            name: name.to_owned(),
            issuers: issuers.iter().map(|issuer| (*issuer).to_owned()).collect(),
            audiences,
            authorized_parties: Vec::new(),
            keys_url: keys_url.to_owned(),
            session_status: None,
        }
    }
}

impl OpenId {
    /// Creates the provider.
    #[must_use]
    pub fn new(settings: OpenIdSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> OpenId {
        let keys = KeySet::new(settings.keys_url.clone());
        let remote = Remote::new(&settings.name, http_client, clock);
        OpenId { settings, keys, remote }
    }

    async fn check(&self, token: &str) -> Result<ExternalIdentity, ServiceError> {
        let claims = self.signed(token).await?;
        let now = self.remote.now_ms().div_euclid(1_000);
        if !self.matches_audience_and_issuer(&claims) || !is_current(&claims, now) || claims.sub.is_empty() {
            return Err(REJECTED);
        }
        if let Some(status) = &self.settings.session_status {
            self.check_session(status, claims.sid.as_deref()).await?;
        }
        Ok(ExternalIdentity {
            subject: claims.sub,
            email: claims.email,
            username: claims.preferred_username,
            display_name: claims.name,
        })
    }

    /// Returns the claims of a token, if a key of the provider signed it.
    async fn signed(&self, token: &str) -> Result<Claims, ServiceError> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| REJECTED)?;
        // Critical extensions are not supported.
        if !ALGORITHMS.contains(&header.alg) || header.crit.is_some() {
            return Err(REJECTED);
        }
        let id = header.kid.ok_or(REJECTED)?;
        let key = self.keys.find(&id, &self.remote).await?.ok_or(REJECTED)?;
        // The key decides the algorithm, not the token. Times and audience are checked against this server's clock.
        let mut validation = Validation::new(key.algorithm);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let decoded = jsonwebtoken::decode::<Claims>(token, &key.decoding, &validation);
        decoded.map(|decoded| decoded.claims).map_err(|_| REJECTED)
    }

    fn matches_audience_and_issuer(&self, claims: &Claims) -> bool {
        let known = |list: &[String], name: &String| list.contains(name);
        let audience = match &claims.aud {
            Some(Audience::One(audience)) => known(&self.settings.audiences, audience),
            Some(Audience::Several(several)) => several.iter().any(|one| known(&self.settings.audiences, one)),
            None => claims.azp.as_ref().is_some_and(|party| known(&self.settings.authorized_parties, party)),
        };
        audience && known(&self.settings.issuers, &claims.iss)
    }

    /// Checks that the provider's session is still active. Without an answer the sign-in fails.
    async fn check_session(&self, status: &SessionStatus, session: Option<&str>) -> Result<(), ServiceError> {
        let session = session.filter(|session| (1..=SESSION_ID_BYTES_MAX).contains(&session.len())).ok_or(REJECTED)?;
        let url = status.url.replace(SESSION_PLACEHOLDER, &encoded(session));
        let bearer = format!("Bearer {}", status.bearer);
        let response = self.remote.get(&url, &[("authorization", &bearer), ("accept", "application/json")]).await?;
        let answer: serde_json::Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let is_active = answer["status"] == "active" || answer["active"] == true;
        if response.is_success() && is_active { Ok(()) } else { Err(REJECTED) }
    }
}

impl Provider for OpenId {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a> {
        Box::pin(async { self.check(proof.token()?).await })
    }
}

impl std::fmt::Debug for SessionStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionStatus").field("url", &self.url).finish_non_exhaustive()
    }
}

fn is_current(claims: &Claims, now: i64) -> bool {
    let (now, skew) = (now as f64, CLOCK_SKEW_SECONDS_MAX as f64);
    now < claims.exp + skew && claims.iat <= now + skew && claims.nbf.is_none_or(|from| from <= now + skew)
}
