//! A client of the API, over one persistent connection.

use crate::DEADLINE;
use crate::http::HttpAnswer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::fmt;
use std::net::SocketAddr;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Default server key.
const SERVER_KEY: &str = "defaultkey";

/// A client of the API.
pub struct ApiClient {
    address: SocketAddr,
    authorization: String,
    headers: Vec<(&'static str, String)>,
    connection: Option<SendRequest<Full<Bytes>>>,
    /// Id of the user, after sign-in.
    pub user: String,
    /// Access token, after sign-in.
    pub token: String,
    /// Refresh token, after sign-in.
    pub refresh_token: String,
}

/// The server closed the connection without an answer, or is unreachable.
#[derive(Debug)]
pub struct NoAnswer(String);

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

impl ApiClient {
    /// Creates a client with the server key and without an account.
    #[must_use]
    pub fn new(address: SocketAddr) -> ApiClient {
        let authorization = format!("Basic {}", STANDARD.encode(format!("{SERVER_KEY}:")));
        let [user, token, refresh_token] = [const { String::new() }; 3];
        ApiClient { address, authorization, headers: Vec::new(), connection: None, user, token, refresh_token }
    }

    /// Creates a client and signs it in with a device id. The account is created if there is none.
    ///
    /// # Panics
    /// Panics if the server rejects the sign-in.
    pub async fn sign_in(address: SocketAddr, device: &str) -> Result<ApiClient, NoAnswer> {
        let mut client = ApiClient::new(address);
        let body = serde_json::json!({ "id": device });
        let answer = client.post("/v2/account/authenticate/device?create=true", &body).await?;
        assert_eq!(answer.status, 200, "{}", answer.body);
        client.adopt(&answer.json());
        Ok(client)
    }

    /// Creates a client and signs it in with a new account.
    ///
    /// # Panics
    /// Panics if the server rejects the sign-in.
    pub async fn new_user(address: SocketAddr) -> ApiClient {
        let device = format!("device-{}", uuid::Uuid::new_v4());
        ApiClient::sign_in(address, &device).await.unwrap_or_else(|why| panic!("{why}"))
    }

    /// Uses the tokens of a session from now on.
    ///
    /// # Panics
    /// Panics if it has none.
    pub fn adopt(&mut self, session: &Value) {
        let text = |name: &str| session[name].as_str().unwrap_or_else(|| panic!("no {name} in {session}")).to_owned();
        (self.token, self.refresh_token) = (text("token"), text("refresh_token"));
        self.authorize(format!("Bearer {}", self.token));
        let claims = self.token.split('.').nth(1).unwrap_or_default();
        let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims).expect("claims are base64");
        let claims: Value = serde_json::from_slice(&claims).expect("claims are JSON");
        self.user = claims["uid"].as_str().expect("claims name the user").to_owned();
    }

    /// Sets the `Authorization` header.
    pub fn authorize(&mut self, authorization: impl Into<String>) {
        self.authorization = authorization.into();
    }

    /// Adds a header to all requests.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> ApiClient {
        self.headers.push((name, value.into()));
        self
    }

    /// Sends a GET request.
    pub async fn get(&mut self, path: &str) -> Result<HttpAnswer, NoAnswer> {
        self.send("GET", path, "").await
    }

    /// Sends a POST request.
    pub async fn post(&mut self, path: &str, body: &Value) -> Result<HttpAnswer, NoAnswer> {
        self.send("POST", path, body.to_string()).await
    }

    /// Sends a PUT request.
    pub async fn put(&mut self, path: &str, body: &Value) -> Result<HttpAnswer, NoAnswer> {
        self.send("PUT", path, body.to_string()).await
    }

    /// Sends a request and reads the answer. After a failure, the next request opens a new connection.
    pub async fn send(&mut self, method: &str, path: &str, body: impl Into<String>) -> Result<HttpAnswer, NoAnswer> {
        let answer = timeout(DEADLINE, self.try_send(method, path, body.into())).await;
        let answer = answer.unwrap_or_else(|_| Err(NoAnswer("the server did not answer in time".to_owned())));
        if answer.is_err() {
            self.connection = None;
        }
        answer
    }

    async fn try_send(&mut self, method: &str, path: &str, body: String) -> Result<HttpAnswer, NoAnswer> {
        let request = hyper::Request::builder()
            .method(method)
            .uri(path)
            .header("host", self.address.to_string())
            .header("authorization", &self.authorization)
            .header("content-type", "application/json");
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| NoAnswer(error.to_string()))?;
        let connection = self.connection().await?;
        let response = connection.send_request(request).await.map_err(|error| NoAnswer(error.to_string()))?;
        let status = response.status();
        let mut head = format!("http/1.1 {status}");
        for (name, value) in response.headers() {
            head += &format!("\r\n{name}: {}", String::from_utf8_lossy(value.as_bytes()));
        }
        let body = response.into_body().collect().await.map_err(|error| NoAnswer(error.to_string()))?;
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Ok(HttpAnswer { status: status.as_u16(), head: head.to_ascii_lowercase(), body })
    }

    async fn connection(&mut self) -> Result<&mut SendRequest<Full<Bytes>>, NoAnswer> {
        let open = self.connection.take().filter(|connection| !connection.is_closed());
        let mut open = match open {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(self.address).await.map_err(|error| NoAnswer(error.to_string()))?;
                stream.set_nodelay(true).map_err(|error| NoAnswer(error.to_string()))?;
                let (sender, connection) =
                    handshake(TokioIo::new(stream)).await.map_err(|error| NoAnswer(error.to_string()))?;
                // The request reports an error of the connection.
                tokio::spawn(async move { drop(connection.await) });
                sender
            }
        };
        open.ready().await.map_err(|error| NoAnswer(error.to_string()))?;
        Ok(self.connection.insert(open))
    }
}
