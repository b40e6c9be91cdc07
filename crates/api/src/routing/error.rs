//! Errors outside of protocols that define their own (`/v2`): a status, a code for programs and a sentence for people,
//! as `{"code": "not_found", "error": "There is nothing at this path. Check the URL."}`.

use super::answer::{ErrorAnswer, json};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, Uri, header};
use serde::Serialize;

/// An error: a status, a code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status.
    pub status: StatusCode,
    /// Error code for programs.
    pub code: &'static str,
    /// Error message for people.
    pub sentence: String,
}

/// Longest path that an error shows, in bytes: longer than any route of the server.
const PATH_SHOWN_BYTES_MAX: usize = 200;

/// Errors of the router and its layers, which no handler declares.
const LAYER_ERRORS: [(StatusCode, &str, &str); 9] = [
    (StatusCode::BAD_REQUEST, "bad_request", "The request could not be read. Check its URL, headers and body."),
    (StatusCode::NOT_FOUND, "not_found", "There is nothing at this path. Check the URL."),
    (
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "This path does not support the method. The Allow header lists the supported methods.",
    ),
    (StatusCode::REQUEST_TIMEOUT, "timed_out", "The request took too long. Try again."),
    (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "The request body is too large. Send less at once."),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "The Content-Type of the body is not supported."),
    (StatusCode::TOO_MANY_REQUESTS, "rate_limited", "Too many requests. Try again in a moment."),
    (StatusCode::INTERNAL_SERVER_ERROR, "internal", "The server failed to handle the request. Its log has the reason."),
    (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "The server is unavailable. Try again later."),
];

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: &'a str,
    error: &'a str,
}

impl ApiError {
    /// Creates an error.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, sentence: impl Into<String>) -> ApiError {
        ApiError { status, code, sentence: sentence.into() }
    }

    /// Returns the error of a status.
    pub(crate) fn of_status(status: StatusCode) -> ApiError {
        let known = LAYER_ERRORS.into_iter().find(|(known, _, _)| *known == status);
        let (_, code, sentence) =
            known.unwrap_or((status, "failed", "The request failed. The HTTP status has the reason."));
        ApiError::new(status, code, sentence)
    }
}

impl From<ErrorAnswer> for ApiError {
    fn from(answer: ErrorAnswer) -> ApiError {
        let ErrorAnswer { status, error } = answer;
        ApiError::new(status, error.code.name(), error.message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &ErrorBody { code: self.code, error: &self.sentence });
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            // Rate limits are per second.
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Returns the error for a path at which there is nothing.
pub(crate) fn not_found(uri: &Uri) -> ApiError {
    let sentence = format!("There is nothing at {}. Check the URL.", shown_path(uri));
    ApiError::new(StatusCode::NOT_FOUND, "not_found", sentence)
}

/// Returns the path of a URL as errors show it. It is text of the peer, so a long one is left out.
pub(crate) fn shown_path(uri: &Uri) -> &str {
    if uri.path().len() <= PATH_SHOWN_BYTES_MAX { uri.path() } else { "this path" }
}

/// Replaces the body of an error response that is neither JSON nor a page. Headers such as `Allow` are kept.
pub(crate) fn complete(response: Response) -> Response {
    let is_error = response.status().is_client_error() || response.status().is_server_error();
    let is_written = |of: &HeaderValue| of == "application/json" || of.as_bytes().starts_with(b"text/html");
    if !is_error || response.headers().get(header::CONTENT_TYPE).is_some_and(is_written) {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    let (error, body) = ApiError::of_status(parts.status).into_response().into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(error.headers);
    Response::from_parts(parts, Body::new(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::to_bytes;
    use axum::extract::{Extension, Query};
    use axum::routing::{get, post};
    use http::Request;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    use tower::ServiceExt;
    use tower_http::limit::RequestBodyLimitLayer;
    use tower_http::timeout::TimeoutLayer;

    async fn completed(response: Response) -> (StatusCode, http::HeaderMap, Value) {
        let (parts, body) = complete(response).into_parts();
        let bytes = to_bytes(body, 1_024).await.expect("the body is in memory");
        (parts.status, parts.headers, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    #[tokio::test]
    async fn an_error_without_json_gets_a_json_body_and_keeps_its_headers() {
        for (status, code, sentence) in LAYER_ERRORS {
            let response = (status, [(header::ALLOW, "GET")], "length limit exceeded").into_response();
            let (completed, headers, body) = completed(response).await;
            assert_eq!((completed, body), (status, json!({ "code": code, "error": sentence })));
            assert_eq!(headers[header::ALLOW], "GET");
            assert_eq!(headers[header::CONTENT_TYPE], "application/json");
            assert_eq!(headers.get_all(header::CONTENT_TYPE).iter().count(), 1);
            assert_eq!(headers.contains_key(header::RETRY_AFTER), status == StatusCode::TOO_MANY_REQUESTS);
        }
        let (_, _, other) = completed(StatusCode::IM_A_TEAPOT.into_response()).await;
        assert_eq!(other["code"], "failed");
    }

    /// Sends a request to a router whose layers and extractors have their own errors.
    async fn ask(request: http::request::Builder, body: &str) -> (StatusCode, http::HeaderMap, Value) {
        let slow = async || tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        let router = axum::Router::new()
            .route("/slow", get(slow))
            .route("/json", post(async |_: axum::Json<Value>| ()))
            .route("/query", get(async |_: Query<BTreeMap<String, u8>>| ()))
            .route("/broken", get(async |_: Extension<u8>| ()))
            .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, std::time::Duration::from_millis(1)))
            .layer(RequestBodyLimitLayer::new(16))
            .layer(axum::middleware::map_response(async |response: Response| complete(response)));
        let request = request.body(Body::from(body.to_owned())).expect("the request is valid");
        let (parts, body) = router.oneshot(request).await.expect("a router always answers").into_parts();
        let bytes = to_bytes(body, 1_024).await.expect("the body is in memory");
        (parts.status, parts.headers, serde_json::from_slice(&bytes).expect("every error is JSON"))
    }

    #[tokio::test]
    async fn errors_of_layers_and_extractors_have_a_json_body() {
        let json = header::CONTENT_TYPE;
        let cases = [
            (Request::get("/missing"), "", 404, "not_found"),
            (Request::get("/json"), "", 405, "method_not_allowed"),
            (Request::get("/slow"), "", 408, "timed_out"),
            (Request::post("/json").header(header::CONTENT_LENGTH, 17), "", 413, "too_large"),
            (Request::post("/json"), "{}", 415, "unsupported_media_type"),
            (Request::post("/json").header(json, "application/json"), "{", 400, "bad_request"),
            (Request::get("/query?a=b"), "", 400, "bad_request"),
            (Request::get("/broken"), "", 500, "internal"),
        ];
        for (request, body, status, code) in cases {
            let (answered, headers, body) = ask(request, body).await;
            assert_eq!((answered.as_u16(), &body["code"]), (status, &json!(code)));
            assert_eq!(headers.contains_key(header::ALLOW), status == 405, "{code}");
            assert!(body["error"].as_str().is_some_and(|sentence| sentence.ends_with('.')), "{code}");
        }
    }

    #[tokio::test]
    async fn successes_and_json_errors_are_not_changed() {
        let found = complete("text".into_response());
        assert_eq!(to_bytes(found.into_body(), 16).await.expect("the body is in memory"), "text");
        let declared = ApiError::new(StatusCode::NOT_FOUND, "room_not_found", "Check the code.");
        let (_, _, body) = completed(declared.into_response()).await;
        assert_eq!(body["code"], "room_not_found");
    }
}
