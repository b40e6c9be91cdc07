//! Fake server of an identity provider.

use axum::Router;
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode, Uri};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// Request to the fake server.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    pub path: String,
    pub query: HashMap<String, String>,
    pub headers: HeaderMap,
}

/// Server on this machine, until the test's runtime ends.
#[derive(Clone)]
pub struct FakeProvider {
    /// URL without a trailing slash.
    pub url: String,
    asked: Arc<Mutex<Vec<ReceivedRequest>>>,
    answer: Arc<Mutex<Answer>>,
}

type Answer = Box<dyn Fn(&ReceivedRequest) -> (u16, Vec<u8>) + Send>;

impl FakeProvider {
    pub async fn start(answer: impl Fn(&ReceivedRequest) -> (u16, Vec<u8>) + Send + 'static) -> FakeProvider {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let fake = FakeProvider { url, asked: Arc::default(), answer: Arc::new(Mutex::new(Box::new(answer))) };
        let own = fake.clone();
        let respond = async move |uri: Uri, Query(query): Query<HashMap<String, String>>, headers: HeaderMap| {
            let asked = ReceivedRequest { path: uri.path().to_owned(), query, headers };
            own.asked.lock().expect("no test panics with it").push(asked.clone());
            let (status, body) = own.answer.lock().expect("no test panics with it")(&asked);
            (StatusCode::from_u16(status).expect("it is a status"), body)
        };
        let router = Router::new().fallback(respond);
        tokio::spawn(async move { axum::serve(listener, router).await });
        fake
    }

    /// Replaces the answers.
    pub fn answer(&self, answer: impl Fn(&ReceivedRequest) -> (u16, Vec<u8>) + Send + 'static) {
        *self.answer.lock().expect("no test panics with it") = Box::new(answer);
    }

    /// Returns the requests so far.
    pub fn asked(&self) -> Vec<ReceivedRequest> {
        self.asked.lock().expect("no test panics with it").clone()
    }
}

impl ReceivedRequest {
    pub fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}

/// Returns a JSON answer.
pub fn json(value: &serde_json::Value) -> (u16, Vec<u8>) {
    (200, value.to_string().into_bytes())
}
