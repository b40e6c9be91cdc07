//! Facebook Instant Games: a purchase that Facebook signed with the game's secret. Nobody is asked.

use super::provider::{Asking, Bought, Environment, INVALID, MALFORMED, PurchaseProvider, Receipt, Shop, number, text};
use crate::refusal::Refusal;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use ring::hmac;
use serde_json::Value;

/// The base64 of addresses, with or without padding at its end.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::URL_SAFE,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How a game is known to Facebook.
#[derive(Clone)]
pub struct FacebookInstantSettings {
    /// The game's secret.
    pub app_secret: String,
}

/// Facebook Instant Games.
pub struct FacebookInstant {
    key: hmac::Key,
}

impl FacebookInstant {
    /// A game with this secret; refused if there is none, because then anybody could sign.
    pub fn new(settings: &FacebookInstantSettings) -> Result<FacebookInstant, Refusal> {
        let FacebookInstantSettings { app_secret } = settings;
        if app_secret.is_empty() {
            return Err(Refusal::invalid("The secret of the game at Facebook is missing."));
        }
        Ok(FacebookInstant { key: hmac::Key::new(hmac::HMAC_SHA256, app_secret.as_bytes()) })
    }

    fn bought(&self, receipt: &Receipt) -> Result<Vec<Bought>, Refusal> {
        let (signature, said) = receipt.text.split_once('.').ok_or(MALFORMED)?;
        let signature = BASE64.decode(signature).map_err(|_| MALFORMED)?;
        hmac::verify(&self.key, said.as_bytes(), &signature).map_err(|_| INVALID)?;
        let said = BASE64.decode(said).map_err(|_| MALFORMED)?;
        let said: Value = serde_json::from_slice(&said).map_err(|_| MALFORMED)?;
        if text(&said, "algorithm") != Some("HMAC-SHA256") {
            return Err(INVALID);
        }
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

impl std::fmt::Debug for FacebookInstantSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FacebookInstantSettings").finish_non_exhaustive()
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
