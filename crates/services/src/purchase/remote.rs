//! Questions to shops over HTTP.

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

/// An access token is not used in the last moments of its life.
const TOKEN_MARGIN_MS: i64 = 60_000;
/// The longest that an access token is kept, whatever the shop says of it.
const TOKEN_AGE_MS_MAX: i64 = 3_600_000;

const UNAVAILABLE: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "The shop cannot be asked at the moment. Try again in a few seconds.");
const NOT_LET_IN: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "The shop does not let this server ask. Its operator has been told.");

/// Asks one shop.
pub(super) struct Remote {
    shop: Shop,
    http_client: HttpClient,
    clock: Arc<dyn WallClock>,
    /// The access token, and when it ends. Whoever needs a new one while it is being asked for waits.
    token: Mutex<Option<(String, i64)>>,
}

impl Remote {
    pub fn new(shop: Shop, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Remote {
        Remote { shop, http_client, clock, token: Mutex::new(None) }
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// What is at an address, as JSON.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<Value, ServiceError> {
        let response = self.http_client.get(url, headers).await;
        self.read(response).await
    }

    /// What is answered to JSON.
    pub async fn post_json(&self, url: &str, headers: &[(&str, &str)], body: &Value) -> Result<Value, ServiceError> {
        let mut headers = headers.to_vec();
        headers.push(("content-type", "application/json"));
        let response = self.http_client.post(url, &headers, body.to_string()).await;
        self.read(response).await
    }

    /// An access token from a form that is sent to an address, or the one from before while it lasts.
    pub async fn access_token<F: Future<Output = Result<String, ServiceError>>>(
        &self,
        url: &str,
        form: impl FnOnce() -> F,
    ) -> Result<String, ServiceError> {
        let mut kept = self.token.lock().await;
        let now = self.clock.now_ms();
        if let Some((token, ends_at)) = &*kept
            && now < *ends_at
        {
            return Ok(token.clone());
        }
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let response =
            self.http_client.post(url, &headers, form().await?).await.map_err(|error| self.unreachable(&error))?;
        let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        let Some(token) = super::provider::text(&answer, "access_token").filter(|_| response.is_success()) else {
            error!(shop = self.shop.name(), status = response.status, "the shop gives this server no access token");
            return Err(if response.status >= 500 { UNAVAILABLE } else { NOT_LET_IN });
        };
        let lasts_ms = super::provider::number(&answer, "expires_in").unwrap_or(0).saturating_mul(1_000);
        *kept = Some((token.to_owned(), now + lasts_ms.clamp(0, TOKEN_AGE_MS_MAX) - TOKEN_MARGIN_MS));
        Ok(token.to_owned())
    }

    /// What a shop says, if it says something; otherwise why not.
    async fn read(&self, response: Result<HttpResponse, HttpClientError>) -> Result<Value, ServiceError> {
        let response = response.map_err(|error| self.unreachable(&error))?;
        match response.status {
            200..300 => serde_json::from_slice(&response.body).map_err(|_| {
                warn!(shop = self.shop.name(), "the shop's answer is no JSON");
                UNAVAILABLE
            }),
            401 | 403 => {
                error!(shop = self.shop.name(), status = response.status, "the shop does not let this server ask");
                // It may have been withdrawn before its time.
                *self.token.lock().await = None;
                Err(NOT_LET_IN)
            }
            429 | 500.. => {
                warn!(shop = self.shop.name(), status = response.status, "the shop does not answer");
                Err(UNAVAILABLE)
            }
            _ => Err(INVALID),
        }
    }

    fn unreachable(&self, error: &HttpClientError) -> ServiceError {
        warn!(shop = self.shop.name(), %error, "the shop cannot be asked");
        UNAVAILABLE
    }

    /// The shop says that something is wrong with itself.
    pub fn out_of_order(&self, status: i64) -> ServiceError {
        warn!(shop = self.shop.name(), status, "the shop is out of order");
        UNAVAILABLE
    }

    /// The shop says that something is wrong with this server.
    pub fn not_let_in(&self, status: i64) -> ServiceError {
        error!(shop = self.shop.name(), status, "the shop does not let this server ask");
        NOT_LET_IN
    }
}

/// A text as a part of a path or a form.
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
