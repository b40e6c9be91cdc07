//! Cross-origin requests to the public interface.

use crate::origin::AllowedOrigins;
use crate::routing::encoding;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use std::sync::Arc;

/// Time for which browsers cache the answer to a preflight request.
pub(crate) const PREFLIGHT_CACHE_SECONDS: HeaderValue = HeaderValue::from_static("86400");

/// Lets pages of allowed origins read the server information and log in as guests.
///
/// A page of another origin can read that it was refused, and nothing else: browsers hide the answer to a refused
/// WebSocket or WebTransport, so clients ask here for the reason.
pub(crate) async fn for_origins(State(origins): State<Arc<AllowedOrigins>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let is_preflight = request.method() == Method::OPTIONS;
    let checked = origins.check_request(request.headers());
    let is_readable = checked.is_ok() || !is_preflight;
    let mut response = match checked {
        Err(refused) => refused.into_response(),
        Ok(()) if is_preflight => preflight_answer(),
        Ok(()) => {
            let accepted = request.headers().get(header::ACCEPT_ENCODING).cloned();
            encoding::compress(next.run(request).await, accepted).await
        }
    };
    let headers = response.headers_mut();
    // Also without an origin: a cache must not serve the answer to a page of another origin.
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin.filter(|_| is_readable) {
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
