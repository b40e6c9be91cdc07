//! Access to the client API: by the server key, by an access token, or by the HTTP key.

use aether_services::calls::Access;
use aether_services::session::Sessions;
use aether_services::{Caller, GrpcCode, ServiceError, error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Uri, header};
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::sync::Arc;

const SERVER_KEY_REQUIRED: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Server key required");
const SERVER_KEY_INVALID: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Server key invalid");
const HTTP_KEY_INVALID: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "HTTP key invalid");
const TOKEN_OR_HTTP_KEY_REQUIRED: ServiceError =
    ServiceError::new(GrpcCode::Unauthenticated, "Auth token or HTTP key required");
const OPERATOR_ONLY: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Only the operator may do this, by the admin API.");

/// Query parameter of the HTTP key.
pub(super) const HTTP_KEY: &str = "http_key";

/// Keys of the client API.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    server: String,
    /// Hash of the HTTP key. Comparing hashes hides the key from timing attacks.
    http: Option<[u8; 32]>,
}

impl ApiKeys {
    /// Creates the keys: the server key, which clients send before they sign in and which is in every copy of the game, and
    /// the secret HTTP key for calls of functions without an account. Without an HTTP key there are no such calls.
    #[must_use]
    pub fn new(server: impl Into<String>, http: Option<&str>) -> ApiKeys {
        ApiKeys { server: server.into(), http: http.map(digest) }
    }

    /// Returns a caller without an account, if this is the HTTP key.
    fn check_http(&self, shown: &[u8]) -> Result<Caller, ServiceError> {
        match self.http == Some(digest(shown)) {
            true => Ok(Caller::Anonymous),
            false => Err(HTTP_KEY_INVALID),
        }
    }
}

/// Returns the hash under which a key is kept and compared.
pub(crate) fn digest(key: impl AsRef<[u8]>) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// Returns the caller of a request, if it has this access.
pub(super) fn admit(
    keys: &ApiKeys,
    sessions: &Sessions,
    access: Access,
    (uri, headers): (&Uri, &HeaderMap),
) -> Result<Caller, ServiceError> {
    match access {
        Access::Everyone => Ok(Caller::Anonymous),
        Access::Operator | Access::Inspect | Access::Moderate | Access::Manage => Err(OPERATOR_ONLY),
        Access::Session => {
            let token = bearer_token(headers).ok_or(error::TOKEN_REQUIRED)?;
            Ok(Caller::User(Arc::new(sessions.check(token)?)))
        }
        Access::ServerKey => {
            let shown = basic_key(headers).ok_or(SERVER_KEY_REQUIRED)?;
            match shown == keys.server.as_bytes() {
                true => Ok(Caller::Anonymous),
                false => Err(SERVER_KEY_INVALID),
            }
        }
        Access::SessionOrHttpKey => {
            if let Some(shown) = http_key(uri) {
                return keys.check_http(shown.as_bytes());
            }
            if let Some(shown) = basic_key(headers) {
                return keys.check_http(&shown);
            }
            let token = bearer_token(headers).ok_or(TOKEN_OR_HTTP_KEY_REQUIRED)?;
            Ok(Caller::User(Arc::new(sessions.check(token)?)))
        }
    }
}

/// Returns the HTTP key in a query. An empty one is none.
fn http_key(uri: &Uri) -> Option<Cow<'_, str>> {
    let mut values = form_urlencoded::parse(uri.query()?.as_bytes());
    values.find_map(|(name, value)| (name == HTTP_KEY && !value.is_empty()).then_some(value))
}

/// Returns the key in an `Authorization` header of the scheme Basic: the user name, with an empty password. It is
/// empty, as no key is, if the header is malformed.
fn basic_key(headers: &HeaderMap) -> Option<Vec<u8>> {
    let encoded = strip_scheme(authorization(headers)?, "Basic ")?;
    let decoded = STANDARD.decode(encoded).unwrap_or_default();
    Some(decoded.strip_suffix(b":").map(<[u8]>::to_vec).unwrap_or_default())
}

fn authorization(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()
}

/// Returns the access token of a request, if it has one in its `Authorization` header.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    strip_scheme(authorization(headers)?, "Bearer ")
}

/// Returns the credentials after the name of a scheme; the case of the name does not matter.
fn strip_scheme<'a>(value: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = value.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}
