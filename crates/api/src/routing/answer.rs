//! Answers: a message as JSON, or an error in the form of the client protocol.

use super::parts::AnswerParts;
use aether_services::{GrpcCode, ServiceError};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

/// Content type of JSON.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An error with its HTTP status.
#[derive(Debug)]
pub(crate) struct ErrorAnswer {
    pub status: StatusCode,
    pub error: ServiceError,
}

impl ErrorAnswer {
    /// Creates an answer with another status than that of the error's code.
    pub fn with_status(status: StatusCode, error: ServiceError) -> ErrorAnswer {
        ErrorAnswer { status, error }
    }
}

impl From<ServiceError> for ErrorAnswer {
    fn from(error: ServiceError) -> ErrorAnswer {
        ErrorAnswer { status: status(error.code), error }
    }
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: u8,
    message: &'a str,
}

impl IntoResponse for ErrorAnswer {
    fn into_response(self) -> Response {
        let ErrorAnswer { status, error } = self;
        let body = ErrorBody { code: error.code as u8, message: &error.message };
        with_headers(json(status, &body), &error)
    }
}

/// Adds the headers of an error.
pub(crate) fn with_headers(mut response: Response, error: &ServiceError) -> Response {
    if let Some(seconds) = error.retry_after_seconds {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    if error.code == GrpcCode::Unauthenticated
        && let Ok(value) = HeaderValue::from_str(&error.message)
    {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, value);
    }
    response
}

/// Returns a successful answer.
pub(crate) fn answer(message: &impl Serialize) -> Response {
    json(StatusCode::OK, message)
}

/// Returns a JSON answer.
pub(crate) fn json(status: StatusCode, message: &impl Serialize) -> Response {
    let mut parts = AnswerParts::default();
    let mut response = match serde_json::to_writer(&mut parts, message) {
        Ok(()) => Response::new(parts.into_body()),
        // Only a time beyond the year 9999 cannot be written as JSON, and none is stored.
        Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    };
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// Returns the HTTP status of a code.
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
