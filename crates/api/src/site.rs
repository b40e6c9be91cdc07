//! Serves page files.

use crate::page::Pages;
use crate::routing::ApiError;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use tracing::warn;

/// Serves the file at a path, or an error.
pub(crate) async fn serve(State(pages): State<Pages>, request: Request) -> Response {
    let file = match pages.find(request.uri().path()).await {
        Ok(Some(file)) => file,
        Ok(None) => {
            let sentence = "There is nothing at this path. Check the URL.";
            return ApiError::new(StatusCode::NOT_FOUND, "not_found", sentence).into_response();
        }
        Err(error) => {
            warn!(%error, "page file cannot be read");
            let sentence = "The file at this path cannot be read. The server log has the reason.";
            return ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable_file", sentence).into_response();
        }
    };
    let is_cached =
        request.headers().get(header::IF_NONE_MATCH).is_some_and(|etag| etag.as_bytes() == file.etag.as_bytes());
    let (content_type, cache_control) = (file.content_type(), file.cache_control());
    let mut response = Response::new(if is_cached { Body::empty() } else { Body::from(file.bytes) });
    if is_cached {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache_control));
    if let Ok(etag) = HeaderValue::from_str(&file.etag) {
        headers.insert(header::ETAG, etag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::TestFolder;
    use crate::page::PageAsset;
    use axum::Router;
    use axum::routing::get;
    use http::Method;
    use tower::ServiceExt;

    const ASSETS: &[PageAsset] = &[
        PageAsset { path: "/index.html", bytes: b"<!doctype html>", etag: "\"1\"" },
        PageAsset { path: "/assets/a.js", bytes: b"export {};", etag: "\"2\"" },
    ];

    async fn ask(pages: &Pages, method: Method, address: &str, known: Option<&HeaderValue>) -> Response {
        let router = Router::new().fallback(get(serve)).with_state(pages.clone());
        let mut request = Request::builder().method(method).uri(address);
        if let Some(etag) = known {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    async fn body(response: Response) -> Vec<u8> {
        axum::body::to_bytes(response.into_body(), 1_024).await.unwrap().to_vec()
    }

    #[tokio::test]
    async fn a_cached_file_is_answered_without_its_contents() {
        let folder = TestFolder::new();
        for asset in ASSETS {
            folder.write(&asset.path[1..], asset.bytes);
        }
        for pages in [Pages::embedded(ASSETS), Pages::folder(folder.path.clone())] {
            for (address, asset) in [("/?query=1", &ASSETS[0]), ("/assets/a.js", &ASSETS[1])] {
                let full = ask(&pages, Method::GET, address, None).await;
                assert_eq!(full.status(), StatusCode::OK, "{address}");
                let headers = full.headers().clone();
                assert_eq!(body(full).await, asset.bytes, "{address}");
                let empty = ask(&pages, Method::GET, address, headers.get(header::ETAG)).await;
                assert_eq!(empty.status(), StatusCode::NOT_MODIFIED, "{address}");
                for name in [header::ETAG, header::CACHE_CONTROL, header::CONTENT_TYPE] {
                    assert!(headers.contains_key(&name) && headers.get(&name) == empty.headers().get(&name), "{name}");
                }
                assert!(body(empty).await.is_empty(), "{address}");
                let other = ask(&pages, Method::GET, address, Some(&HeaderValue::from_static("\"other\""))).await;
                assert_eq!(body(other).await, asset.bytes, "{address}");
                assert!(body(ask(&pages, Method::HEAD, address, None).await).await.is_empty(), "{address}");
            }
            for address in ["/missing", "/../Cargo.toml", "/%2e%2e/Cargo.toml", "/..%5cCargo.toml"] {
                assert_eq!(ask(&pages, Method::GET, address, None).await.status(), StatusCode::NOT_FOUND, "{address}");
            }
            assert_eq!(ask(&pages, Method::POST, "/", None).await.status(), StatusCode::METHOD_NOT_ALLOWED);
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn an_unreadable_file_is_an_error_and_not_a_404() {
        let folder = TestFolder::new();
        std::os::unix::fs::symlink("loop.js", folder.path.join("loop.js")).unwrap();
        let pages = Pages::folder(folder.path.clone());
        let answer = ask(&pages, Method::GET, "/loop.js", None).await;
        assert_eq!(answer.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let answer = String::from_utf8(body(answer).await).unwrap();
        assert!(answer.contains("unreadable_file") && !answer.contains("loop.js"), "{answer}");
    }
}
