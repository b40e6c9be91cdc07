//! The line to a provider: what it answers, and one complaint a minute when it does not.

use super::UNAVAILABLE;
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::{HttpClient, HttpResponse};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use tracing::warn;

/// After a complaint there is none for so long: those who sign in would cause one each.
const COMPLAINT_PAUSE_MS: i64 = 60_000;

/// The line to a provider.
pub(super) struct Remote {
    provider: String,
    http_client: HttpClient,
    clock: Arc<dyn WallClock>,
    complained_at: AtomicI64,
}

impl Remote {
    pub fn new(provider: &str, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Remote {
        Remote { provider: provider.to_owned(), http_client, clock, complained_at: AtomicI64::new(i64::MIN) }
    }

    /// Now, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// What is at an address. An answer that does not concern the one who signs in, such as that the server's own key is
    /// wrong or that it asks too often, is none.
    pub async fn get(&self, url: &str, headers: &[(&str, &str)]) -> Result<HttpResponse, ServiceError> {
        let why = match self.http_client.get(url, headers).await {
            Ok(response) if !matches!(response.status, 300..=399 | 401 | 403 | 429 | 500..) => return Ok(response),
            Ok(response) => format!("it answers with the status {}", response.status),
            Err(error) => error.to_string(),
        };
        Err(self.complain(&why))
    }

    /// What is at an address, as JSON.
    pub async fn get_json(&self, url: &str, headers: &[(&str, &str)]) -> Result<Value, ServiceError> {
        let response = self.get(url, headers).await?;
        serde_json::from_slice(&response.body).map_err(|_| self.complain("its answer is no JSON"))
    }

    /// Says that the provider does not do its part; what the client is told.
    pub fn complain(&self, why: &str) -> ServiceError {
        let (now, last) = (self.now_ms(), self.complained_at.load(Ordering::Relaxed));
        if now.saturating_sub(last) >= COMPLAINT_PAUSE_MS {
            self.complained_at.store(now, Ordering::Relaxed);
            warn!(provider = self.provider, why, "a sign-in provider cannot be used");
        }
        UNAVAILABLE
    }
}
