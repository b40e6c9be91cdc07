//! External identity providers. A user is known by the id that the provider assigns.

mod facebook;
mod facebook_instant;
mod game_center;
mod key_set;
mod open_id;
mod remote;
mod steam;

pub use crate::facebook::FacebookInstantSettings;
pub use facebook::{Facebook, FacebookSettings};
pub use facebook_instant::FacebookInstant;
pub use game_center::{GameCenter, GameCenterSettings};
pub use open_id::{OpenId, OpenIdSettings, SessionStatus};
pub use steam::{Steam, SteamSettings};

use super::Accounts;
use crate::error::{GrpcCode, ServiceError};
use crate::http_client::HttpClient;
use std::fmt::Write as _;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Names of the providers that clients know.
pub const APPLE: &str = "apple";
/// See [`APPLE`].
pub const FACEBOOK: &str = "facebook";
/// See [`APPLE`].
pub const FACEBOOK_INSTANT: &str = "facebook_instant";
/// See [`APPLE`].
pub const GAME_CENTER: &str = "game_center";
/// See [`APPLE`].
pub const GOOGLE: &str = "google";
/// See [`APPLE`].
pub const STEAM: &str = "steam";

/// Maximum bytes of a user's id at a provider, as in OpenID Connect.
pub(super) const SUBJECT_BYTES_MAX: usize = 255;
/// Maximum bytes of a token or ticket. Those of Facebook and Apple have about a thousand.
const TOKEN_BYTES_MAX: usize = 8_192;
/// Maximum age of a signature that carries no expiry.
const SIGNATURE_AGE_SECONDS_MAX: i64 = 86_400;
/// Maximum difference between the clocks of a provider and this server.
const CLOCK_SKEW_SECONDS_MAX: i64 = 60;

const REJECTED: ServiceError = ServiceError::new(
    GrpcCode::Unauthenticated,
    "The provider's token is not valid here. Sign in there again and use the new one.",
);
const UNAVAILABLE: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "The sign-in provider cannot be reached. Try again in a few seconds.");

const NO_FRIENDS: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "The provider does not tell the friends of this user. Sign in there with a token that may read them.",
);

/// Proof of identity that a client got from a provider.
#[derive(Clone, PartialEq, Eq)]
pub enum ProviderProof {
    /// Token, ticket, or signed information.
    Token(String),
    /// Signed data of Game Center.
    GameCenter(GameCenterProof),
}

/// Data signed by Game Center, with its signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameCenterProof {
    /// Player id.
    pub player_id: String,
    /// Bundle id of the game.
    pub bundle_id: String,
    /// Time of signing. Game Center uses milliseconds since 1970, although the protocol names the field seconds.
    pub timestamp: i64,
    /// Salt, in base64.
    pub salt: String,
    /// Signature, in base64.
    pub signature: String,
    /// URL of the certificate.
    pub public_key_url: String,
}

/// Identity of a user at a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalIdentity {
    /// Id, which never changes.
    pub subject: String,
    /// Email address, as the provider knows it.
    pub email: Option<String>,
    /// Username.
    pub username: Option<String>,
    /// Display name.
    pub display_name: Option<String>,
}

/// Settings of identity providers: those with a name such as [`APPLE`], and others.
#[derive(Clone, Debug, Default)]
pub struct ProviderSettings {
    /// OpenID Connect providers, each with its name.
    pub open_id: Vec<OpenIdSettings>,
    /// Steam.
    pub steam: Option<SteamSettings>,
    /// Facebook.
    pub facebook: Option<FacebookSettings>,
    /// Facebook Instant Games.
    pub facebook_instant: Option<FacebookInstantSettings>,
    /// Game Center.
    pub game_center: Option<GameCenterSettings>,
}

/// Future of a verification.
pub type VerifyFuture<'a> = Pin<Box<dyn Future<Output = Result<ExternalIdentity, ServiceError>> + Send + 'a>>;

/// Future of a list of friends.
pub type FriendsFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<String>, ServiceError>> + Send + 'a>>;

/// External identity provider.
pub trait Provider: Send + Sync + 'static {
    /// Returns the name under which identities are stored. It contains no spaces.
    fn name(&self) -> &str;

    /// Verifies a proof and returns the identity.
    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a>;

    /// Verifies a proof and returns the ids of the user's friends at the provider, at most `max`.
    fn friends<'a>(&'a self, _proof: &'a ProviderProof, _max: usize) -> FriendsFuture<'a> {
        Box::pin(async { Err(NO_FRIENDS) })
    }
}

impl Accounts {
    /// Adds the configured providers.
    #[must_use]
    pub fn with_providers(mut self, settings: ProviderSettings, http_client: &HttpClient) -> Accounts {
        let clock = Arc::clone(&self.clock);
        for settings in settings.open_id {
            self = self.with_provider(OpenId::new(settings, http_client.clone(), Arc::clone(&clock)));
        }
        if let Some(settings) = settings.steam {
            self = self.with_provider(Steam::new(settings, http_client.clone(), Arc::clone(&clock)));
        }
        if let Some(settings) = settings.facebook {
            self = self.with_provider(Facebook::new(settings, http_client.clone(), Arc::clone(&clock)));
        }
        if let Some(settings) = settings.facebook_instant {
            self = self.with_provider(FacebookInstant::new(&settings, Arc::clone(&clock)));
        }
        if let Some(settings) = settings.game_center {
            self = self.with_provider(GameCenter::new(settings, http_client.clone(), clock));
        }
        self
    }

    /// Verifies a proof and returns the identity.
    pub(super) async fn verify(&self, provider: &str, proof: &ProviderProof) -> Result<ExternalIdentity, ServiceError> {
        self.provider(provider)?.verify(proof).await
    }

    /// Verifies a proof and returns the ids of the user's friends at the provider.
    pub(crate) async fn friends_at(
        &self,
        provider: &str,
        proof: &ProviderProof,
        max: usize,
    ) -> Result<Vec<String>, ServiceError> {
        self.provider(provider)?.friends(proof, max).await
    }

    fn provider(&self, name: &str) -> Result<&Arc<dyn Provider>, ServiceError> {
        self.providers.get(name).ok_or_else(|| {
            let message = format!("Signing in with {name:?} is not configured on this server.");
            ServiceError::with(GrpcCode::FailedPrecondition, message)
        })
    }
}

impl ProviderProof {
    /// Returns true if the proof is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            ProviderProof::Token(token) => token.is_empty(),
            ProviderProof::GameCenter(proof) => *proof == GameCenterProof::default(),
        }
    }

    /// Returns the token, if its length is valid.
    fn token(&self) -> Result<&str, ServiceError> {
        match self {
            ProviderProof::Token(token) if token.is_empty() => {
                Err(ServiceError::invalid("The provider's token is required."))
            }
            ProviderProof::Token(token) if token.len() <= TOKEN_BYTES_MAX => Ok(token),
            _ => Err(REJECTED),
        }
    }
}

impl std::fmt::Debug for ProviderProof {
    /// Omits the token, which allows signing in.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ProviderProof::Token(_) => "Token",
            ProviderProof::GameCenter(_) => "GameCenter",
        })
    }
}

/// Percent-encodes a query value.
fn encoded(value: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Returns true if a signature is neither too old nor from the future.
fn is_recent(signed_at: i64, now: i64) -> bool {
    (-CLOCK_SKEW_SECONDS_MAX..=SIGNATURE_AGE_SECONDS_MAX).contains(&now.saturating_sub(signed_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_are_percent_encoded() {
        assert_eq!(encoded("a-b_c.~9"), "a-b_c.~9");
        assert_eq!(encoded("a&b=c#?/ é\0"), "a%26b%3Dc%23%3F%2F%20%C3%A9%00");
    }
}
