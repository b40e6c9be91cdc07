//! Facebook Instant Games: a purchase that Facebook signed with the game's secret. Nobody is asked.

use super::provider::{Asking, Bought, Environment, INVALID, MALFORMED, PurchaseProvider, Receipt, Shop, number, text};
use crate::facebook::{FacebookInstantSettings, SignatureCheck, SignatureError};
use crate::refusal::Refusal;

/// Facebook Instant Games.
pub struct FacebookInstant {
    signatures: SignatureCheck,
}

impl FacebookInstant {
    /// A game with this secret; refused if there is none, because then anybody could sign.
    pub fn new(settings: &FacebookInstantSettings) -> Result<FacebookInstant, Refusal> {
        let signatures = SignatureCheck::new(&settings.app_secret);
        let missing = || Refusal::invalid("The secret of the game at Facebook is missing.");
        Ok(FacebookInstant { signatures: signatures.ok_or_else(missing)? })
    }

    fn bought(&self, receipt: &Receipt) -> Result<Vec<Bought>, Refusal> {
        let said = self.signatures.payload(&receipt.text).map_err(|error| match error {
            SignatureError::Malformed => MALFORMED,
            SignatureError::Invalid => INVALID,
        })?;
        Ok(vec![Bought {
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

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> Asking<'a, Vec<Bought>> {
        Box::pin(async { self.bought(receipt) })
    }
}
