//! A server that stands in for a provider and answers as the test says.

use axum::Router;
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode, Uri};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// A request to the stand-in.
#[derive(Clone, Debug)]
pub struct Asked {
    pub path: String,
    pub query: HashMap<String, String>,
    pub headers: HeaderMap,
}

/// A server on this machine, as long as the test's runtime lasts.
#[derive(Clone)]
pub struct StandIn {
    /// Where it is, without a slash at the end.
    pub url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    answer: Arc<Mutex<Answer>>,
}

type Answer = Box<dyn Fn(&Asked) -> (u16, Vec<u8>) + Send>;

impl StandIn {
    pub async fn start(answer: impl Fn(&Asked) -> (u16, Vec<u8>) + Send + 'static) -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let stand_in = StandIn { url, asked: Arc::default(), answer: Arc::new(Mutex::new(Box::new(answer))) };
        let own = stand_in.clone();
        let respond = async move |uri: Uri, Query(query): Query<HashMap<String, String>>, headers: HeaderMap| {
            let asked = Asked { path: uri.path().to_owned(), query, headers };
            own.asked.lock().expect("no test panics with it").push(asked.clone());
            let (status, body) = own.answer.lock().expect("no test panics with it")(&asked);
            (StatusCode::from_u16(status).expect("it is a status"), body)
        };
        let router = Router::new().fallback(respond);
        tokio::spawn(async move { axum::serve(listener, router).await });
        stand_in
    }

    /// Answers differently from now on.
    pub fn answer(&self, answer: impl Fn(&Asked) -> (u16, Vec<u8>) + Send + 'static) {
        *self.answer.lock().expect("no test panics with it") = Box::new(answer);
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no test panics with it").clone()
    }
}

impl Asked {
    pub fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}

/// An answer in JSON.
pub fn json(value: &serde_json::Value) -> (u16, Vec<u8>) {
    (200, value.to_string().into_bytes())
}
