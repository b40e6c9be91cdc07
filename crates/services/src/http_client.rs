//! Requests to the outside: external providers, stores, webhooks.
//!
//! An address may come from a configuration that someone else may write, or from a client. So only public addresses are
//! reached unless a network was allowed; it is checked when the connection is made, on the address itself, and a name
//! that leads somewhere else a moment later gains nothing. Redirects are not followed, and answers have a size and a
//! time.

mod connector;
mod network;

pub use network::{Network, NetworkError, is_public};

use bytes::Bytes;
use connector::Connector;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Requests at the same time. Each holds a connection and up to one answer; more wait for their turn.
const CONCURRENT_MAX: usize = 256;
/// Connections that are kept open to one host, and for how long: signing in comes in bursts.
const IDLE_PER_HOST_MAX: usize = 8;
const IDLE_TIME_MAX: Duration = Duration::from_secs(30);
/// Bytes of an answer's headers, and how many. Those of the providers are a tenth of that.
const HEADER_BYTES_MAX: usize = 32_768;
const HEADERS_MAX: usize = 100;
/// Bytes of an address that is asked. A ticket of a provider takes most of it.
const URL_BYTES_MAX: usize = 16_384;

/// How requests to the outside are made.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long a request may take, from its beginning to the end of its answer.
    pub time_max: Duration,
    /// Bytes of an answer's body.
    pub response_bytes_max: usize,
    /// Networks that are reached although they are not public.
    pub allowed: Vec<Network>,
    /// Authorities that are trusted beside those of the system.
    pub authorities: Vec<CertificateDer<'static>>,
}

/// Makes requests to the outside. Clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    client: Client<Connector, Full<Bytes>>,
    places: Arc<Semaphore>,
    time_max: Duration,
    response_bytes_max: usize,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Bytes,
}

/// Why nothing came back. No variant shows the address that was asked: it may hold a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpClientError {
    /// The request cannot be made as it is.
    Invalid(&'static str),
    /// The name leads to addresses that are not public and not allowed.
    Forbidden,
    /// There was no connection, or it broke.
    Unreachable(String),
    /// It took too long.
    TimedOut,
    /// The answer is too long.
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
    /// Prepares for requests: reads which authorities the system trusts.
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
            places: Arc::new(Semaphore::new(CONCURRENT_MAX)),
            time_max: settings.time_max,
            response_bytes_max: settings.response_bytes_max,
        }
    }

    /// Asks for what is at an address.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, HttpClientError> {
        self.ask(Method::GET, url, headers, Bytes::new()).await
    }

    /// Sends something to an address.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Result<HttpResponse, HttpClientError> {
        self.ask(Method::POST, url, headers, body.into()).await
    }

    async fn ask(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<HttpResponse, HttpClientError> {
        let request = request(method, url, headers, body)?;
        match tokio::time::timeout(self.time_max, self.answer(request)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(HttpClientError::TimedOut),
        }
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<HttpResponse, HttpClientError> {
        let _place = self.places.acquire().await.expect("it is never closed");
        let response = self.client.request(request).await.map_err(|error| described(&error))?;
        let status = response.status().as_u16();
        let body = Limited::new(response.into_body(), self.response_bytes_max).collect().await;
        let body = body.map_err(|error| {
            let too_large = error.downcast_ref::<http_body_util::LengthLimitError>().is_some();
            if too_large { HttpClientError::TooLarge } else { HttpClientError::Unreachable(error.to_string()) }
        })?;
        Ok(HttpResponse { status, body: body.to_bytes() })
    }
}

impl HttpResponse {
    /// Whether the other side did what it was asked.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl HttpClientError {
    /// A short name, for metrics.
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
                f.write_str("the address is not public; allow its network in the configuration if it is meant")
            }
            HttpClientError::Unreachable(why) => write!(f, "the address cannot be reached: {why}"),
            HttpClientError::TimedOut => f.write_str("the answer took too long"),
            HttpClientError::TooLarge => f.write_str("the answer is too long"),
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
        return Err(HttpClientError::Invalid("the address is too long"));
    }
    let uri: Uri = url.parse().map_err(|_| HttpClientError::Invalid("the address is no URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(HttpClientError::Invalid("the address has to begin with https:// or http://"));
    }
    // What stands before an @ would be taken for the host by a careless reader, and it is not sent anyway.
    if uri.authority().is_none_or(|authority| authority.as_str().contains('@')) {
        return Err(HttpClientError::Invalid("the address has to name a host, without a user"));
    }
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    let agent = HeaderValue::from_static(concat!("aether/", env!("CARGO_PKG_VERSION")));
    request.headers_mut().insert(header::USER_AGENT, agent);
    for (name, value) in headers {
        let name: HeaderName = name.parse().map_err(|_| HttpClientError::Invalid("a header's name is not valid"))?;
        let value = HeaderValue::from_str(value).map_err(|_| HttpClientError::Invalid("a header is not valid"))?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

/// The connector's own word where there is one, else the innermost cause, which says the most.
fn described(error: &hyper_util::client::legacy::Error) -> HttpClientError {
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
