//! The one form of failures outside the protocols that have their own (`/v2`): a status, a code for programs and a sentence
//! for people, as `{"code": "not_found", "error": "There is nothing at this address."}`.

use super::answer::{ErrorAnswer, json};
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

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

/// Failures that no handler declares, because the router or a layer around it finds them.
const FAILURES: [(StatusCode, &str, &str); 9] = [
    (StatusCode::BAD_REQUEST, "bad_request", "The request could not be read. Check its address, headers and body."),
    (StatusCode::NOT_FOUND, "not_found", "There is nothing at this address."),
    (
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "The address does not take this method. The Allow header names those that it takes.",
    ),
    (StatusCode::REQUEST_TIMEOUT, "timed_out", "The request took too long. Try again."),
    (StatusCode::PAYLOAD_TOO_LARGE, "too_large", "The body of the request is too large."),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "The body is of a type that is not read here."),
    (StatusCode::TOO_MANY_REQUESTS, "rate_limited", "Too many requests. Try again in a moment."),
    (StatusCode::INTERNAL_SERVER_ERROR, "internal", "Something failed in the server. Its log says what."),
    (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "The server cannot do this at the moment. Try again later."),
];

#[derive(Serialize)]
struct Shown<'a> {
    code: &'a str,
    error: &'a str,
}

impl ApiError {
    /// A refusal.
    #[must_use]
    pub fn new(status: StatusCode, code: &'static str, sentence: impl Into<String>) -> ApiError {
        ApiError { status, code, sentence: sentence.into() }
    }

    /// A failure that its status alone says.
    pub(crate) fn of_status(status: StatusCode) -> ApiError {
        let known = FAILURES.into_iter().find(|(known, _, _)| *known == status);
        let (_, code, sentence) = known.unwrap_or((status, "failed", "The request failed. Its status says how."));
        ApiError::new(status, code, sentence)
    }
}

impl From<ErrorAnswer> for ApiError {
    fn from(refused: ErrorAnswer) -> ApiError {
        let ErrorAnswer { status, refusal } = refused;
        ApiError::new(status, refusal.code.name(), refusal.message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &Shown { code: self.code, error: &self.sentence });
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            // Rates are by the second.
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

/// Gives a failure that has a body of another form, or none, the one form. Its headers stay: `Allow`, for example.
pub(crate) fn complete(response: Response) -> Response {
    let is_failure = response.status().is_client_error() || response.status().is_server_error();
    let is_json = response.headers().get(header::CONTENT_TYPE).is_some_and(|of| of == "application/json");
    if !is_failure || is_json {
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
        let bytes = to_bytes(body, 1_024).await.expect("it is in memory");
        (parts.status, parts.headers, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    #[tokio::test]
    async fn a_failure_of_another_form_is_completed_and_keeps_its_headers() {
        for (status, code, sentence) in FAILURES {
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

    /// Asks a router whose layers and extractors refuse in their own ways.
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
        let request = request.body(Body::from(body.to_owned())).expect("it is a request");
        let (parts, body) = router.oneshot(request).await.expect("a router always answers").into_parts();
        let bytes = to_bytes(body, 1_024).await.expect("it is in memory");
        (parts.status, parts.headers, serde_json::from_slice(&bytes).expect("every failure is JSON"))
    }

    #[tokio::test]
    async fn what_layers_and_extractors_refuse_has_the_form_too() {
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
    async fn a_success_and_a_failure_of_the_form_stay_as_they_are() {
        let found = complete("text".into_response());
        assert_eq!(to_bytes(found.into_body(), 16).await.expect("it is in memory"), "text");
        let declared = ApiError::new(StatusCode::NOT_FOUND, "room_not_found", "No room has such a code.");
        let (_, _, body) = completed(declared.into_response()).await;
        assert_eq!(body["code"], "room_not_found");
    }
}
