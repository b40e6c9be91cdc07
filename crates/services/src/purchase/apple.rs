//! Apple's App Store: receipts, which Apple validates, and signed transactions, which need no request.

mod signed;

use super::provider::{
    Environment, INVALID, MALFORMED, PURCHASES_MAX, PurchaseProvider, Receipt, Shop, ShopCredentials, ValidateFuture,
    ValidatedPurchase, ValidatedSubscription, number, text,
};
use super::remote::Remote;
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use serde_json::{Value, json};
use signed::Transaction;
use std::sync::Arc;

/// Status of a sandbox receipt sent to production.
const STATUS_SANDBOX: i64 = 21_007;
/// Status of a wrong shared secret.
const STATUS_SECRET: i64 = 21_004;

/// Settings of the App Store.
#[derive(Clone)]
pub struct AppleSettings {
    /// Bundle ids of the game.
    pub bundle_ids: Vec<String>,
    /// Shared secret for receipts of subscriptions.
    pub shared_secret: String,
    /// URL that validates receipts.
    pub production_url: String,
    /// URL that validates sandbox receipts.
    pub sandbox_url: String,
    /// SHA-256 hashes of the trusted root certificates.
    pub root_hashes: Vec<[u8; 32]>,
}

/// App Store provider.
pub struct Apple {
    settings: AppleSettings,
    remote: Remote,
}

impl AppleSettings {
    /// Settings of a game with these bundle ids, with Apple's URLs.
    #[must_use]
    pub fn new(bundle_ids: Vec<String>, shared_secret: String) -> AppleSettings {
        AppleSettings {
            bundle_ids,
            shared_secret,
            production_url: "https://buy.itunes.apple.com/verifyReceipt".to_owned(),
            sandbox_url: "https://sandbox.itunes.apple.com/verifyReceipt".to_owned(),
            root_hashes: vec![signed::ROOT_G3],
        }
    }
}

impl std::fmt::Debug for AppleSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppleSettings").field("bundle_ids", &self.bundle_ids).finish_non_exhaustive()
    }
}

impl Apple {
    /// Creates the provider.
    #[must_use]
    pub fn new(settings: AppleSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Apple {
        Apple { settings, remote: Remote::new(Shop::Apple, http_client, clock) }
    }

    async fn bought(&self, receipt: &Receipt) -> Result<Vec<ValidatedPurchase>, ServiceError> {
        if let Some(transaction) = self.signed(receipt)? {
            return transaction
                .bought()
                .map(|bought| vec![bought])
                .ok_or_else(|| ServiceError::invalid("The receipt is a subscription. Validate it as a subscription."));
        }
        let answer = self.query(receipt).await?;
        let environment = environment(&answer, "environment");
        let entries = answer["receipt"]["in_app"].as_array().ok_or(INVALID)?;
        // Entries with an expiry are subscriptions.
        let entries = entries.iter().filter(|entry| entry.get("expires_date_ms").is_none());
        let bought = entries.map(|entry| {
            Some(ValidatedPurchase {
                product_id: text(entry, "product_id")?.to_owned(),
                transaction_id: text(entry, "transaction_id")?.to_owned(),
                purchased_at: number(entry, "purchase_date_ms")?,
                refunded_at: number(entry, "cancellation_date_ms"),
                environment,
                response: entry.to_string(),
            })
        });
        let mut bought = bought.collect::<Option<Vec<_>>>().ok_or(INVALID)?;
        bought.sort_by_key(|bought| std::cmp::Reverse(bought.purchased_at));
        bought.truncate(PURCHASES_MAX);
        if bought.is_empty() { Err(INVALID) } else { Ok(bought) }
    }

    async fn subscribed(&self, receipt: &Receipt) -> Result<ValidatedSubscription, ServiceError> {
        if let Some(transaction) = self.signed(receipt)? {
            return transaction.subscribed().ok_or(INVALID);
        }
        let answer = self.query(receipt).await?;
        let entries = answer["latest_receipt_info"].as_array().or_else(|| answer["receipt"]["in_app"].as_array());
        // Each renewal is an entry. The one that expires last counts.
        let entries =
            entries.into_iter().flatten().filter_map(|entry| Some((number(entry, "expires_date_ms")?, entry)));
        let (expires_at, entry) = entries.max_by_key(|(expires_at, _)| *expires_at).ok_or(INVALID)?;
        let subscribed = || {
            Some(ValidatedSubscription {
                product_id: text(entry, "product_id")?.to_owned(),
                original_transaction_id: text(entry, "original_transaction_id")?.to_owned(),
                purchased_at: number(entry, "purchase_date_ms")?,
                expires_at,
                refunded_at: number(entry, "cancellation_date_ms"),
                environment: environment(&answer, "environment"),
                response: entry.to_string(),
            })
        };
        subscribed().ok_or(INVALID)
    }

    /// Returns the transaction, if the receipt is a signed one.
    fn signed(&self, receipt: &Receipt) -> Result<Option<Transaction>, ServiceError> {
        let AppleSettings { bundle_ids, root_hashes, .. } = &self.settings;
        match receipt.text.split('.').count() {
            1 => Ok(None),
            3 => Transaction::verify(&receipt.text, root_hashes, bundle_ids).map(Some),
            _ => Err(MALFORMED),
        }
    }

    /// Validates a receipt in production, and in the sandbox if Apple says so.
    async fn query(&self, receipt: &Receipt) -> Result<Value, ServiceError> {
        let AppleSettings { bundle_ids, shared_secret, production_url, sandbox_url, .. } = &self.settings;
        let request =
            json!({ "receipt-data": receipt.text, "password": shared_secret, "exclude-old-transactions": true });
        let mut answer = self.remote.post_json(production_url, &[], &request).await?;
        if number(&answer, "status") == Some(STATUS_SANDBOX) {
            answer = self.remote.post_json(sandbox_url, &[], &request).await?;
        }
        match number(&answer, "status") {
            Some(0) => {}
            Some(status @ (21_005 | 21_009 | 21_100..21_200)) => return Err(self.remote.shop_failed(status)),
            Some(status @ STATUS_SECRET) => return Err(self.remote.access_denied(status)),
            _ => return Err(INVALID),
        }
        let is_ours = text(&answer["receipt"], "bundle_id").is_some_and(|id| bundle_ids.iter().any(|own| own == id));
        if is_ours { Ok(answer) } else { Err(INVALID) }
    }
}

impl PurchaseProvider for Apple {
    fn shop(&self) -> Shop {
        Shop::Apple
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        Box::pin(self.bought(receipt))
    }

    fn subscription<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, ValidatedSubscription> {
        Box::pin(self.subscribed(receipt))
    }

    fn with_credentials(&self, credentials: &ShopCredentials) -> Result<Arc<dyn PurchaseProvider>, ServiceError> {
        let shared_secret = credentials.shared_secret.clone();
        let settings = AppleSettings { shared_secret, ..self.settings.clone() };
        Ok(Arc::new(Apple { settings, remote: self.remote.fresh() }))
    }
}

fn environment(value: &Value, name: &str) -> Environment {
    match text(value, name) {
        Some("Production") => Environment::Production,
        Some("Sandbox") => Environment::Sandbox,
        _ => Environment::Unknown,
    }
}
