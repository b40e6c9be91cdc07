//! Webhooks: posts messages of the outbox to a URL, at least once, until the receiver accepts them.
//!
//! ```text
//! POST <url>
//! Content-Type: application/json
//! Idempotency-Key: <id>                     the same for each attempt
//! Aether-Signature: t=<seconds>,v1=<hex>    HMAC-SHA256 of "<seconds>.<body>" under the secret
//!
//! {"id":"…","topic":"account.created","createdAt":1893456000000,"payload":{…}}
//! ```
//!
//! Any 2xx status confirms delivery. Other outcomes are retried with backoff. After the last attempt the message is
//! parked in the outbox and counted.

use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use aether_metrics::{Counter, Gauge, Registry};
use aether_store::outbox::{self, Message};
use aether_store::{Store, Transaction};
use ring::hmac;
use std::fmt::Write as _;
use std::sync::Arc;
use tracing::warn;

/// Maximum number of messages posted concurrently.
const CONCURRENT_MAX: i64 = 16;
/// Time for which a message is claimed by one deliverer. Longer than a request may take.
const CLAIM_MS: i64 = 60_000;
/// Delay after the first failure. It doubles with each further one.
const RETRY_MS_MIN: i64 = 1_000;
/// Maximum delay between attempts.
const RETRY_MS_MAX: i64 = 3_600_000;
/// Age at which parked messages are deleted, from their creation, in days.
pub const PARKED_DAYS: i64 = 7;
/// Maximum number of messages deleted in one transaction, so that other writes do not wait long.
const PRUNED_MAX: i64 = 1_000;
/// Maximum bytes of a stored error.
const ERROR_BYTES_MAX: usize = 500;

/// Settings of the webhook.
#[derive(Clone, Debug)]
pub struct Settings {
    /// URL that messages are posted to.
    pub url: String,
    /// Secret that signs messages.
    pub secret: String,
    /// Maximum number of attempts per message.
    pub attempts_max: u32,
}

/// Delivers messages of the outbox.
pub struct Webhooks {
    store: Store,
    clock: Arc<dyn WallClock>,
    http_client: HttpClient,
    settings: Settings,
    delivered: Counter,
    failed: Counter,
    given_up: Counter,
    pruned: Counter,
    waiting: Gauge,
}

impl Webhooks {
    /// Creates a deliverer with these settings.
    #[must_use]
    pub fn new(
        store: Store,
        clock: Arc<dyn WallClock>,
        http_client: HttpClient,
        settings: Settings,
        registry: &Registry,
    ) -> Webhooks {
        let (name, help) = ("aether_webhook_messages_total", "Webhook messages by outcome.");
        let counter = |outcome| registry.counter(name, help, &[("outcome", outcome)]);
        Webhooks {
            store,
            clock,
            http_client,
            settings,
            delivered: counter("delivered"),
            failed: counter("failed"),
            given_up: counter("given_up"),
            pruned: counter("pruned"),
            waiting: registry.gauge("aether_webhook_queue_length", "Webhook messages waiting for delivery.", &[]),
        }
    }

    /// Delivers due messages, a few concurrently. Returns their number.
    pub async fn deliver_due(&self) -> Result<usize, ServiceError> {
        let now = self.clock.now_ms();
        let claim = move |transaction: &mut Transaction<'_>| {
            Ok::<_, ServiceError>(outbox::claim(transaction, now, now + CLAIM_MS, CONCURRENT_MAX)?)
        };
        let messages = self.store.write(claim).await?;
        // Counting takes longer the more messages wait, so it does not occupy the writer.
        let (waiting, _) = self.store.read::<_, ServiceError>(|transaction| Ok(outbox::depth(transaction)?)).await?;
        self.waiting.set(waiting as f64);
        let attempts = messages.iter().map(|message| self.deliver(message));
        for outcome in futures_util::future::join_all(attempts).await {
            outcome?;
        }
        Ok(messages.len())
    }

    /// Deletes parked messages that are older than [`PARKED_DAYS`]. Returns their number.
    pub async fn prune(&self) -> Result<u64, ServiceError> {
        let created_before = self.clock.now_ms() - PARKED_DAYS * 86_400_000;
        let mut pruned = 0;
        loop {
            let prune = move |transaction: &mut Transaction<'_>| {
                Ok::<_, ServiceError>(outbox::prune(transaction, created_before, PRUNED_MAX)?)
            };
            let deleted = self.store.write(prune).await?;
            pruned += deleted;
            self.pruned.add(deleted);
            if deleted < PRUNED_MAX as u64 {
                return Ok(pruned);
            }
        }
    }

    async fn deliver(&self, message: &Message) -> Result<(), ServiceError> {
        let id = message.id;
        let Err(why) = self.post(message).await else {
            self.delivered.inc();
            let confirm = move |transaction: &mut Transaction<'_>| Ok(outbox::confirm(transaction, id)?);
            return self.store.write(confirm).await;
        };
        self.failed.inc();
        let last = message.attempts >= i64::from(self.settings.attempts_max);
        let due_at = (!last).then(|| self.clock.now_ms() + retry_ms(message.attempts));
        if last {
            self.given_up.inc();
            warn!(%id, topic = message.topic, why, "webhook message parked after its last attempt");
        }
        let fail = move |transaction: &mut Transaction<'_>| Ok(outbox::fail(transaction, id, &why, due_at)?);
        self.store.write(fail).await
    }

    async fn post(&self, message: &Message) -> Result<(), String> {
        let body = format!(
            "{{\"id\":\"{}\",\"topic\":\"{}\",\"createdAt\":{},\"payload\":{}}}",
            message.id, message.topic, message.created_at, message.payload
        );
        let signature = sign(&self.settings.secret, self.clock.now_seconds(), &body);
        let id = message.id.to_string();
        let headers = [
            ("content-type", "application/json"),
            ("idempotency-key", id.as_str()),
            ("aether-signature", signature.as_str()),
        ];
        let answer = self.http_client.post(&self.settings.url, &headers, body.into_bytes()).await;
        match answer {
            Ok(response) if response.is_success() => Ok(()),
            Ok(response) => Err(format!("the receiver answered with status {}", response.status)),
            Err(error) => {
                let mut why = error.to_string();
                why.truncate(why.floor_char_boundary(ERROR_BYTES_MAX));
                Err(why)
            }
        }
    }
}

/// Returns the signature of a body, with the time of signing.
fn sign(secret: &str, seconds: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    tag.as_ref().iter().fold(format!("t={seconds},v1="), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns the delay after a number of attempts.
fn retry_ms(attempts: i64) -> i64 {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(30);
    RETRY_MS_MIN.saturating_mul(1 << doublings).min(RETRY_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_an_hour() {
        assert_eq!([1, 2, 3, 12, 13, 1_000].map(retry_ms), [1_000, 2_000, 4_000, 2_048_000, 3_600_000, 3_600_000]);
    }

    #[test]
    fn signatures_match_another_implementation() {
        // Computed with another implementation of HMAC-SHA256, over "1.{}" with the secret "key".
        let known = "t=1,v1=1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224";
        assert_eq!(sign("key", 1, "{}"), known);
    }
}
