//! Answers: a message as JSON, or a refusal in the form of the client protocol.

use aether_services::{Code, Refusal};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A refusal on its way to the client.
#[derive(Debug)]
pub(crate) struct ErrorAnswer {
    pub status: StatusCode,
    pub refusal: Refusal,
}

impl ErrorAnswer {
    /// A refusal with a status that its code alone does not say.
    pub fn with_status(status: StatusCode, refusal: Refusal) -> ErrorAnswer {
        ErrorAnswer { status, refusal }
    }
}

impl From<Refusal> for ErrorAnswer {
    fn from(refusal: Refusal) -> ErrorAnswer {
        ErrorAnswer { status: status(refusal.code), refusal }
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    code: u8,
    message: &'a str,
}

impl IntoResponse for ErrorAnswer {
    fn into_response(self) -> Response {
        let ErrorAnswer { status, refusal } = self;
        let shown = Shown { code: refusal.code as u8, message: &refusal.message };
        with_headers(json(status, &shown), &refusal)
    }
}

/// Adds the headers that a refusal has beside its body.
pub(crate) fn with_headers(mut response: Response, refusal: &Refusal) -> Response {
    if let Some(seconds) = refusal.retry_after_seconds {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if refusal.code == Code::Unauthenticated
        && let Ok(value) = HeaderValue::from_str(&refusal.message)
    {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

/// A message as it is answered.
pub(crate) fn answer(message: &impl Serialize) -> Response {
    json(StatusCode::OK, message)
}

/// An answer of JSON.
pub(crate) fn json(status: StatusCode, message: &impl Serialize) -> Response {
    let mut response = match serde_json::to_vec(message) {
        Ok(bytes) => Response::new(Body::from(bytes)),
        // Only a time beyond the year 9999 has no JSON, and none such is stored.
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// The HTTP status of a code.
fn status(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument | Code::FailedPrecondition => StatusCode::BAD_REQUEST,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
    }
}
