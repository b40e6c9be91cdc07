//! Shops, and the data that they return for receipts.

use crate::error::{GrpcCode, ServiceError};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Maximum bytes of a receipt or its signature: as much as one request can carry.
pub const RECEIPT_BYTES_MAX: usize = 262_144;
/// Maximum bytes of ids of shops. They are database keys, whose indexes limit them.
pub const ID_BYTES_MAX: usize = 1_024;
/// Maximum bytes of a stored shop answer. Real ones have about two thousand; a longer one is not stored.
pub const RESPONSE_BYTES_MAX: usize = 65_536;
/// Maximum number of purchases read from one receipt, the newest. Older ones were read when they were bought.
pub const PURCHASES_MAX: usize = 256;
/// End of the year 9999: the last date with a four-digit year.
const TIME_MS_MAX: i64 = 253_402_300_799_999;

pub(super) const INVALID: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "The receipt is not valid: the shop does not know it, or it is for another game.",
);
pub(super) const NOT_BOUGHT: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The purchase is not complete, or it was cancelled.");
pub(super) const MALFORMED: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The receipt does not have the format of the shop.");

/// Shop that sells the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shop {
    /// Apple's App Store.
    Apple = 0,
    /// Google Play.
    Google = 1,
    /// Huawei's AppGallery.
    Huawei = 2,
    /// Facebook Instant Games.
    FacebookInstant = 3,
    /// Samsung's Galaxy Store.
    Samsung = 4,
}

/// Sandbox or production purchase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Environment {
    /// The shop does not tell.
    #[default]
    Unknown = 0,
    /// Test purchase, without payment.
    Sandbox = 1,
    /// Real purchase.
    Production = 2,
}

/// Receipt as sent by a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Receipt as the shop gave it to the client.
    pub text: String,
    /// Signature, for shops that send it separately.
    pub signature: String,
}

/// Access data of a shop other than the configured ones. Empty texts keep the configured.
#[derive(Clone, Default)]
pub struct ShopCredentials {
    /// Shared secret of the App Store.
    pub shared_secret: String,
    /// Service account of Google Play.
    pub client_email: String,
    /// Key of the service account, in PEM.
    pub private_key: String,
}

/// Purchase validated by a shop. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidatedPurchase {
    /// Id of the product.
    pub product_id: String,
    /// Transaction id, unique in the shop.
    pub transaction_id: String,
    /// Time of the purchase.
    pub purchased_at: i64,
    /// Time of the refund, if it was refunded.
    pub refunded_at: Option<i64>,
    /// Sandbox or production purchase.
    pub environment: Environment,
    /// Answer of the shop: a JSON object.
    pub response: String,
}

/// Subscription validated by a shop. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidatedSubscription {
    /// Id of the product.
    pub product_id: String,
    /// Id of the first transaction, which stays the same with every renewal.
    pub original_transaction_id: String,
    /// Time of the purchase or the last renewal.
    pub purchased_at: i64,
    /// Expiry.
    pub expires_at: i64,
    /// Time of the refund, if it was refunded.
    pub refunded_at: Option<i64>,
    /// Sandbox or production purchase.
    pub environment: Environment,
    /// Answer of the shop: a JSON object.
    pub response: String,
}

/// Future of a validation.
pub type ValidateFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServiceError>> + Send + 'a>>;

/// Validates receipts with a shop.
pub trait PurchaseProvider: Send + Sync + 'static {
    /// Returns the shop.
    fn shop(&self) -> Shop;

    /// Returns the purchases of a receipt: at least one.
    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>>;

    /// Returns the subscription of a receipt.
    fn subscription<'a>(&'a self, _receipt: &'a Receipt) -> ValidateFuture<'a, ValidatedSubscription> {
        let error = ServiceError::new(GrpcCode::Unimplemented, "Subscriptions of this shop are not supported.");
        Box::pin(async move { Err(error) })
    }

    /// Returns the same provider with other credentials.
    fn with_credentials(&self, _credentials: &ShopCredentials) -> Result<Arc<dyn PurchaseProvider>, ServiceError> {
        Err(ServiceError::new(GrpcCode::Unimplemented, "This shop has no credentials that could be replaced."))
    }
}

impl ShopCredentials {
    /// Returns true if all configured credentials are kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared_secret.is_empty() && self.client_email.is_empty() && self.private_key.is_empty()
    }
}

impl std::fmt::Debug for ShopCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShopCredentials").finish_non_exhaustive()
    }
}

impl Shop {
    /// All shops.
    pub const ALL: [Shop; 5] = [Shop::Apple, Shop::Google, Shop::Huawei, Shop::FacebookInstant, Shop::Samsung];

    /// Returns the number used in the database and the API.
    #[must_use]
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Returns the display name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Shop::Apple => "Apple's App Store",
            Shop::Google => "Google Play",
            Shop::Huawei => "Huawei's AppGallery",
            Shop::FacebookInstant => "Facebook Instant Games",
            Shop::Samsung => "Samsung's Galaxy Store",
        }
    }

    pub(super) fn from_number(number: i64) -> Option<Shop> {
        Shop::ALL.into_iter().find(|shop| shop.number() == number)
    }
}

impl Environment {
    /// Returns the number used in the database and the API.
    #[must_use]
    pub fn number(self) -> i64 {
        self as i64
    }

    pub(super) fn from_number(number: i64) -> Environment {
        match number {
            1 => Environment::Sandbox,
            2 => Environment::Production,
            _ => Environment::Unknown,
        }
    }
}

impl ValidatedPurchase {
    /// Rejects invalid ids, clamps times, and drops an answer that is too long.
    pub(super) fn check(self) -> Result<ValidatedPurchase, ServiceError> {
        check_id(&self.product_id)?;
        check_id(&self.transaction_id)?;
        Ok(ValidatedPurchase {
            purchased_at: clamped(self.purchased_at),
            refunded_at: self.refunded_at.map(clamped),
            response: storable(self.response),
            ..self
        })
    }
}

impl ValidatedSubscription {
    /// Rejects invalid ids, clamps times, and drops an answer that is too long.
    pub(super) fn check(self) -> Result<ValidatedSubscription, ServiceError> {
        check_id(&self.product_id)?;
        check_id(&self.original_transaction_id)?;
        Ok(ValidatedSubscription {
            purchased_at: clamped(self.purchased_at),
            expires_at: clamped(self.expires_at),
            refunded_at: self.refunded_at.map(clamped),
            response: storable(self.response),
            ..self
        })
    }
}

/// Reads a non-empty string of a shop's answer.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value[name].as_str().filter(|text| !text.is_empty())
}

/// Reads a number of a shop's answer, which may be a string.
pub(super) fn number(value: &Value, name: &str) -> Option<i64> {
    match &value[name] {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_i64().or_else(|| {
            let real = number.as_f64().filter(|real| real.abs() < 1e15)?;
            // Truncated to an integer, which is exact below that limit.
            Some(real as i64)
        }),
        _ => None,
    }
}

fn check_id(id: &str) -> Result<(), ServiceError> {
    let fits = (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains('\0');
    if fits { Ok(()) } else { Err(INVALID) }
}

fn clamped(time_ms: i64) -> i64 {
    time_ms.clamp(0, TIME_MS_MAX)
}

fn storable(response: String) -> String {
    let fits = response.len() <= RESPONSE_BYTES_MAX && !response.contains('\0');
    if fits { response } else { "{}".to_owned() }
}
