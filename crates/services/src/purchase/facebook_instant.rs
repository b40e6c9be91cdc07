//! Facebook Instant Games: a purchase that Facebook signed with the game's secret. Nobody is asked.

use super::provider::{
    Environment, INVALID, MALFORMED, PurchaseProvider, Receipt, Shop, ValidateFuture, ValidatedPurchase, number, text,
};
use crate::error::ServiceError;
use crate::facebook::{FacebookInstantSettings, SignatureCheck, SignatureError};

/// Facebook Instant Games.
pub struct FacebookInstant {
    signatures: SignatureCheck,
}

impl FacebookInstant {
    /// A game with this secret; refused if there is none, because then anybody could sign.
    pub fn new(settings: &FacebookInstantSettings) -> Result<FacebookInstant, ServiceError> {
        let signatures = SignatureCheck::new(&settings.app_secret);
        let missing = || ServiceError::invalid("The secret of the game at Facebook is missing.");
        Ok(FacebookInstant { signatures: signatures.ok_or_else(missing)? })
    }

    fn bought(&self, receipt: &Receipt) -> Result<Vec<ValidatedPurchase>, ServiceError> {
        let said = self.signatures.payload(&receipt.text).map_err(|error| match error {
            SignatureError::Malformed => MALFORMED,
            SignatureError::Invalid => INVALID,
        })?;
        Ok(vec![ValidatedPurchase {
            product_id: text(&said, "product_id").ok_or(INVALID)?.to_owned(),
            transaction_id: text(&said, "purchase_token").ok_or(INVALID)?.to_owned(),
            purchased_at: number(&said, "purchase_time").ok_or(INVALID)?.saturating_mul(1_000),
            refunded_at: None,
            environment: Environment::Production,
            response: said.to_string(),
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
