//! The layer around the client API: compression, and headers for pages of any origin.

use crate::answers::RunningShare;
use crate::cors;
use crate::routing::encoding;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};

/// Compresses answers and allows pages of any origin: they authenticate by a header, not by a cookie.
pub(super) async fn layer(request: Request, next: Next) -> Response {
    let is_preflight = request.method() == Method::OPTIONS;
    let mut response = if is_preflight {
        StatusCode::OK.into_response()
    } else {
        let accepted = request.headers().get(header::ACCEPT_ENCODING).cloned();
        encoding::compress(next.run(request).await, accepted).await
    };
    // No more copies of the answer are made.
    response.extensions_mut().remove::<RunningShare>();
    let headers = response.headers_mut();
    if headers.contains_key(header::RETRY_AFTER) {
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Retry-After"));
    }
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store, no-cache, must-revalidate"));
    if is_preflight {
        let methods = "GET, HEAD, POST, PUT, DELETE";
        let names = "Authorization, Content-Encoding, Content-Type, User-Agent";
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(names));
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, cors::PREFLIGHT_CACHE_SECONDS);
    }
    response
}
