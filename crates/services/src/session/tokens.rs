//! Signed tokens that identify a user and a session.
//!
//! A token is a JWT with HS256. Its header names the key. Its claims are `tid` (session), `uid` (user), `usn`
//! (username), `vrs` (variables, omitted when empty), `exp`, `iat`, `aud`, `gst` for guests, and `role`, omitted for a
//! player. Only the development key grants the role in the token; in other tokens it is for the client. A refresh token has another audience, so that neither kind passes for the other, and `gen`:
//! the number of earlier refreshes.

use super::keys::{Key, KeyRing};
use aether_wire::Permissions;
use aether_wire::SessionId;
use aether_wire::limits::TOKEN_BYTES_MAX;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use uuid::Uuid;

/// Maximum lead of the issuing server's clock.
const CLOCK_AHEAD_SECONDS_MAX: u64 = 60;

/// Maximum lifetime of a token. Bans and erasures are remembered for this long.
pub const VALID_SECONDS_MAX: u64 = 7 * 86_400;

/// Maximum bytes of a username.
pub const USERNAME_BYTES_MAX: usize = 128;

const ALGORITHM: &str = "HS256";

/// Suffix of the audience of a refresh token.
const REFRESH: &str = "#refresh";

/// Signs and verifies tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    ring: KeyRing,
    audience: String,
    refresh_audience: String,
}

/// Claims of a token. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Id of the session.
    pub session: Uuid,
    /// Id of the user.
    pub user: Uuid,
    /// Username, at most [`USERNAME_BYTES_MAX`] bytes.
    pub name: String,
    /// Variables of the session.
    pub variables: BTreeMap<String, String>,
    /// Issue time.
    pub issued_at: u64,
    /// Expiry.
    pub expires_at: u64,
    /// Role of a development token. A token with a role is signed with the development key, because other keys cannot
    /// grant one.
    pub role: Option<Role>,
    /// Role of the account when the token was issued, for the client to read. It grants nothing: the server looks the
    /// current role up ([`Roles`](super::Roles)).
    pub account_role: Role,
    /// Kind of the token.
    pub kind: TokenKind,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenKind {
    /// Access token.
    #[default]
    Access,
    /// Access token of a guest, who has no account.
    Guest,
    /// Refresh token, with the number of earlier refreshes.
    Refresh(u64),
}

/// Contents of a verified token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedToken {
    /// Id of the session.
    pub session: SessionId,
    /// Id of the user, a UUID.
    pub user: String,
    /// Username.
    pub name: String,
    /// Variables of the session.
    pub variables: BTreeMap<String, String>,
    /// True for a guest, who has no account.
    pub is_guest: bool,
    /// Role.
    pub role: Role,
    /// Issue time, in seconds since 1970.
    pub issued_at: u64,
    /// Expiry, in seconds since 1970.
    pub expires_at: u64,
}

/// Role of a user. Each role includes the rights of `read-only`, and [`Role::Admin`] those of all others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Plays.
    #[default]
    Player,
    /// Inspects, but changes nothing.
    ReadOnly,
    /// Decides on reports, and mutes and bans players.
    Moderator,
    /// Uses the playground.
    Developer,
    /// Does everything.
    Admin,
}

/// Error for text that is not a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleError;

/// Reason for rejecting a token. The variants are for metrics; the client gets the same message for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Longer than [`TOKEN_BYTES_MAX`].
    TooLong,
    /// Not a JWT with the claims of an access token.
    Malformed,
    /// An algorithm other than HS256, such as none.
    Algorithm,
    /// Signed with a key that this server does not have.
    UnknownKey,
    /// Signed with the development key, which is not accepted here.
    DevelopmentKey,
    /// The signature does not match.
    Signature,
    /// Another audience, or none.
    Audience,
    /// No expiry, or one beyond the maximum lifetime.
    NoExpiry,
    /// Expired.
    Expired,
    /// Issued in the future.
    NotYetValid,
}

#[derive(Serialize, Deserialize)]
struct WireClaims {
    tid: Uuid,
    uid: Uuid,
    usn: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    vrs: BTreeMap<String, String>,
    exp: Option<u64>,
    iat: u64,
    aud: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not", rename = "gst")]
    is_guest: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "gen")]
    generation: Option<u64>,
}

/// Header fields that matter here. Read separately from the claims, so that each reason for rejection is distinguished.
#[derive(Deserialize)]
struct WireHeader {
    alg: String,
    kid: Option<String>,
    /// Critical extensions. None is supported.
    crit: Option<serde::de::IgnoredAny>,
}

/// Text that the developer secret is derived from. The signed part of a token has a full stop, so it is never this text.
const DEVELOPER_SECRET: &str = "developer secret";
/// Characters of the developer secret, of six bits each: 192 bits cannot be guessed, and the URL stays short.
const DEVELOPER_SECRET_CHARACTERS: usize = 32;

impl Tokens {
    /// Creates a signer with these keys, for this audience.
    #[must_use]
    pub fn new(ring: KeyRing, audience: impl Into<String>) -> Self {
        let audience = audience.into();
        Self { ring, refresh_audience: format!("{audience}{REFRESH}"), audience }
    }

    /// Signs a token: with the development key if it has a role, otherwise with the newest own key.
    #[must_use]
    pub fn sign(&self, claims: &Claims) -> String {
        let key = if claims.role.is_some() { self.ring.development() } else { self.ring.signing() };
        let (audience, generation) = match claims.kind {
            TokenKind::Access | TokenKind::Guest => (&self.audience, None),
            TokenKind::Refresh(generation) => (&self.refresh_audience, Some(generation)),
        };
        let role = claims.role.or(Some(claims.account_role).filter(|role| *role != Role::Player));
        let wire = WireClaims {
            tid: claims.session,
            uid: claims.user,
            usn: claims.name.clone(),
            vrs: claims.variables.clone(),
            exp: Some(claims.expires_at),
            iat: claims.issued_at,
            aud: Some(audience.clone()),
            is_guest: claims.kind == TokenKind::Guest,
            role: role.map(|role| role.to_string()),
            generation,
        };
        encode(key, &wire)
    }

    /// Signs claims of another kind of token with the newest own key.
    pub(super) fn sign_claims(&self, claims: &impl Serialize) -> String {
        encode(self.ring.signing(), claims)
    }

    /// Returns the audience of tokens of another kind.
    pub(super) fn audience_for(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.audience)
    }

    /// Returns the secret by which a person shows that the development key is theirs, in letters and digits that fit into a
    /// URL. It is derived from the key, so it stays the same as long as the key does, and does not reveal it.
    #[must_use]
    pub fn developer_secret(&self) -> String {
        let key = EncodingKey::from_secret(self.ring.development().secret());
        let mut secret = jsonwebtoken::crypto::sign(DEVELOPER_SECRET.as_bytes(), &key, Algorithm::HS256)
            .expect("HS256 takes any key");
        secret.truncate(DEVELOPER_SECRET_CHARACTERS);
        secret
    }

    /// Verifies an access token. `now` is in seconds since 1970. `development_allowed` accepts tokens of the
    /// development key.
    pub fn verify(&self, token: &str, now: u64, development_allowed: bool) -> Result<VerifiedToken, TokenError> {
        self.verify_for(token, &self.audience, now, development_allowed).map(|(verified, _)| verified)
    }

    /// Verifies a refresh token. Also returns the number of refreshes before it was issued.
    pub fn verify_refresh(&self, token: &str, now: u64) -> Result<(VerifiedToken, u64), TokenError> {
        let (verified, generation) = self.verify_for(token, &self.refresh_audience, now, false)?;
        Ok((verified, generation.ok_or(TokenError::Malformed)?))
    }

    fn verify_for(
        &self,
        token: &str,
        audience: &str,
        now: u64,
        development_allowed: bool,
    ) -> Result<(VerifiedToken, Option<u64>), TokenError> {
        let (claims, key): (WireClaims, &Key) = self.read(token, development_allowed)?;
        check(&claims, audience, now)?;
        let claimed = claims.role.filter(|_| key.is_development());
        let role = claimed.map_or(Ok(Role::Player), |role| role.parse().map_err(|RoleError| TokenError::Malformed))?;
        let verified = VerifiedToken {
            session: SessionId(claims.tid.as_u128()),
            user: claims.uid.to_string(),
            name: claims.usn,
            variables: claims.vrs,
            is_guest: claims.is_guest,
            role,
            issued_at: claims.iat,
            expires_at: claims.exp.unwrap_or(now),
        };
        Ok((verified, claims.generation))
    }

    /// Returns the claims of a token whose signature is valid, and its key. Audience and times are not checked yet.
    pub(super) fn read<C: DeserializeOwned>(
        &self,
        token: &str,
        development_allowed: bool,
    ) -> Result<(C, &Key), TokenError> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TokenError::TooLong);
        }
        let header = read_header(token)?;
        if header.alg != ALGORITHM {
            return Err(TokenError::Algorithm);
        }
        let key = header.kid.as_deref().and_then(|id| self.ring.find(id)).ok_or(TokenError::UnknownKey)?;
        if key.is_development() && !development_allowed {
            return Err(TokenError::DevelopmentKey);
        }
        let decoded = jsonwebtoken::decode(token, &DecodingKey::from_secret(key.secret()), &signature_only());
        Ok((decoded.map_err(|error| signature_error(error.kind()))?.claims, key))
    }
}

/// Signs claims with a key.
fn encode(key: &Key, claims: &impl Serialize) -> String {
    let mut header = Header::new(Algorithm::HS256);
    header.kid = Some(key.id().to_owned());
    let claims = RawValue::from_string(plain_json(claims)).expect("it is JSON");
    jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(key.secret()))
        .expect("raw JSON always serializes, and HS256 takes any key")
}

fn check(claims: &WireClaims, audience: &str, now: u64) -> Result<(), TokenError> {
    if claims.aud.as_deref() != Some(audience) {
        return Err(TokenError::Audience);
    }
    let expires_at = claims.exp.ok_or(TokenError::NoExpiry)?;
    if expires_at <= now {
        return Err(TokenError::Expired);
    }
    if expires_at - now > VALID_SECONDS_MAX {
        return Err(TokenError::NoExpiry);
    }
    if claims.iat > now.saturating_add(CLOCK_AHEAD_SECONDS_MAX) {
        return Err(TokenError::NotYetValid);
    }
    if claims.usn.len() > USERNAME_BYTES_MAX {
        return Err(TokenError::Malformed);
    }
    Ok(())
}

impl Claims {
    /// Creates the claims of a new session without variables and role.
    #[must_use]
    pub fn new(user: Uuid, name: impl Into<String>, now: u64, valid_seconds: u32) -> Self {
        Self {
            session: Uuid::new_v4(),
            user,
            name: name.into(),
            variables: BTreeMap::new(),
            issued_at: now,
            expires_at: now.saturating_add(valid_seconds.into()),
            role: None,
            account_role: Role::Player,
            kind: TokenKind::Access,
        }
    }

    /// Makes it a token of a guest, who has no account.
    #[must_use]
    pub fn of_guest(self) -> Self {
        Self { kind: TokenKind::Guest, ..self }
    }

    /// Sets a role, and so selects the development key.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Self { role: Some(role), ..self }
    }
}

impl Role {
    /// All roles, weakest first.
    pub const ALL: [Self; 5] = [Self::Player, Self::ReadOnly, Self::Moderator, Self::Developer, Self::Admin];

    /// Returns the permissions of this role. Everything that needs a permission asks this table: playground commands, the
    /// manifest and the admin API.
    #[must_use]
    pub fn permissions(self) -> Permissions {
        let of = |inspect, playground, manage| Permissions { playground, inspect, manage };
        match self {
            Self::Player => of(false, false, false),
            Self::ReadOnly | Self::Moderator => of(true, false, false),
            Self::Developer => of(true, true, false),
            Self::Admin => of(true, true, true),
        }
    }

    /// Returns true if the role decides on reports and mutes: see [`Access::Moderate`](crate::calls::Access::Moderate).
    #[must_use]
    pub fn can_moderate(self) -> bool {
        matches!(self, Self::Moderator | Self::Admin)
    }

    /// Returns the name of the role.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Player => "player",
            Self::ReadOnly => "read-only",
            Self::Moderator => "moderator",
            Self::Developer => "developer",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl std::str::FromStr for Role {
    type Err = RoleError;

    fn from_str(text: &str) -> Result<Self, RoleError> {
        Self::ALL.into_iter().find(|role| role.name() == text).ok_or(RoleError)
    }
}

impl fmt::Display for RoleError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a role is admin, developer, moderator, read-only or player")
    }
}

impl std::error::Error for RoleError {}

impl TokenError {
    /// Returns the label used in metrics.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::DevelopmentKey => "development_key",
            Self::Signature => "signature",
            Self::Audience => "audience",
            Self::NoExpiry => "no_expiry",
            Self::Expired => "expired",
            Self::NotYetValid => "not_yet_valid",
        }
    }
}

impl fmt::Display for TokenError {
    /// Same message for all kinds: details would only help an attacker.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("The token is not valid; ask for a new one.")
    }
}

impl std::error::Error for TokenError {}

/// Serializes to ASCII JSON without characters whose base64 contains `-` or `_`: client SDKs decode claims byte by
/// byte, and some do not handle these two. Such characters are written as escapes.
pub(super) fn plain_json(value: &impl Serialize) -> String {
    let json = serde_json::to_string(value).expect("strings and numbers always serialize");
    let mut plain = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            ' '..='}' if !matches!(character, '>' | '?') => plain.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(plain, "\\u{unit:04x}");
                }
            }
        }
    }
    plain
}

fn read_header(token: &str) -> Result<WireHeader, TokenError> {
    let (header, rest) = token.split_once('.').ok_or(TokenError::Malformed)?;
    let is_whole = rest.split('.').count() == 2;
    let header = URL_SAFE_NO_PAD.decode(header).map_err(|_| TokenError::Malformed)?;
    let header: WireHeader = serde_json::from_slice(&header).map_err(|_| TokenError::Malformed)?;
    if is_whole && header.crit.is_none() { Ok(header) } else { Err(TokenError::Malformed) }
}

/// The library checks the signature; times and audience are checked here against a given time.
fn signature_only() -> Validation {
    let mut validation = Validation::new(Algorithm::HS256);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation
}

fn signature_error(kind: &ErrorKind) -> TokenError {
    match kind {
        ErrorKind::InvalidSignature => TokenError::Signature,
        ErrorKind::InvalidAlgorithm => TokenError::Algorithm,
        _ => TokenError::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_claims_are_alphanumeric() {
        let names = ["jürgen ~ 名前?", "🎮 <b>\u{7f}\"\\", &"~>?".repeat(40)];
        for name in names {
            let plain = plain_json(&BTreeMap::from([("usn", name)]));
            assert_eq!(serde_json::from_str::<BTreeMap<String, String>>(&plain).expect("it is JSON")["usn"], name);
            let encoded = URL_SAFE_NO_PAD.encode(&plain);
            assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{encoded}");
        }
    }
}
