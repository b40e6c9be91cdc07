//! Purchases: receipts are validated with the shop and stored, so that none counts twice.
//!
//! Each shop is a [`PurchaseProvider`]. The game decides what a player gets for a purchase: see
//! [`Purchase::seen_before`].

mod apple;
mod facebook_instant;
mod google;
mod huawei;
mod provider;
mod remote;
mod samsung;
pub(crate) mod serve;
mod stored;

pub use crate::facebook::FacebookInstantSettings;
pub use apple::{Apple, AppleSettings};
pub use facebook_instant::FacebookInstant;
pub use google::{Google, GoogleSettings};
pub use huawei::{Huawei, HuaweiSettings};
pub use provider::{
    Environment, ID_BYTES_MAX, PURCHASES_MAX, PurchaseProvider, RECEIPT_BYTES_MAX, RESPONSE_BYTES_MAX, Receipt, Shop,
    ShopCredentials, ValidateFuture, ValidatedPurchase, ValidatedSubscription,
};
pub use samsung::{Samsung, SamsungSettings};

use crate::clock::WallClock;
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use crate::http_client::HttpClient;
use aether_store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;
use stored::{Listing, PageCursor};
use uuid::Uuid;

/// Maximum entries per page of purchases.
pub const PURCHASE_LIST_MAX: i32 = 100;
/// Maximum entries per page of subscriptions.
pub const SUBSCRIPTION_LIST_MAX: i32 = 1_000;

/// Settings of the shops that sell the game.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Apple's App Store.
    pub apple: Option<AppleSettings>,
    /// Google Play.
    pub google: Option<GoogleSettings>,
    /// Huawei's AppGallery.
    pub huawei: Option<HuaweiSettings>,
    /// Facebook Instant Games.
    pub facebook_instant: Option<FacebookInstantSettings>,
    /// Samsung's Galaxy Store.
    pub samsung: Option<SamsungSettings>,
}

/// Purchases and subscriptions of all users.
#[derive(Clone)]
pub struct Purchases {
    store: Store,
    clock: Arc<dyn WallClock>,
    providers: BTreeMap<Shop, Arc<dyn PurchaseProvider>>,
}

/// Purchase of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purchase {
    /// User, or the nil id if the account was erased.
    pub user: Uuid,
    /// Shop of the purchase.
    pub shop: Shop,
    /// Data validated by the shop.
    pub bought: ValidatedPurchase,
    /// Times of storing, if it was stored.
    pub times: Option<Times>,
    /// True if it was validated before.
    pub seen_before: bool,
}

/// Subscription of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// User, or the nil id if the account was erased.
    pub user: Uuid,
    /// Shop of the purchase.
    pub shop: Shop,
    /// Data validated by the shop.
    pub subscribed: ValidatedSubscription,
    /// Times of storing, if it was stored.
    pub times: Option<Times>,
    /// True if it is neither expired nor refunded.
    pub is_active: bool,
}

/// Times of storing, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Time of the first write.
    pub created_at: i64,
    /// Time of the last update.
    pub updated_at: i64,
}

/// Page of a list, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Entries.
    pub entries: Vec<T>,
    /// Cursor of the next page. Empty on the last page.
    pub cursor: String,
    /// Cursor of the previous page. Empty on the first page.
    pub prev_cursor: String,
}

impl Purchases {
    /// Creates the service over a store, without shops.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Purchases {
        Purchases { store, clock, providers: BTreeMap::new() }
    }

    /// Creates the service with the configured shops. Fails if one of their keys cannot be read.
    pub fn open(
        store: Store,
        clock: Arc<dyn WallClock>,
        http_client: &HttpClient,
        settings: Settings,
    ) -> Result<Purchases, ServiceError> {
        let mut purchases = Purchases::new(store, Arc::clone(&clock));
        if let Some(apple) = settings.apple {
            purchases = purchases.with_provider(Apple::new(apple, http_client.clone(), Arc::clone(&clock)));
        }
        if let Some(google) = settings.google {
            purchases = purchases.with_provider(Google::new(google, http_client.clone(), Arc::clone(&clock))?);
        }
        if let Some(huawei) = settings.huawei {
            purchases = purchases.with_provider(Huawei::new(huawei, http_client.clone(), Arc::clone(&clock))?);
        }
        if let Some(facebook) = settings.facebook_instant {
            purchases = purchases.with_provider(FacebookInstant::new(&facebook)?);
        }
        if let Some(samsung) = settings.samsung {
            purchases = purchases.with_provider(Samsung::new(samsung, http_client.clone(), clock));
        }
        Ok(purchases)
    }

    /// Adds a shop. It replaces an earlier provider of the same shop.
    #[must_use]
    pub fn with_provider(mut self, provider: impl PurchaseProvider) -> Purchases {
        self.providers.insert(provider.shop(), Arc::new(provider));
        self
    }

    /// Returns the service with other credentials of one shop.
    pub fn with_credentials(&self, shop: Shop, credentials: &ShopCredentials) -> Result<Purchases, ServiceError> {
        let mut purchases = self.clone();
        if let Some(provider) = self.providers.get(&shop).filter(|_| !credentials.is_empty()) {
            purchases.providers.insert(shop, provider.with_credentials(credentials)?);
        }
        Ok(purchases)
    }

    /// Validates a receipt. With `persist`, the purchases are stored for the user and cannot be claimed by another.
    pub async fn validate(
        &self,
        user: Uuid,
        shop: Shop,
        receipt: Receipt,
        persist: bool,
    ) -> Result<Vec<Purchase>, ServiceError> {
        let bought = self.provider(shop, &receipt)?.purchases(&receipt).await?;
        let bought = bought.into_iter().map(ValidatedPurchase::check).collect::<Result<Vec<_>, _>>()?;
        if !persist {
            let purchase = |bought| Purchase { user, shop, bought, times: None, seen_before: false };
            return Ok(bought.into_iter().map(purchase).collect());
        }
        let now = self.clock.now_ms();
        let mut order: Vec<usize> = (0..bought.len()).collect();
        // All transactions write in the same order, so that they cannot deadlock.
        order.sort_by(|&one, &other| bought[one].transaction_id.cmp(&bought[other].transaction_id));
        self.store
            .write(move |transaction| {
                stored::check_user(transaction, user)?;
                let stored = order
                    .iter()
                    .map(|&index| Ok((index, stored::write_purchase(transaction, user, shop, &bought[index], now)?)));
                let mut purchases = stored.collect::<Result<Vec<_>, ServiceError>>()?;
                purchases.sort_by_key(|(index, _)| *index);
                Ok(purchases.into_iter().map(|(_, purchase)| purchase).collect())
            })
            .await
    }

    /// Validates the receipt of a subscription. With `persist`, it is stored for the user.
    pub async fn validate_subscription(
        &self,
        user: Uuid,
        shop: Shop,
        receipt: Receipt,
        persist: bool,
    ) -> Result<Subscription, ServiceError> {
        let subscribed = self.provider(shop, &receipt)?.subscription(&receipt).await?.check()?;
        let now = self.clock.now_ms();
        if !persist {
            return Ok(Subscription::new(user, shop, subscribed, None, now));
        }
        self.store
            .write(move |transaction| {
                stored::check_user(transaction, user)?;
                stored::write_subscription(transaction, user, shop, &subscribed, now)
            })
            .await
    }

    /// Returns a stored purchase by the shop's transaction id.
    pub async fn purchase(&self, transaction_id: &str) -> Result<Purchase, ServiceError> {
        let transaction_id = checked_id(transaction_id)?;
        let found = self.store.read(move |transaction| stored::find(transaction, &transaction_id)).await?;
        found.ok_or(ServiceError::new(GrpcCode::NotFound, "Purchase not found."))
    }

    /// Lists the purchases of a user, newest first.
    pub async fn purchases(&self, user: Uuid, limit: i32, cursor: &str) -> Result<Page<Purchase>, ServiceError> {
        let listing = Listing::check(user, limit, PURCHASE_LIST_MAX, cursor)?;
        self.store
            .read(move |transaction| {
                let entries = listing.purchases(transaction)?;
                Ok(listing.page(entries, |one| PageCursor {
                    purchased_at: one.bought.purchased_at,
                    transaction_id: one.bought.transaction_id.clone(),
                    store: one.shop.number(),
                    is_backward: false,
                }))
            })
            .await
    }

    /// Returns a user's subscription to a product.
    pub async fn subscription(&self, user: Uuid, product_id: &str) -> Result<Subscription, ServiceError> {
        let (product_id, now) = (checked_id(product_id)?, self.clock.now_ms());
        let found = self.store.read(move |transaction| stored::find_subscription(transaction, user, &product_id, now));
        found.await?.ok_or(ServiceError::new(GrpcCode::NotFound, "Subscription not found."))
    }

    /// Lists the subscriptions of a user, newest first.
    pub async fn subscriptions(
        &self,
        user: Uuid,
        limit: i32,
        cursor: &str,
    ) -> Result<Page<Subscription>, ServiceError> {
        let listing = Listing::check(user, limit, SUBSCRIPTION_LIST_MAX, cursor)?;
        let now = self.clock.now_ms();
        self.store
            .read(move |transaction| {
                let entries = listing.subscriptions(transaction, now)?;
                Ok(listing.page(entries, |one| PageCursor {
                    purchased_at: one.subscribed.purchased_at,
                    transaction_id: one.subscribed.original_transaction_id.clone(),
                    store: one.shop.number(),
                    is_backward: false,
                }))
            })
            .await
    }

    /// Returns the provider of a shop, and checks the size of a receipt.
    fn provider(&self, shop: Shop, receipt: &Receipt) -> Result<&Arc<dyn PurchaseProvider>, ServiceError> {
        if receipt.text.is_empty() {
            return Err(ServiceError::invalid("A receipt is required."));
        }
        if receipt.text.len().max(receipt.signature.len()) > RECEIPT_BYTES_MAX {
            return Err(ServiceError::invalid(format!("A receipt must have at most {RECEIPT_BYTES_MAX} bytes.")));
        }
        self.providers.get(&shop).ok_or_else(|| {
            let message = format!("Purchases from {} are not configured on this server.", shop.name());
            ServiceError::with(GrpcCode::FailedPrecondition, message)
        })
    }
}

impl Subscription {
    fn new(user: Uuid, shop: Shop, subscribed: ValidatedSubscription, times: Option<Times>, now: i64) -> Subscription {
        let is_active = subscribed.expires_at > now && subscribed.refunded_at.is_none();
        Subscription { user, shop, subscribed, times, is_active }
    }
}

impl Listing {
    fn check(user: Uuid, limit: i32, limit_max: i32, cursor: &str) -> Result<Listing, ServiceError> {
        if !(1..=limit_max).contains(&limit) {
            return Err(ServiceError::invalid(format!("Limit must be between 1 and {limit_max}.")));
        }
        let from: Option<PageCursor> = cursor::decode(cursor)?;
        if from.as_ref().is_some_and(|from| from.transaction_id.contains('\0')) {
            return Err(ServiceError::invalid("Cursor is invalid or expired."));
        }
        Ok(Listing { user, limit, is_first: from.is_none(), from: from.unwrap_or_else(PageCursor::first) })
    }

    /// Builds a page with the cursors of its neighbors.
    fn page<T>(&self, mut entries: Vec<T>, cursor_of: impl Fn(&T) -> PageCursor) -> Page<T> {
        let limit = usize::try_from(self.limit).unwrap_or(0);
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let is_backward = self.from.is_backward;
        if is_backward {
            entries.reverse();
        }
        // The page that the cursor came from exists.
        let (has_next, has_prev) = if is_backward { (true, has_more) } else { (has_more, !self.is_first) };
        let next = entries.last().filter(|_| has_next).map(|last| cursor::encode(&cursor_of(last)));
        let prev = entries.first().filter(|_| has_prev);
        let prev = prev.map(|first| cursor::encode(&PageCursor { is_backward: true, ..cursor_of(first) }));
        Page { entries, cursor: next.unwrap_or_default(), prev_cursor: prev.unwrap_or_default() }
    }
}

/// Validates an id of a shop.
fn checked_id(id: &str) -> Result<String, ServiceError> {
    let fits = (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains('\0');
    if fits {
        Ok(id.to_owned())
    } else {
        Err(ServiceError::invalid(format!("An id must have 1 to {ID_BYTES_MAX} bytes.")))
    }
}
