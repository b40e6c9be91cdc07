//! Answers: a message as JSON, or a refusal in the form of the client protocol.

use aether_services::{GrpcCode, ServiceError};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A refusal on its way to the client.
#[derive(Debug)]
pub(crate) struct ErrorAnswer {
    pub status: StatusCode,
    pub refusal: ServiceError,
}

impl ErrorAnswer {
    /// A refusal with a status that its code alone does not say.
    pub fn with_status(status: StatusCode, refusal: ServiceError) -> ErrorAnswer {
        ErrorAnswer { status, refusal }
    }
}

impl From<ServiceError> for ErrorAnswer {
    fn from(refusal: ServiceError) -> ErrorAnswer {
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
pub(crate) fn with_headers(mut response: Response, refusal: &ServiceError) -> Response {
    if let Some(seconds) = refusal.retry_after_seconds {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if refusal.code == GrpcCode::Unauthenticated
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
fn status(code: GrpcCode) -> StatusCode {
    match code {
        GrpcCode::InvalidArgument | GrpcCode::FailedPrecondition => StatusCode::BAD_REQUEST,
        GrpcCode::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        GrpcCode::NotFound => StatusCode::NOT_FOUND,
        GrpcCode::AlreadyExists | GrpcCode::Aborted => StatusCode::CONFLICT,
        GrpcCode::PermissionDenied => StatusCode::FORBIDDEN,
        GrpcCode::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        GrpcCode::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        GrpcCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        GrpcCode::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        GrpcCode::Unauthenticated => StatusCode::UNAUTHORIZED,
    }
}
