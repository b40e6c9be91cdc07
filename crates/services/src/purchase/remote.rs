//! HTTP requests to shops.

use super::provider::{INVALID, Shop};
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::http_client::{HttpClient, HttpClientError, HttpResponse};
use serde_json::Value;
use std::fmt::Write as _;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::Mutex;
use tracing::{error, warn};

/// Time before its expiry at which an access token is renewed.
const TOKEN_MARGIN_MS: i64 = 60_000;
/// Maximum time to reuse an access token, whatever its expiry.
const TOKEN_AGE_MS_MAX: i64 = 3_600_000;

const UNAVAILABLE: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "The shop cannot be reached. Try again in a few seconds.");
const ACCESS_DENIED: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "The shop denies access to this server. See the server log.");

/// HTTP access to one shop.
pub(super) struct Remote {
    shop: Shop,
    http_client: HttpClient,
    clock: Arc<dyn WallClock>,
    /// Access token and its expiry. Locked while a new one is requested.
    token: Mutex<Option<(String, i64)>>,
}

impl Remote {
    pub fn new(shop: Shop, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Remote {
        Remote { shop, http_client, clock, token: Mutex::new(None) }
    }

    /// Returns another access to the same shop, without its access token.
    pub fn fresh(&self) -> Remote {
        Remote::new(self.shop, self.http_client.clone(), Arc::clone(&self.clock))
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Sends a GET request, and parses the answer as JSON.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Value, ServiceError> {
        let response = self.http_client.get(url, headers).await;
        self.read(response).await
    }

    /// Posts JSON, and parses the answer as JSON.
    pub async fn post_json(&self, url: &str, headers: &[(&str, &str)], body: &Value) -> Result<Value, ServiceError> {
        let mut headers = headers.to_vec();
        headers.push(("content-type", "application/json"));
        let response = self.http_client.post(url, &headers, body.to_string()).await;
        self.read(response).await
    }

    /// Returns an access token: the cached one while it is valid, or a new one from posting a form.
    pub async fn access_token<F: Future<Output = Result<String, ServiceError>>>(
        &self,
        url: &str,
        form: impl FnOnce() -> F,
    ) -> Result<String, ServiceError> {
        let mut cached = self.token.lock().await;
        let now = self.clock.now_ms();
        if let Some((token, expires_at)) = &*cached
            && now < *expires_at
        {
            return Ok(token.clone());
        }
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let response =
            self.http_client.post(url, &headers, form().await?).await.map_err(|error| self.unreachable(&error))?;
        let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let Some(token) = super::provider::text(&answer, "access_token").filter(|_| response.is_success()) else {
            error!(shop = self.shop.name(), status = response.status, "shop issued no access token");
            return Err(if response.status >= 500 { UNAVAILABLE } else { ACCESS_DENIED });
        };
        let lifetime_ms = super::provider::number(&answer, "expires_in").unwrap_or(0).saturating_mul(1_000);
        *cached = Some((token.to_owned(), now + lifetime_ms.clamp(0, TOKEN_AGE_MS_MAX) - TOKEN_MARGIN_MS));
        Ok(token.to_owned())
    }

    /// Parses the answer of a shop, or converts its status to an error.
    async fn read(&self, response: Result<HttpResponse, HttpClientError>) -> Result<Value, ServiceError> {
        let response = response.map_err(|error| self.unreachable(&error))?;
        match response.status {
            200..300 => serde_json::from_slice(&response.body).map_err(|_| {
                warn!(shop = self.shop.name(), "answer of the shop is not JSON");
                UNAVAILABLE
            }),
            401 | 403 => {
                error!(shop = self.shop.name(), status = response.status, "shop denied access; check its credentials");
                // The token may have been revoked early.
                *self.token.lock().await = None;
                Err(ACCESS_DENIED)
            }
            429 | 500.. => {
                warn!(shop = self.shop.name(), status = response.status, "shop answered with an error status");
                Err(UNAVAILABLE)
            }
            _ => Err(INVALID),
        }
    }

    fn unreachable(&self, error: &HttpClientError) -> ServiceError {
        warn!(shop = self.shop.name(), %error, "request to the shop failed");
        UNAVAILABLE
    }

    /// Logs a failure of the shop, and returns the error for the client.
    pub fn shop_failed(&self, status: i64) -> ServiceError {
        warn!(shop = self.shop.name(), status, "shop reported an internal failure");
        UNAVAILABLE
    }

    /// Logs that the shop denies access, and returns the error for the client.
    pub fn access_denied(&self, status: i64) -> ServiceError {
        error!(shop = self.shop.name(), status, "shop denied access; check its credentials");
        ACCESS_DENIED
    }
}

/// Percent-encodes a text for a path or a form.
pub(super) fn encoded(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(char::from(byte)),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
        encoded
    })
}
