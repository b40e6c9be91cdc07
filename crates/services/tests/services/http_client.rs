//! HTTP requests, and addresses that they do not reach.

use aether_services::http_client::{HttpClient, HttpClientError, HttpRequest, Method, Settings};
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::{get, post, put};
use futures_util::stream::repeat_with;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Creates a client that may reach this machine.
fn local_client() -> HttpClient {
    HttpClient::new(&settings())
}

fn settings() -> Settings {
    let allowed = vec!["127.0.0.0/8".parse().expect("it is a network"), "::1".parse().expect("it is a network")];
    Settings { allowed, time_max: Duration::from_secs(5), response_bytes_max: 1_000, ..Settings::default() }
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

/// Starts a server that counts connections and never answers.
async fn silent() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            open.push(stream);
        }
    });
    (address, connections)
}

#[tokio::test]
async fn requests_and_answers_are_transmitted() {
    let show = async |headers: HeaderMap, body: String| {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
        format!("{} {} {} {body}", header("host"), header("x-test"), header("user-agent"))
    };
    let router = Router::new().route("/show", get(show)).route("/show", post(show));
    let address = serve(router.route("/teapot", get(async || StatusCode::IM_A_TEAPOT))).await;
    let http_client = local_client();
    let agent = concat!("aether/", env!("CARGO_PKG_VERSION"));
    let url = format!("http://{address}/show");
    let got = http_client.get(&url, &[("X-Test", "yes")]).await.expect("it is there");
    assert_eq!((got.status, got.body.as_ref()), (200, format!("{address} yes {agent} ").as_bytes()));
    let posted = http_client.post(&url, &[], "hello".to_owned()).await.expect("it is there");
    assert_eq!(posted.body.as_ref(), format!("{address}  {agent} hello").as_bytes());
    let rejected = http_client.get(&format!("http://{address}/teapot"), &[]).await.expect("it answers");
    assert!(rejected.status == 418 && !rejected.is_success() && got.is_success());
}

#[tokio::test]
async fn a_request_has_any_method_and_returns_headers() {
    let show = async |headers: HeaderMap, body: String| {
        let test = headers.get("x-test").and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
        ([("x-answer", test)], body)
    };
    let address = serve(Router::new().route("/", put(show))).await;
    let (silent, _) = silent().await;
    let http_client = local_client();
    let request = HttpRequest {
        url: format!("http://{address}/"),
        method: Method::PUT,
        headers: vec![("x-test".to_owned(), "yes".to_owned())],
        body: "hello".into(),
        time_max: None,
    };
    let answer = http_client.request(request.clone()).await.expect("it answers");
    assert_eq!((answer.status, answer.body.as_ref()), (200, b"hello".as_slice()));
    assert_eq!(answer.headers.get("x-answer").map(|value| value.as_bytes()), Some(b"yes".as_slice()));
    let late = HttpRequest { url: format!("http://{silent}/"), time_max: Some(Duration::from_millis(20)), ..request };
    assert_eq!(http_client.request(late).await, Err(HttpClientError::TimedOut));
}

#[tokio::test]
async fn private_addresses_are_not_connected_to() {
    let (address, connections) = silent().await;
    let port = address.port();
    let http_client = HttpClient::new(&Settings::default());
    for host in [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
        "224.0.0.1",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
    ] {
        for scheme in ["http", "https"] {
            let outcome = http_client.get(&format!("{scheme}://{host}:{port}/"), &[]).await;
            // Some systems do not parse the unusual spellings as addresses; then there is nothing to connect to either.
            let rejected = matches!(outcome, Err(HttpClientError::Forbidden | HttpClientError::Unreachable(_)));
            assert!(rejected, "{host}: {outcome:?}");
        }
    }
    assert_eq!(http_client.get(&format!("http://127.0.0.1:{port}/"), &[]).await, Err(HttpClientError::Forbidden));
    assert_eq!(http_client.get(&format!("http://localhost:{port}/"), &[]).await, Err(HttpClientError::Forbidden));
    assert_eq!(connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn only_allowed_networks_are_reached() {
    let address = serve(Router::new().route("/", get(async || "local"))).await;
    let allowed = vec!["127.0.0.2/32".parse().expect("it is a network"), "10.0.0.0/8".parse().expect("it is one")];
    let other = HttpClient::new(&Settings { allowed, ..settings() });
    assert_eq!(other.get(&format!("http://{address}/"), &[]).await, Err(HttpClientError::Forbidden));
    for host in
        [address.to_string(), format!("localhost:{}", address.port()), format!("[::ffff:127.0.0.1]:{}", address.port())]
    {
        let got = local_client().get(&format!("http://{host}/"), &[]).await;
        assert_eq!(got.map(|got| got.body.to_vec()), Ok(b"local".to_vec()), "{host}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let (hidden, connections) = silent().await;
    let redirect =
        async move || (StatusCode::FOUND, [(header::LOCATION, format!("http://{hidden}/"))], "elsewhere".to_owned());
    let address = serve(Router::new().route("/", get(redirect))).await;
    let got = local_client().get(&format!("http://{address}/"), &[]).await.expect("it answers");
    assert_eq!((got.status, got.body.as_ref()), (302, &b"elsewhere"[..]));
    assert_eq!(connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn answers_are_limited_in_size() {
    let of = |bytes: usize| get(async move || "x".repeat(bytes));
    let endless = async || Body::from_stream(repeat_with(|| Ok::<_, std::io::Error>("x".repeat(100))));
    let router = Router::new().route("/fits", of(1_000)).route("/large", of(1_001));
    let address = serve(router.route("/endless", get(endless))).await;
    let http_client = local_client();
    let fits = http_client.get(&format!("http://{address}/fits"), &[]).await.expect("it fits");
    assert_eq!(fits.body.len(), 1_000);
    for path in ["large", "endless"] {
        let outcome = http_client.get(&format!("http://{address}/{path}"), &[]).await;
        assert_eq!(outcome, Err(HttpClientError::TooLarge), "{path}");
    }
}

#[tokio::test]
async fn answers_that_never_begin_or_never_end_time_out() {
    let (never_begins, _) = silent().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let never_ends = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client connects");
        let mut request = [0; 1_024];
        let _ = stream.read(&mut request).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n").await;
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if stream.write_all(b"x").await.is_err() {
                return;
            }
        }
    });
    let http_client = HttpClient::new(&Settings { time_max: Duration::from_millis(300), ..settings() });
    for address in [never_begins, never_ends] {
        let began = Instant::now();
        assert_eq!(http_client.get(&format!("http://{address}/"), &[]).await, Err(HttpClientError::TimedOut));
        assert!(began.elapsed() < Duration::from_secs(3));
    }
}

#[tokio::test]
async fn response_headers_are_limited_in_size() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client connects");
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(b"x-long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n").await.is_ok() {}
    });
    let outcome = local_client().get(&format!("http://{address}/"), &[]).await;
    assert!(matches!(outcome, Err(HttpClientError::Unreachable(_))), "{outcome:?}");
}

#[tokio::test]
async fn invalid_requests_are_not_sent() {
    let http_client = local_client();
    let long = format!("http://127.0.0.1/{}", "a".repeat(20_000));
    for url in
        ["", "no url", "/path", "ftp://127.0.0.1/", "file:///etc/passwd", "http://user@127.0.0.1/", "http://", &long]
    {
        let outcome = http_client.get(url, &[]).await;
        assert!(matches!(outcome, Err(HttpClientError::Invalid(_))), "{url}: {outcome:?}");
    }
    for (name, value) in [("x-test", "a\r\nx-other: b"), ("x test", "a"), ("", "a")] {
        let outcome = http_client.get("http://127.0.0.1/", &[(name, value)]).await;
        assert!(matches!(outcome, Err(HttpClientError::Invalid(_))), "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn errors_do_not_contain_the_url() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let error = local_client().get(&format!("http://{address}/?key=secret"), &[]).await.expect_err("nobody is there");
    assert!(matches!(error, HttpClientError::Unreachable(_)));
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}

/// Starts a TLS server with a self-signed certificate for `localhost`.
async fn tls_server() -> (SocketAddr, CertificateDer<'static>) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate can be made");
    let certificate = cert.der().clone();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).expect("it is a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring speaks them")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .expect("the key fits");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 1_024];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsealed").await;
        }
    });
    (address, certificate)
}

#[tokio::test]
async fn certificates_need_a_trusted_authority_and_the_right_name() {
    let (address, certificate) = tls_server().await;
    let by_name = format!("https://localhost:{}/", address.port());
    let outcome = local_client().get(&by_name, &[]).await;
    assert!(matches!(outcome, Err(HttpClientError::Unreachable(_))), "its authority is not trusted: {outcome:?}");
    let trusting = HttpClient::new(&Settings { authorities: vec![certificate], ..settings() });
    assert_eq!(trusting.get(&by_name, &[]).await.map(|got| got.body.to_vec()), Ok(b"sealed".to_vec()));
    let outcome = trusting.get(&format!("https://{address}/"), &[]).await;
    assert!(matches!(outcome, Err(HttpClientError::Unreachable(_))), "it is for another name: {outcome:?}");
}
