//! Errors outside the client protocol have the same form in handlers, the router and layers.

use aether_testkit_server::{HttpAnswer, TestServer};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// A request (method, path, headers), and the expected status and code.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16, &'a str);

#[track_caller]
fn assert_failure(answer: &HttpAnswer, status: u16, code: &str, what: &str) {
    assert_eq!(answer.status, status, "{what}: {}", answer.body);
    assert!(answer.head.contains("content-type: application/json\r\n"), "{what}: {}", answer.head);
    let body = answer.json();
    let fields = body.as_object().expect("a failure is an object");
    assert_eq!(fields.keys().collect::<Vec<_>>(), ["code", "error"], "{what}");
    assert_eq!(fields["code"], code, "{what}");
    let sentence = fields["error"].as_str().expect("a failure has a sentence");
    assert!(sentence.ends_with('.'), "{what}: {sentence}");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_of_the_public_listener_have_the_same_form() {
    let server = TestServer::start(|_| {}).await;
    let elsewhere = [("origin", "http://elsewhere.example")];
    let long = format!("/api/rooms/{}/ws", "x".repeat(1_000));
    let cases: [Case<'_>; 16] = [
        ("GET", "/missing", &[], 404, "not_found"),
        ("GET", "/api/missing", &[], 404, "not_found"),
        ("GET", "/v2", &[], 404, "not_found"),
        ("GET", &long, &[], 404, "room_not_found"),
        ("GET", "/api/rooms?colour=red", &[], 400, "bad_query"),
        ("POST", "/", &[], 405, "method_not_allowed"),
        ("POST", "/missing", &[], 405, "method_not_allowed"),
        ("DELETE", "/livez", &[], 405, "method_not_allowed"),
        ("POST", "/api/server", &[], 405, "method_not_allowed"),
        ("GET", "/api/guest", &[], 405, "method_not_allowed"),
        ("POST", "/rt", &[], 405, "method_not_allowed"),
        ("POST", "/openapi.json", &[], 405, "method_not_allowed"),
        ("GET", "/rt", &[], 426, "no_websocket"),
        ("GET", "/api/rooms/%ff/ws", &[], 400, "bad_request"),
        ("POST", "/api/guest", &elsewhere, 403, "foreign_origin"),
        ("OPTIONS", "/api/server", &elsewhere, 403, "foreign_origin"),
    ];
    for (method, path, headers, status, code) in cases {
        let answer = server.request(server.http, method, path, headers).await;
        assert_failure(&answer, status, code, &format!("{method} {path}"));
        assert!(status != 405 || answer.head.contains("\r\nallow: "), "{method} {path}: {}", answer.head);
    }
    server.stop().await;
}

/// Requests of a table in the page on compatibility, with values for the parts of a path.
fn requests(heading: &str) -> Vec<(String, String)> {
    const PAGE: &str = include_str!("../../../../../docs/reference/compatibility.md");
    let part = PAGE.split("\n## ").find(|part| part.starts_with(heading)).expect("the page has this heading");
    let rows = part.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let request = |(request, _): (&str, &str)| {
        let (method, path) = request.split_once(' ').expect("a request has a method and a path");
        let path = path.split('/').map(|name| if name.starts_with('{') { "x" } else { name });
        (method.to_owned(), path.collect::<Vec<_>>().join("/"))
    };
    rows.map(request).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_calls_of_the_page_are_served() {
    let server = TestServer::start(|_| {}).await;
    for (method, path) in requests("Calls").into_iter().chain(requests("Additions")) {
        let answer = server.request(server.http, &method, &path, &[]).await;
        assert!(!matches!(answer.status, 404 | 405 | 501), "{method} {path}: {}", answer.body);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_call_and_a_wrong_method_are_named() {
    let server = TestServer::start(|_| {}).await;
    let long = format!("/v2/{}", "x".repeat(300));
    for (method, path, status, message) in [
        (
            "GET",
            "/v2/nothing",
            404,
            "Not Found: /v2/nothing is no call of this API. GET /openapi.json lists its calls.",
        ),
        ("GET", &long, 404, "Not Found: this path is no call of this API. GET /openapi.json lists its calls."),
        ("POST", "/v2/user", 501, "Method Not Allowed: /v2/user has no POST. The Allow header lists its methods."),
        ("PUT", "/v2/friend", 501, "Method Not Allowed: /v2/friend has no PUT. The Allow header lists its methods."),
    ] {
        let answer = server.request(server.http, method, path, &[]).await;
        assert_eq!((answer.status, &answer.json()["message"]), (status, &Value::from(message)), "{method} {path}");
        assert_eq!(answer.head.contains("\r\nallow: "), status == 501, "{}", answer.head);
    }
    let answer = server.request(server.http, "GET", "/missing", &[]).await;
    assert_eq!(answer.json()["error"], "There is nothing at /missing. Check the URL.");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_for_large_bodies_and_too_many_guests_have_the_same_form() {
    let server = TestServer::start(|_| {}).await;
    let mut stream = TcpStream::connect(server.http).await.expect("the server listens");
    let head = "POST /api/guest HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 65537\r\n\r\n";
    stream.write_all(head.as_bytes()).await.expect("the server reads");
    assert_failure(&TestServer::read_answer(stream).await, 413, "too_large", "a body of 65,537 bytes");
    // With a host name that is not local, the rate limit of a network applies to guests.
    for _ in 0..1_000 {
        let answer = server.request(server.http, "POST", "/api/guest", &[("host", "play.example")]).await;
        if answer.status != 200 {
            assert_failure(&answer, 429, "rate_limited", "a guest too many");
            assert!(answer.head.contains("retry-after: 1\r\n"), "{}", answer.head);
            return server.stop().await;
        }
    }
    panic!("guests have a limit");
}

#[tokio::test(flavor = "multi_thread")]
async fn all_errors_of_the_admin_listener_have_the_same_form() {
    let key = "a key of the tests and nobody else";
    let server =
        TestServer::start(|config| config.http.admin_key = Some(aether_server::config::Secret::new(key))).await;
    let bearer = format!("Bearer {key}");
    let right = [("authorization", bearer.as_str())];
    let cases: [Case<'_>; 7] = [
        ("GET", "/missing", &[], 404, "not_found"),
        ("GET", "/health", &[], 401, "no_key"),
        ("GET", "/debug/heap", &[("authorization", "Bearer another")], 401, "no_key"),
        ("POST", "/metrics", &[], 405, "method_not_allowed"),
        ("POST", "/health", &right, 405, "method_not_allowed"),
        ("GET", "/debug/profile?seconds=0", &right, 400, "bad_seconds"),
        ("GET", "/debug/profile?seconds=soon", &right, 400, "bad_seconds"),
    ];
    for (method, path, headers, status, code) in cases {
        let answer = server.request(server.admin, method, path, headers).await;
        assert_failure(&answer, status, code, &format!("{method} {path}"));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listener_describes_its_routes_and_parameters() {
    let key = "a key of the tests and nobody else";
    let server =
        TestServer::start(|config| config.http.admin_key = Some(aether_server::config::Secret::new(key))).await;
    let document = server.request(server.admin, "GET", "/openapi.json", &[]).await.json();
    let paths = document["paths"].as_object().expect("there are paths");
    assert!(paths.len() >= 6, "{paths:?}");
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().expect("operations by method") {
            let status = server.request(server.admin, &method.to_ascii_uppercase(), path, &[]).await.status;
            let asks = operation["security"] != Value::Array(Vec::new());
            assert_eq!(status, if asks { 401 } else { 200 }, "{method} {path}");
        }
    }
    server.stop().await;
}
