//! Who asks: by the server key, by an access token.

use super::Desk;
use aether_services::{Caller, Code, Refusal, refusal};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, header};
use std::sync::Arc;

const SERVER_KEY_REQUIRED: Refusal = Refusal::new(Code::Unauthenticated, "Server key required");
const SERVER_KEY_INVALID: Refusal = Refusal::new(Code::Unauthenticated, "Server key invalid");

/// The keys of the API.
#[derive(Clone, Debug)]
pub struct Keys {
    /// What clients send before they are signed in. It is in every copy of the game, so it is no secret.
    pub server: String,
}

/// What an operation asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// To be signed in.
    User,
    /// The server key.
    ServerKey,
}

impl Desk {
    /// Who asks, if they may.
    pub(super) fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        match access {
            Access::User => {
                let token = authorization.and_then(|value| after(value, "Bearer ")).ok_or(refusal::TOKEN_REQUIRED)?;
                Ok(Caller::User(Arc::new(self.services().sessions.check(token)?)))
            }
            Access::ServerKey => {
                let encoded = authorization.and_then(|value| after(value, "Basic ")).ok_or(SERVER_KEY_REQUIRED)?;
                let decoded = STANDARD.decode(encoded).map_err(|_| SERVER_KEY_INVALID)?;
                let key = decoded.strip_suffix(b":").ok_or(SERVER_KEY_INVALID)?;
                match key == self.0.keys.server.as_bytes() {
                    true => Ok(Caller::Stranger),
                    false => Err(SERVER_KEY_INVALID),
                }
            }
        }
    }
}

/// What comes after the name of a scheme, in whatever case that is written.
fn after<'a>(value: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = value.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}
