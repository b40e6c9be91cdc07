//! Facebook Instant Games: a purchase that Facebook signs with the game's secret. No request is needed.

use super::provider::{
    Environment, INVALID, MALFORMED, PurchaseProvider, Receipt, Shop, ValidateFuture, ValidatedPurchase, number, text,
};
use crate::error::ServiceError;
use crate::facebook::{FacebookInstantSettings, SignatureCheck, SignatureError};

/// Facebook Instant Games provider.
pub struct FacebookInstant {
    signatures: SignatureCheck,
}

impl FacebookInstant {
    /// Creates the provider. Fails without a secret, with which anybody could sign.
    pub fn new(settings: &FacebookInstantSettings) -> Result<FacebookInstant, ServiceError> {
        let signatures = SignatureCheck::new(&settings.app_secret);
        let missing = || ServiceError::invalid("The app secret of Facebook Instant Games is missing.");
        Ok(FacebookInstant { signatures: signatures.ok_or_else(missing)? })
    }

    fn bought(&self, receipt: &Receipt) -> Result<Vec<ValidatedPurchase>, ServiceError> {
        let payload = self.signatures.payload(&receipt.text).map_err(|error| match error {
            SignatureError::Malformed => MALFORMED,
            SignatureError::Invalid => INVALID,
        })?;
        Ok(vec![ValidatedPurchase {
            product_id: text(&payload, "product_id").ok_or(INVALID)?.to_owned(),
            transaction_id: text(&payload, "purchase_token").ok_or(INVALID)?.to_owned(),
            purchased_at: number(&payload, "purchase_time").ok_or(INVALID)?.saturating_mul(1_000),
            refunded_at: None,
            environment: Environment::Production,
            response: payload.to_string(),
        }])
    }
}

impl PurchaseProvider for FacebookInstant {
    fn shop(&self) -> Shop {
        Shop::FacebookInstant
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        Box::pin(async { self.bought(receipt) })
    }
}
