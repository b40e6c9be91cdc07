//! What pages elsewhere may read: browsers ask the server for each.

use crate::origin::AllowedOrigins;
use crate::routing::{ApiError, encoding};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Method, StatusCode, header};
use std::sync::Arc;

/// How long a browser remembers what it was allowed.
pub(crate) const REMEMBERED_SECONDS: HeaderValue = HeaderValue::from_static("86400");

/// Lets pages of the origins that may connect read what the server tells about itself, and come in as guests.
pub(crate) async fn for_origins(State(origins): State<Arc<AllowedOrigins>>, request: Request, next: Next) -> Response {
    let may_read = origins.allow_request(request.headers());
    let origin = request.headers().get(header::ORIGIN).filter(|_| may_read).cloned();
    let mut response = if request.method() != Method::OPTIONS {
        let accepted = request.headers().get(header::ACCEPT_ENCODING).cloned();
        encoding::compress(next.run(request).await, accepted).await
    } else if may_read {
        allowed()
    } else {
        ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", "Pages of this origin may not connect.").into_response()
    };
    let headers = response.headers_mut();
    // Also where no origin is told: what is kept on the way must not be given to another origin.
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    response
}

/// The answer to a browser that asks before it sends something.
fn allowed() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("Authorization, Content-Type"));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED_SECONDS);
    response
}
