//! External providers: whoever signs in there is known here, by the id that the provider gives.

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

/// The names under which the providers that clients know are found.
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

/// Bytes of a user's id at a provider, which OpenID Connect limits to as many.
pub(super) const SUBJECT_BYTES_MAX: usize = 255;
/// Bytes of a token or ticket. Those of Facebook and Apple are about a thousand.
const TOKEN_BYTES_MAX: usize = 8_192;
/// How long ago a provider may have signed what carries no expiry of its own.
const SIGNATURE_AGE_SECONDS_MAX: i64 = 86_400;
/// How far a provider's clock may differ from this one's.
const CLOCK_SKEW_SECONDS_MAX: i64 = 60;

const REFUSED: ServiceError = ServiceError::new(
    GrpcCode::Unauthenticated,
    "The provider's token is not valid here. Sign in there again and use the new one.",
);
const UNAVAILABLE: ServiceError = ServiceError::new(
    GrpcCode::Unavailable,
    "The sign-in provider cannot be asked at the moment. Try again in a few seconds.",
);

/// What a provider gave to a client as a proof of who they are.
#[derive(Clone, PartialEq, Eq)]
pub enum ProviderProof {
    /// A token, a ticket, or signed information.
    Token(String),
    /// What Game Center signs.
    GameCenter(GameCenterProof),
}

/// What Game Center signs, and its signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameCenterProof {
    /// The player.
    pub player_id: String,
    /// The game.
    pub bundle_id: String,
    /// When it was signed. Game Center counts milliseconds since 1970, whatever the field is called elsewhere.
    pub timestamp: i64,
    /// Chance, in base64.
    pub salt: String,
    /// The signature, in base64.
    pub signature: String,
    /// Where the certificate of the key is.
    pub public_key_url: String,
}

/// Who someone is at a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExternalIdentity {
    /// Their id there, which never changes.
    pub subject: String,
    /// Their email address, as the provider knows it.
    pub email: Option<String>,
    /// Their name for programs.
    pub username: Option<String>,
    /// Their name for people.
    pub display_name: Option<String>,
}

/// The providers that a server knows; those that clients ask for under a name of [`APPLE`] and the like, and others.
#[derive(Clone, Debug, Default)]
pub struct ProviderSettings {
    /// Those that speak OpenID Connect, each under its name.
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

/// What becomes of a proof.
pub type VerifyFuture<'a> = Pin<Box<dyn Future<Output = Result<ExternalIdentity, ServiceError>> + Send + 'a>>;

/// An external provider.
pub trait Provider: Send + Sync + 'static {
    /// The name under which its identities are kept. It has no spaces.
    fn name(&self) -> &str;

    /// Who a proof shows someone to be.
    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a>;
}

impl Accounts {
    /// Lets people sign in by these providers.
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

    /// Who a proof shows someone to be.
    pub(super) async fn verify(&self, provider: &str, proof: &ProviderProof) -> Result<ExternalIdentity, ServiceError> {
        let Some(provider) = self.providers.get(provider) else {
            let sentence = format!("Signing in with {provider:?} is not configured on this server.");
            return Err(ServiceError::with(GrpcCode::FailedPrecondition, sentence));
        };
        provider.verify(proof).await
    }
}

impl ProviderProof {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            ProviderProof::Token(token) => token.is_empty(),
            ProviderProof::GameCenter(proof) => *proof == GameCenterProof::default(),
        }
    }

    /// The token, if it is one of a length that can be right.
    fn token(&self) -> Result<&str, ServiceError> {
        match self {
            ProviderProof::Token(token) if token.is_empty() => {
                Err(ServiceError::invalid("The provider's token is required."))
            }
            ProviderProof::Token(token) if token.len() <= TOKEN_BYTES_MAX => Ok(token),
            _ => Err(REFUSED),
        }
    }
}

impl std::fmt::Debug for ProviderProof {
    /// Shows no token: whoever reads it could sign in by it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ProviderProof::Token(_) => "Token",
            ProviderProof::GameCenter(_) => "GameCenter",
        })
    }
}

/// A value as it stands in a query.
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

/// Whether a provider signed something at a time that counts now.
fn is_recent(signed_at: i64, now: i64) -> bool {
    (-CLOCK_SKEW_SECONDS_MAX..=SIGNATURE_AGE_SECONDS_MAX).contains(&now.saturating_sub(signed_at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_a_query_cannot_become_more_than_a_value() {
        assert_eq!(encoded("a-b_c.~9"), "a-b_c.~9");
        assert_eq!(encoded("a&b=c#?/ é\0"), "a%26b%3Dc%23%3F%2F%20%C3%A9%00");
    }
}
