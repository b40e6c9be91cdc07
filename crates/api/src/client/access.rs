//! Access to the client API: by the server key or by an access token.

use aether_services::calls::Access;
use aether_services::session::Sessions;
use aether_services::{Caller, GrpcCode, ServiceError, error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, header};
use std::sync::Arc;

const SERVER_KEY_REQUIRED: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Server key required");
const SERVER_KEY_INVALID: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Server key invalid");
const OPERATOR_ONLY: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Only the operator may do this, by the admin API.");

/// Keys of the client API.
#[derive(Clone, Debug)]
pub struct ApiKeys {
    /// Key that clients send before they sign in. It is in every copy of the game, so it is not secret.
    pub server: String,
}

/// Returns the caller of a request, if it has this access.
pub(super) fn admit(
    keys: &ApiKeys,
    sessions: &Sessions,
    access: Access,
    headers: &HeaderMap,
) -> Result<Caller, ServiceError> {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    match access {
        Access::Everyone => Ok(Caller::Anonymous),
        Access::Operator | Access::Inspect | Access::Manage => Err(OPERATOR_ONLY),
        Access::Session => {
            let token = bearer_token(headers).ok_or(error::TOKEN_REQUIRED)?;
            Ok(Caller::User(Arc::new(sessions.check(token)?)))
        }
        Access::ServerKey => {
            let encoded = authorization.and_then(|value| strip_scheme(value, "Basic ")).ok_or(SERVER_KEY_REQUIRED)?;
            let decoded = STANDARD.decode(encoded).map_err(|_| SERVER_KEY_INVALID)?;
            let key = decoded.strip_suffix(b":").ok_or(SERVER_KEY_INVALID)?;
            match key == keys.server.as_bytes() {
                true => Ok(Caller::Anonymous),
                false => Err(SERVER_KEY_INVALID),
            }
        }
    }
}

/// Returns the access token of a request, if it has one in its `Authorization` header.
pub(crate) fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok())?;
    strip_scheme(authorization, "Bearer ")
}

/// Returns the credentials after the name of a scheme; the case of the name does not matter.
fn strip_scheme<'a>(value: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = value.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}
