//! What a request gets when it cannot be served.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// A refusal: a status, a short name for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// For programs.
    pub code: &'static str,
    /// For people.
    pub sentence: String,
}

impl ApiError {
    /// A refusal.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, sentence: impl Into<String>) -> ApiError {
        ApiError { status, code, sentence: sentence.into() }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(json!({ "error": self.sentence, "code": self.code }))).into_response();
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            // Rates are by the second.
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
