//! Samsung's Galaxy Store: purchases are queried by their purchase id.

use super::provider::{
    Environment, INVALID, MALFORMED, PurchaseProvider, Receipt, Shop, ValidateFuture, ValidatedPurchase, text,
};
use super::remote::{Remote, encoded};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use chrono::NaiveDateTime;
use std::sync::Arc;

/// Maximum bytes of a purchase id. Samsung's have 64.
const PURCHASE_ID_BYTES_MAX: usize = 256;
/// Form of a time in Samsung's answers, in UTC.
const TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S";

/// Settings of the Galaxy Store.
#[derive(Clone, Debug)]
pub struct SamsungSettings {
    /// Package names of the game.
    pub package_names: Vec<String>,
    /// URL that returns the receipt of a purchase.
    pub receipt_url: String,
}

/// Galaxy Store provider.
pub struct Samsung {
    settings: SamsungSettings,
    remote: Remote,
}

impl SamsungSettings {
    /// Settings of a game with these package names, with Samsung's URL.
    #[must_use]
    pub fn new(package_names: Vec<String>) -> SamsungSettings {
        SamsungSettings { package_names, receipt_url: "https://iap.samsungapps.com/iap/v6/receipt".to_owned() }
    }
}

impl Samsung {
    /// Creates the provider.
    #[must_use]
    pub fn new(settings: SamsungSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Samsung {
        Samsung { settings, remote: Remote::new(Shop::Samsung, http_client, clock) }
    }

    async fn bought(&self, receipt: &Receipt) -> Result<Vec<ValidatedPurchase>, ServiceError> {
        if receipt.text.len() > PURCHASE_ID_BYTES_MAX {
            return Err(MALFORMED);
        }
        let url = format!("{}?purchaseID={}", self.settings.receipt_url, encoded(&receipt.text));
        let answer = self.remote.get(&url, &[]).await?;
        let package_name = text(&answer, "packageName").unwrap_or_default();
        let is_ours = self.settings.package_names.iter().any(|own| own == package_name);
        if text(&answer, "status") != Some("success") || !is_ours {
            return Err(INVALID);
        }
        let bought = || {
            let time = NaiveDateTime::parse_from_str(text(&answer, "purchaseDate")?, TIME_FORMAT).ok()?;
            Some(ValidatedPurchase {
                product_id: text(&answer, "itemId")?.to_owned(),
                transaction_id: text(&answer, "paymentId")?.to_owned(),
                purchased_at: time.and_utc().timestamp_millis(),
                refunded_at: None,
                environment: match text(&answer, "mode") {
                    Some("PRODUCTION" | "REAL") => Environment::Production,
                    Some("TEST") => Environment::Sandbox,
                    _ => Environment::Unknown,
                },
                response: answer.to_string(),
            })
        };
        Ok(vec![bought().ok_or(INVALID)?])
    }
}

impl PurchaseProvider for Samsung {
    fn shop(&self) -> Shop {
        Shop::Samsung
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        Box::pin(self.bought(receipt))
    }
}
