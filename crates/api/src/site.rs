//! Serves the files of the pages.

use crate::error::ApiError;
use crate::page;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

/// The file at an address, or a refusal.
pub(crate) async fn serve(request: Request) -> Response {
    let Some(asset) = page::find(request.uri().path()) else {
        return ApiError::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this address.").into_response();
    };
    let known =
        request.headers().get(header::IF_NONE_MATCH).is_some_and(|etag| etag.as_bytes() == asset.etag.as_bytes());
    let mut response = Response::new(if known { Body::empty() } else { Body::from(asset.bytes) });
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(asset.cache_control()));
    headers.insert(header::ETAG, HeaderValue::from_static(asset.etag));
    response
}
