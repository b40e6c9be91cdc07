//! Cross-origin requests to the public interface.

use crate::origin::{AllowedOrigins, foreign_origin};
use crate::routing::encoding;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use std::sync::Arc;

/// Time for which browsers cache the answer to a preflight request.
pub(crate) const PREFLIGHT_CACHE_SECONDS: HeaderValue = HeaderValue::from_static("86400");

/// Lets pages of allowed origins read the server information and log in as guests.
pub(crate) async fn for_origins(State(origins): State<Arc<AllowedOrigins>>, request: Request, next: Next) -> Response {
    let may_read = origins.allow_request(request.headers());
    let origin = request.headers().get(header::ORIGIN).filter(|_| may_read).cloned();
    let mut response = if request.method() != Method::OPTIONS {
        let accepted = request.headers().get(header::ACCEPT_ENCODING).cloned();
        encoding::compress(next.run(request).await, accepted).await
    } else if may_read {
        preflight_answer()
    } else {
        foreign_origin().into_response()
    };
    let headers = response.headers_mut();
    // Also without an origin: a cache must not serve the answer to a page of another origin.
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    response
}

/// Answers a preflight request.
fn preflight_answer() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Authorization, Content-Type"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, PREFLIGHT_CACHE_SECONDS);
    response
}
