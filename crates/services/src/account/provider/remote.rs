//! HTTP requests to a provider, with at most one warning per minute when they fail.

use super::UNAVAILABLE;
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::{HttpClient, HttpResponse};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tracing::warn;

/// Minimum time between warnings. Otherwise each sign-in would cause one.
const WARNING_PAUSE_MS: i64 = 60_000;

/// HTTP access to a provider.
pub(super) struct Remote {
    provider: String,
    http_client: HttpClient,
    clock: Arc<dyn WallClock>,
    warned_at: AtomicI64,
}

impl Remote {
    pub fn new(provider: &str, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Remote {
        Remote { provider: provider.to_owned(), http_client, clock, warned_at: AtomicI64::new(i64::MIN) }
    }

    /// Returns the current time in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Sends a GET request. A status that does not concern the client, such as a wrong server key or a rate limit, is
    /// an error.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, ServiceError> {
        let why = match self.http_client.get(url, headers).await {
            Ok(response) if !matches!(response.status, 300..=399 | 401 | 403 | 429 | 500..) => return Ok(response),
            Ok(response) => format!("it answered with status {}", response.status),
            Err(error) => error.to_string(),
        };
        Err(self.report_failure(&why))
    }

    /// Sends a GET request, and parses the answer as JSON.
    pub async fn get_json(&self, url: &str, headers: &[(&str, &str)]) -> Result<Value, ServiceError> {
        self.parse(&self.get(url, headers).await?)
    }

    /// Sends a GET request. Returns `None` for a status that concerns the client.
    pub async fn get_unless(&self, url: &str, status: u16) -> Result<Option<HttpResponse>, ServiceError> {
        let why = match self.http_client.get(url, &[]).await {
            Ok(response) if response.status == status => return Ok(None),
            Ok(response) if response.is_success() => return Ok(Some(response)),
            Ok(response) => format!("it answered with status {}", response.status),
            Err(error) => error.to_string(),
        };
        Err(self.report_failure(&why))
    }

    /// Parses an answer as JSON.
    pub fn parse(&self, response: &HttpResponse) -> Result<Value, ServiceError> {
        serde_json::from_slice(&response.body).map_err(|_| self.report_failure("its answer is not JSON"))
    }

    /// Logs a failure of the provider, and returns the error for the client.
    pub fn report_failure(&self, why: &str) -> ServiceError {
        let (now, last) = (self.now_ms(), self.warned_at.load(Ordering::Relaxed));
        if now.saturating_sub(last) >= WARNING_PAUSE_MS {
            self.warned_at.store(now, Ordering::Relaxed);
            warn!(provider = self.provider, why, "sign-in provider failed");
        }
        UNAVAILABLE
    }
}
