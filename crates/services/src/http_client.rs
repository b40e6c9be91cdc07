//! HTTP client for requests to identity providers, shops and webhooks.
//!
//! A URL may come from a configuration that someone else writes, or from a client. So only public addresses are reached
//! unless a network is allowed. The check is made on the IP address at connect time, so that a name that changes its
//! address afterwards gains nothing. Redirects are not followed; answers are limited in size and time.

mod connector;
mod network;

pub use http::{HeaderMap, Method};
pub use network::{Network, NetworkError, is_public};

use bytes::Bytes;
use connector::Connector;
use http::{HeaderName, HeaderValue, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Maximum number of concurrent requests; more wait. Each holds a connection and up to one answer.
const CONCURRENT_MAX: usize = 256;
/// Maximum number of idle connections per host, and their lifetime: sign-ins arrive in bursts.
const IDLE_PER_HOST_MAX: usize = 8;
const IDLE_TIME_MAX: Duration = Duration::from_secs(30);
/// Maximum bytes and number of response headers. Providers send a tenth of that.
const HEADER_BYTES_MAX: usize = 32_768;
const HEADERS_MAX: usize = 100;
/// Maximum bytes of a URL. A provider's ticket takes most of it.
const URL_BYTES_MAX: usize = 16_384;

/// Settings of the HTTP client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Time limit of a request, from its beginning to the end of the answer.
    pub time_max: Duration,
    /// Maximum bytes of a response body.
    pub response_bytes_max: usize,
    /// Non-public networks that may be reached.
    pub allowed: Vec<Network>,
    /// Certificate authorities trusted in addition to those of the system.
    pub authorities: Vec<CertificateDer<'static>>,
}

/// HTTP client. Clones share connections.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<Connector, Full<Bytes>>,
    permits: Arc<Semaphore>,
    time_max: Duration,
    response_bytes_max: usize,
}

/// Request with any method.
#[derive(Clone, Debug, Default)]
pub struct HttpRequest {
    /// URL that begins with `https://` or `http://`.
    pub url: String,
    /// Method.
    pub method: Method,
    /// Headers by name.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Bytes,
    /// Time limit. That of the client's settings applies as well.
    pub time_max: Option<Duration>,
}

/// Response to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

/// Reason for a failed request. No variant contains the URL, which may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpClientError {
    /// The request is invalid.
    Invalid(&'static str),
    /// The host has only addresses that are neither public nor allowed.
    Forbidden,
    /// The connection failed or broke.
    Unreachable(String),
    /// The time limit was exceeded.
    TimedOut,
    /// The response exceeds the size limit.
    TooLarge,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            time_max: Duration::from_secs(10),
            response_bytes_max: 1_048_576,
            allowed: Vec::new(),
            authorities: Vec::new(),
        }
    }
}

impl HttpClient {
    /// Creates a client. Loads the certificate authorities of the system.
    #[must_use]
    pub fn new(settings: &Settings) -> HttpClient {
        let connector = Connector::new(settings.allowed.clone(), &settings.authorities);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIME_MAX)
            .pool_max_idle_per_host(IDLE_PER_HOST_MAX)
            .http1_max_buf_size(HEADER_BYTES_MAX)
            .http1_max_headers(HEADERS_MAX)
            .build(connector);
        HttpClient {
            client,
            permits: Arc::new(Semaphore::new(CONCURRENT_MAX)),
            time_max: settings.time_max,
            response_bytes_max: settings.response_bytes_max,
        }
    }

    /// Sends a GET request.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, HttpClientError> {
        self.send(Method::GET, url, headers, Bytes::new()).await
    }

    /// Sends a DELETE request.
    pub async fn delete(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, HttpClientError> {
        self.send(Method::DELETE, url, headers, Bytes::new()).await
    }

    /// Sends a POST request.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<HttpResponse, HttpClientError> {
        self.send(Method::POST, url, headers, body.into()).await
    }

    /// Sends a request with any method.
    pub async fn request(&self, request: HttpRequest) -> Result<HttpResponse, HttpClientError> {
        let HttpRequest { url, method, headers, body, time_max } = request;
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let sent = self.send(method, &url, &headers, body);
        match tokio::time::timeout(time_max.unwrap_or(self.time_max), sent).await {
            Ok(outcome) => outcome,
            Err(_) => Err(HttpClientError::TimedOut),
        }
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<HttpResponse, HttpClientError> {
        let request = request(method, url, headers, body)?;
        match tokio::time::timeout(self.time_max, self.execute(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(HttpClientError::TimedOut),
        }
    }

    async fn execute(&self, request: Request<Full<Bytes>>) -> Result<HttpResponse, HttpClientError> {
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let response = self.client.request(request).await.map_err(|error| to_client_error(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = Limited::new(response.into_body(), self.response_bytes_max).collect().await;
        let body = body.map_err(|error| {
            let too_large = error.downcast_ref::<http_body_util::LengthLimitError>().is_some();
            if too_large { HttpClientError::TooLarge } else { HttpClientError::Unreachable(error.to_string()) }
        })?;
        Ok(HttpResponse { status, headers, body: body.to_bytes() })
    }
}

impl HttpResponse {
    /// Returns true for a 2xx status.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl HttpClientError {
    /// Returns the label used in metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            HttpClientError::Invalid(_) => "invalid",
            HttpClientError::Forbidden => "forbidden",
            HttpClientError::Unreachable(_) => "unreachable",
            HttpClientError::TimedOut => "timed_out",
            HttpClientError::TooLarge => "too_large",
        }
    }
}

impl fmt::Display for HttpClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpClientError::Invalid(why) => f.write_str(why),
            HttpClientError::Forbidden => {
                f.write_str("the address is not public; to reach it, add its network to outgoing.allowed_networks")
            }
            HttpClientError::Unreachable(why) => write!(f, "the server cannot be reached: {why}"),
            HttpClientError::TimedOut => f.write_str("the request timed out"),
            HttpClientError::TooLarge => f.write_str("the response is too large"),
        }
    }
}

impl Error for HttpClientError {}

fn request(
    method: Method,
    url: &str,
    headers: &[(&str, &str)],
    body: Bytes,
) -> Result<Request<Full<Bytes>>, HttpClientError> {
    if url.len() > URL_BYTES_MAX {
        return Err(HttpClientError::Invalid("the URL is too long"));
    }
    let uri: Uri = url.parse().map_err(|_| HttpClientError::Invalid("the URL is malformed"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(HttpClientError::Invalid("the URL must begin with https:// or http://"));
    }
    // A user part is not sent, and could be mistaken for the host.
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(HttpClientError::Invalid("the URL must name a host, without a user"));
    }
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let agent = HeaderValue::from_static(concat!("aether/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().insert(header::USER_AGENT, agent);
    for (name, value) in headers {
        let name: HeaderName = name.parse().map_err(|_| HttpClientError::Invalid("a header name is invalid"))?;
        let value = HeaderValue::from_str(value).map_err(|_| HttpClientError::Invalid("a header value is invalid"))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

/// Returns the connector's error if there is one, otherwise the innermost cause, which is the most specific.
fn to_client_error(error: &hyper_util::client::legacy::Error) -> HttpClientError {
    let mut cause: &(dyn Error + 'static) = error;
    loop {
        if let Some(own) = cause.downcast_ref::<HttpClientError>() {
            return own.clone();
        }
        match cause.source() {
            Some(next) => cause = next,
            None => return HttpClientError::Unreachable(cause.to_string()),
        }
    }
}
