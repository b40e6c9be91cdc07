//! Apple's App Store: receipts, about which Apple is asked, and signed transactions, which speak for themselves.

mod signed;

use super::provider::{
    Environment, INVALID, MALFORMED, PURCHASES_MAX, PurchaseProvider, Receipt, Shop, ValidateFuture, ValidatedPurchase,
    ValidatedSubscription, number, text,
};
use super::remote::Remote;
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use serde_json::{Value, json};
use signed::Transaction;
use std::sync::Arc;

/// Apple says that a receipt is one of the sandbox.
const STATUS_SANDBOX: i64 = 21_007;
/// Apple says that the shared secret is wrong.
const STATUS_SECRET: i64 = 21_004;

/// How a game is known to Apple.
#[derive(Clone)]
pub struct AppleSettings {
    /// The bundle ids of the game.
    pub bundle_ids: Vec<String>,
    /// The shared secret, with which receipts of subscriptions are asked about.
    pub shared_secret: String,
    /// Where receipts are asked about.
    pub production_url: String,
    /// Where receipts of the sandbox are asked about.
    pub sandbox_url: String,
    /// The SHA-256 hashes of certificates at the root of what Apple signs.
    pub root_hashes: Vec<[u8; 32]>,
}

/// Apple's App Store.
pub struct Apple {
    settings: AppleSettings,
    remote: Remote,
}

impl AppleSettings {
    /// A game with these bundle ids, and Apple's addresses.
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
    /// Apple with these settings.
    #[must_use]
    pub fn new(settings: AppleSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Apple {
        Apple { settings, remote: Remote::new(Shop::Apple, http_client, clock) }
    }

    async fn bought(&self, receipt: &Receipt) -> Result<Vec<ValidatedPurchase>, ServiceError> {
        if let Some(transaction) = self.signed(receipt)? {
            return transaction
                .bought()
                .map(|bought| vec![bought])
                .ok_or_else(|| ServiceError::invalid("This is a subscription: have it validated as one."));
        }
        let answer = self.ask(receipt).await?;
        let environment = environment(&answer, "environment");
        let entries = answer["receipt"]["in_app"].as_array().ok_or(INVALID)?;
        // What ends is a subscription.
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
        let answer = self.ask(receipt).await?;
        let entries = answer["latest_receipt_info"].as_array().or_else(|| answer["receipt"]["in_app"].as_array());
        // Each renewal is an entry; the last to end is the one that counts.
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

    /// The transaction of a receipt that Apple signed, if it is one.
    fn signed(&self, receipt: &Receipt) -> Result<Option<Transaction>, ServiceError> {
        let AppleSettings { bundle_ids, root_hashes, .. } = &self.settings;
        match receipt.text.split('.').count() {
            1 => Ok(None),
            3 => Transaction::verify(&receipt.text, root_hashes, bundle_ids).map(Some),
            _ => Err(MALFORMED),
        }
    }

    /// Asks about a receipt: first where players pay, and if Apple says so, where testers do not.
    async fn ask(&self, receipt: &Receipt) -> Result<Value, ServiceError> {
        let AppleSettings { bundle_ids, shared_secret, production_url, sandbox_url, .. } = &self.settings;
        let question =
            json!({ "receipt-data": receipt.text, "password": shared_secret, "exclude-old-transactions": true });
        let mut answer = self.remote.post_json(production_url, &[], &question).await?;
        if number(&answer, "status") == Some(STATUS_SANDBOX) {
            answer = self.remote.post_json(sandbox_url, &[], &question).await?;
        }
        match number(&answer, "status") {
            Some(0) => {}
            Some(status @ (21_005 | 21_009 | 21_100..21_200)) => return Err(self.remote.out_of_order(status)),
            Some(status @ STATUS_SECRET) => return Err(self.remote.not_let_in(status)),
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
}

fn environment(value: &Value, name: &str) -> Environment {
    match text(value, name) {
        Some("Production") => Environment::Production,
        Some("Sandbox") => Environment::Sandbox,
        _ => Environment::Unknown,
    }
}
