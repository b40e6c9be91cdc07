//! Shops, and what they say about receipts.

use crate::error::{GrpcCode, ServiceError};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;

/// Bytes of a receipt or of its signature: as much as one request can carry.
pub const RECEIPT_BYTES_MAX: usize = 262_144;
/// Bytes of the ids that shops give. They are keys of the database, whose indexes limit them.
pub const ID_BYTES_MAX: usize = 1_024;
/// Bytes of what is kept of a shop's answer. They are about two thousand; of a longer one nothing is kept.
pub const RESPONSE_BYTES_MAX: usize = 65_536;
/// Purchases that are taken from one receipt, the newest. Older ones were there when they were bought.
pub const PURCHASES_MAX: usize = 256;
/// The last moment that can be written as a date of four digits: the end of the year 9999.
const TIME_MS_MAX: i64 = 253_402_300_799_999;

pub(super) const INVALID: ServiceError = ServiceError::new(
    GrpcCode::FailedPrecondition,
    "The receipt is not valid: the shop does not know it, or it is for another game.",
);
pub(super) const NOT_BOUGHT: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The purchase is not complete, or it was cancelled.");
pub(super) const MALFORMED: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The receipt is not of the form that the shop gives.");

/// A shop.
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
}

/// Whether money was paid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Environment {
    /// The shop does not say.
    #[default]
    Unknown = 0,
    /// It is a trial.
    Sandbox = 1,
    /// It is real.
    Production = 2,
}

/// What a client says that it bought.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The receipt, as the shop gave it to the client.
    pub text: String,
    /// Its signature, where that comes apart.
    pub signature: String,
}

/// Something that was bought. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidatedPurchase {
    /// What it is.
    pub product_id: String,
    /// The shop's id of the purchase, which is never given twice.
    pub transaction_id: String,
    /// When it was bought.
    pub purchased_at: i64,
    /// When it was given back, if it was.
    pub refunded_at: Option<i64>,
    /// Whether money was paid.
    pub environment: Environment,
    /// What the shop says of it: a JSON object.
    pub response: String,
}

/// Something that was bought for a time. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidatedSubscription {
    /// What it is.
    pub product_id: String,
    /// The shop's id of the first purchase, which stays the same with every renewal.
    pub original_transaction_id: String,
    /// When it was bought or renewed.
    pub purchased_at: i64,
    /// When it ends.
    pub expires_at: i64,
    /// When it was given back, if it was.
    pub refunded_at: Option<i64>,
    /// Whether money was paid.
    pub environment: Environment,
    /// What the shop says of it: a JSON object.
    pub response: String,
}

/// What a shop will say.
pub type ValidateFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ServiceError>> + Send + 'a>>;

/// Asks a shop about receipts.
pub trait PurchaseProvider: Send + Sync + 'static {
    /// Which shop it is.
    fn shop(&self) -> Shop;

    /// What was bought, by a receipt: at least one thing.
    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>>;

    /// What was bought for a time, by a receipt.
    fn subscription<'a>(&'a self, _receipt: &'a Receipt) -> ValidateFuture<'a, ValidatedSubscription> {
        let refusal =
            ServiceError::new(GrpcCode::Unimplemented, "Subscriptions of this shop are not known to the server.");
        Box::pin(async move { Err(refusal) })
    }
}

impl Shop {
    /// All of them.
    pub const ALL: [Shop; 4] = [Shop::Apple, Shop::Google, Shop::Huawei, Shop::FacebookInstant];

    /// Its number.
    #[must_use]
    pub fn number(self) -> i64 {
        self as i64
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Shop::Apple => "Apple's App Store",
            Shop::Google => "Google Play",
            Shop::Huawei => "Huawei's AppGallery",
            Shop::FacebookInstant => "Facebook Instant Games",
        }
    }

    pub(super) fn from_number(number: i64) -> Option<Shop> {
        Shop::ALL.into_iter().find(|shop| shop.number() == number)
    }
}

impl Environment {
    /// Its number.
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
    /// Refuses what cannot be kept, and cuts what is too long.
    pub(super) fn check(self) -> Result<ValidatedPurchase, ServiceError> {
        check_id(&self.product_id)?;
        check_id(&self.transaction_id)?;
        Ok(ValidatedPurchase {
            purchased_at: clamped(self.purchased_at),
            refunded_at: self.refunded_at.map(clamped),
            response: kept(self.response),
            ..self
        })
    }
}

impl ValidatedSubscription {
    /// Refuses what cannot be kept, and cuts what is too long.
    pub(super) fn check(self) -> Result<ValidatedSubscription, ServiceError> {
        check_id(&self.product_id)?;
        check_id(&self.original_transaction_id)?;
        Ok(ValidatedSubscription {
            purchased_at: clamped(self.purchased_at),
            expires_at: clamped(self.expires_at),
            refunded_at: self.refunded_at.map(clamped),
            response: kept(self.response),
            ..self
        })
    }
}

/// A text in what a shop says. An empty one is none.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value[name].as_str().filter(|text| !text.is_empty())
}

/// A number in what a shop says, which may be written as a text.
pub(super) fn number(value: &Value, name: &str) -> Option<i64> {
    match &value[name] {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_i64().or_else(|| {
            let real = number.as_f64().filter(|real| real.abs() < 1e15)?;
            // Cut to whole ones, which is exact below that limit.
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

fn kept(response: String) -> String {
    let fits = response.len() <= RESPONSE_BYTES_MAX && !response.contains('\0');
    if fits { response } else { "{}".to_owned() }
}
