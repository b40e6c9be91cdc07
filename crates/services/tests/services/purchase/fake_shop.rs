//! Fake server of a shop.

use aether_services::http_client::{HttpClient, Settings};
use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// RSA key for tests only, because generating one is slow.
pub const RSA_KEY: &[u8] = include_bytes!("../account/rsa-test-key.der");

/// Request to the shop.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// Path, still encoded.
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

/// Server on this machine, until the test's runtime ends.
pub struct FakeShop {
    /// URL without a trailing slash.
    pub url: String,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl FakeShop {
    pub async fn start(answer: impl Fn(&ReceivedRequest) -> (u16, Value) + Send + Sync + 'static) -> FakeShop {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let fake = FakeShop { url, asked: Arc::default() };
        let (noted, answer) = (Arc::clone(&fake.asked), Arc::new(answer));
        let respond = async move |uri: Uri, headers: HeaderMap, body: Bytes| {
            let body = String::from_utf8_lossy(&body).into_owned();
            let asked = ReceivedRequest { path: uri.path().to_owned(), headers, body };
            noted.lock().expect("no test panics with it").push(asked.clone());
            let (status, body) = answer(&asked);
            (StatusCode::from_u16(status).expect("it is a status"), body.to_string())
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(respond)).await });
        fake
    }

    /// Returns the requests so far.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().expect("no test panics with it").clone()
    }

    /// Returns the number of requests to this path.
    pub fn count(&self, path: &str) -> usize {
        self.asked().iter().filter(|asked| asked.path == path).count()
    }
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }

    /// Returns a value of a form.
    pub fn form(&self, name: &str) -> String {
        let parts = self.body.split('&').filter_map(|part| part.split_once('='));
        let found = parts.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).next();
        found.unwrap_or_default()
    }
}

/// Creates an HTTP client that may reach this machine.
pub fn http_client() -> HttpClient {
    let allowed = vec!["127.0.0.0/8".parse().expect("it is a network")];
    HttpClient::new(&Settings { allowed, ..Settings::default() })
}

/// Encodes a key as PEM.
pub fn pem(der: &[u8]) -> String {
    format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", STANDARD.encode(der))
}
