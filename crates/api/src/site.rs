//! Serves page files.

use crate::page::{PageFile, Pages, ROOT};
use crate::plain_page::{self, StartPage};
use crate::public::PublicApi;
use crate::routing::{ApiError, not_found};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use tracing::warn;

/// Serves the file at a path, or an error.
pub(crate) async fn serve(State(api): State<PublicApi>, request: Request) -> Response {
    let start = || StartPage { name: api.name, server: &api.backend.server(None), notice: api.pages.notice() }.file();
    respond(&api.pages, request.uri(), request.headers(), start).await
}

/// Answers with the file at a path, with the start page, or with an error.
async fn respond(pages: &Pages, uri: &Uri, headers: &HeaderMap, start: impl FnOnce() -> PageFile) -> Response {
    let path = uri.path();
    match pages.find(path).await {
        Ok(Some(file)) => file_answer(file, headers),
        Ok(None) if path == "/" || path == ROOT => with_plain_policy(file_answer(start(), headers)),
        Ok(None) => unknown_page(pages, uri, headers).await,
        Err(error) => {
            warn!(%error, "page file cannot be read");
            let sentence = "The file at this path cannot be read. The server log has the reason.";
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "unreadable_file", sentence).into_response()
        }
    }
}

/// Answers 404: a browser that opens a page gets a page, and everything else gets the error as JSON.
async fn unknown_page(pages: &Pages, uri: &Uri, headers: &HeaderMap) -> Response {
    let is_api = ["/api", "/v2"].iter().any(|root| uri.path().strip_prefix(root).is_some_and(is_at_or_below));
    let accepts = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or("");
    if is_api || !accepts.contains("text/html") {
        return not_found(uri).into_response();
    }
    let mut response = match pages.find("/404.html").await {
        Ok(Some(file)) => Html(file.bytes).into_response(),
        _ => with_plain_policy(Html(plain_page::not_found()).into_response()),
    };
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Returns true if the rest of a path after the name of a folder is that folder or below it.
fn is_at_or_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('/')
}

fn with_plain_policy(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, plain_page::policy());
    response
}

fn file_answer(file: PageFile, headers: &HeaderMap) -> Response {
    let is_cached = headers.get(header::IF_NONE_MATCH).is_some_and(|etag| etag.as_bytes() == file.etag.as_bytes());
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
    use aether_wire::ServerInfo;
    use axum::Router;
    use axum::routing::get;
    use http::Method;
    use tower::ServiceExt;

    const ASSETS: &[PageAsset] = &[
        PageAsset { path: "/index.html", bytes: b"<!doctype html>", etag: "\"1\"" },
        PageAsset { path: "/assets/a.js", bytes: b"export {};", etag: "\"2\"" },
    ];

    async fn ask(pages: &Pages, method: Method, address: &str, known: Option<&HeaderValue>) -> Response {
        let pages = pages.clone();
        let start =
            |pages: &Pages| StartPage { name: "coins", server: &ServerInfo::default(), notice: pages.notice() }.file();
        let serve =
            async move |request: Request| respond(&pages, request.uri(), request.headers(), || start(&pages)).await;
        let router: Router = Router::new().fallback(get(serve));
        let mut request = Request::builder().method(method).uri(address);
        if let Some(etag) = known {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    async fn body(response: Response) -> Vec<u8> {
        axum::body::to_bytes(response.into_body(), 16_384).await.unwrap().to_vec()
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

    async fn text(response: Response) -> String {
        String::from_utf8(body(response).await).unwrap()
    }

    #[tokio::test]
    async fn without_a_root_page_the_start_page_has_a_notice() {
        let folder = TestFolder::new();
        let expected = [
            (Pages::default(), "This server has no pages of its own."),
            (Pages::embedded(&ASSETS[1..]), "This server has no pages of its own."),
            (Pages::from(folder.path.clone()), "has no index.html"),
            (Pages::folder(folder.path.join("absent")), "has no index.html"),
            (Pages::none().with_notice("Built <later> & well."), "Built &lt;later&gt; &amp; well."),
        ];
        for (pages, sentence) in expected {
            for path in ["/", "/index.html"] {
                let answer = ask(&pages, Method::GET, path, None).await;
                let (status, headers) = (answer.status(), answer.headers().clone());
                let html = text(answer).await;
                assert!(
                    status == StatusCode::OK && html.contains("<h1>coins</h1>") && html.contains(sentence),
                    "{html}"
                );
                assert_eq!(headers[header::CONTENT_TYPE], "text/html; charset=utf-8");
                assert!(headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap().contains("style-src 'sha256-"));
                let cached = ask(&pages, Method::GET, path, headers.get(header::ETAG)).await;
                assert_eq!(cached.status(), StatusCode::NOT_MODIFIED);
            }
            assert_eq!(ask(&pages, Method::GET, "/missing", None).await.status(), StatusCode::NOT_FOUND);
        }
    }

    #[tokio::test]
    async fn a_browser_gets_a_page_at_an_unknown_address_and_a_program_gets_json() {
        let folder = TestFolder::new();
        let missing = async |path: &'static str, accept: &'static str| {
            let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            let pages = Pages::folder(folder.path.clone());
            let answer = respond(&pages, &Uri::from_static(path), &headers, || unreachable!("not the root")).await;
            assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
            (answer.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned(), text(answer).await)
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        let (kind, page) = missing("/missing", browser).await;
        assert!(kind == "text/html; charset=utf-8" && page.contains("There is no page here"), "{kind} {page}");
        for (path, accept) in [("/missing", "*/*"), ("/missing", ""), ("/api/x", browser), ("/v2", browser)] {
            let (kind, error) = missing(path, accept).await;
            assert_eq!(kind, "application/json", "{path} {accept}");
            assert_eq!(
                error,
                format!("{{\"code\":\"not_found\",\"error\":\"There is nothing at {path}. Check the URL.\"}}")
            );
        }
        assert_eq!(missing("/apis", browser).await.0, "text/html; charset=utf-8");
        folder.write("404.html", b"<!doctype html>lost");
        assert_eq!(missing("/missing", browser).await.1, "<!doctype html>lost", "a page of the program");
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
