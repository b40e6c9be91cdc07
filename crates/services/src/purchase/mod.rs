//! Purchases: receipts of shops, checked with the shop and kept, so that none counts twice.
//!
//! A shop is a [`PurchaseProvider`]; those that clients know are here, with the questions they are really asked. What a
//! player gets for a purchase is up to the game: it looks at [`Purchase::seen_before`].

mod apple;
mod facebook_instant;
mod google;
mod huawei;
mod provider;
mod remote;
pub(crate) mod serve;
mod stored;

pub use crate::facebook::FacebookInstantSettings;
pub use apple::{Apple, AppleSettings};
pub use facebook_instant::FacebookInstant;
pub use google::{Google, GoogleSettings};
pub use huawei::{Huawei, HuaweiSettings};
pub use provider::{
    Environment, ID_BYTES_MAX, PURCHASES_MAX, PurchaseProvider, RECEIPT_BYTES_MAX, RESPONSE_BYTES_MAX, Receipt, Shop,
    ValidateFuture, ValidatedPurchase, ValidatedSubscription,
};

use crate::clock::WallClock;
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use crate::http_client::HttpClient;
use aether_store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;
use stored::{Listing, PageCursor};
use uuid::Uuid;

/// Entries of one page of purchases.
pub const PURCHASE_LIST_MAX: i32 = 100;
/// Entries of one page of subscriptions.
pub const SUBSCRIPTION_LIST_MAX: i32 = 1_000;

/// In which shops a game is sold.
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
}

/// The purchases of a server.
#[derive(Clone)]
pub struct Purchases {
    store: Store,
    clock: Arc<dyn WallClock>,
    providers: BTreeMap<Shop, Arc<dyn PurchaseProvider>>,
}

/// A purchase of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purchase {
    /// Whose it is; the id of zeros if their account was erased.
    pub user: Uuid,
    /// Where it was bought.
    pub shop: Shop,
    /// What was bought.
    pub bought: ValidatedPurchase,
    /// When it was kept, if it was.
    pub times: Option<Times>,
    /// Whether it was validated before.
    pub seen_before: bool,
}

/// A subscription of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Whose it is; the id of zeros if their account was erased.
    pub user: Uuid,
    /// Where it was bought.
    pub shop: Shop,
    /// What was bought.
    pub subscribed: ValidatedSubscription,
    /// When it was kept, if it was.
    pub times: Option<Times>,
    /// Whether it is paid for now.
    pub is_active: bool,
}

/// When something was kept, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// When it was kept first.
    pub created_at: i64,
    /// When it was brought up to date.
    pub updated_at: i64,
}

/// A page of a list, the newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The entries.
    pub entries: Vec<T>,
    /// Where the list goes on; empty at its end.
    pub cursor: String,
    /// Where the page before it is; empty at the beginning.
    pub prev_cursor: String,
}

impl Purchases {
    /// Purchases over a store, from no shop yet.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Purchases {
        Purchases { store, clock, providers: BTreeMap::new() }
    }

    /// Purchases over a store, from the shops of these settings; refused if one of their keys cannot be read.
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
        Ok(purchases)
    }

    /// Takes receipts of a shop too. One of the same shop takes the place of an earlier one.
    #[must_use]
    pub fn with_provider(mut self, provider: impl PurchaseProvider) -> Purchases {
        self.providers.insert(provider.shop(), Arc::new(provider));
        self
    }

    /// Has a receipt checked. What was bought is kept for the user, if `persist` is set; then it counts for nobody else.
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
        // In the same order whoever sends the receipt, so that two who do at once do not wait for each other.
        order.sort_by(|&one, &other| bought[one].transaction_id.cmp(&bought[other].transaction_id));
        self.store
            .write(move |transaction| {
                stored::check_user(transaction, user)?;
                let keep =
                    order.iter().map(|&index| Ok((index, stored::keep(transaction, user, shop, &bought[index], now)?)));
                let mut purchases = keep.collect::<Result<Vec<_>, ServiceError>>()?;
                purchases.sort_by_key(|(index, _)| *index);
                Ok(purchases.into_iter().map(|(_, purchase)| purchase).collect())
            })
            .await
    }

    /// Has a receipt of a subscription checked. It is kept for the user, if `persist` is set.
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
                stored::keep_subscription(transaction, user, shop, &subscribed, now)
            })
            .await
    }

    /// A purchase that was kept, by the shop's id of it.
    pub async fn purchase(&self, transaction_id: &str) -> Result<Purchase, ServiceError> {
        let transaction_id = checked(transaction_id)?;
        let found = self.store.read(move |transaction| stored::find(transaction, &transaction_id)).await?;
        found.ok_or(ServiceError::new(GrpcCode::NotFound, "Purchase not found."))
    }

    /// The purchases of a user, the newest first.
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

    /// A user's subscription to a product.
    pub async fn subscription(&self, user: Uuid, product_id: &str) -> Result<Subscription, ServiceError> {
        let (product_id, now) = (checked(product_id)?, self.clock.now_ms());
        let found = self.store.read(move |transaction| stored::find_subscription(transaction, user, &product_id, now));
        found.await?.ok_or(ServiceError::new(GrpcCode::NotFound, "Subscription not found."))
    }

    /// The subscriptions of a user, the newest first.
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

    /// The shop that is asked about a receipt.
    fn provider(&self, shop: Shop, receipt: &Receipt) -> Result<&Arc<dyn PurchaseProvider>, ServiceError> {
        if receipt.text.is_empty() {
            return Err(ServiceError::invalid("A receipt is required."));
        }
        if receipt.text.len().max(receipt.signature.len()) > RECEIPT_BYTES_MAX {
            return Err(ServiceError::invalid(format!("A receipt must have at most {RECEIPT_BYTES_MAX} bytes.")));
        }
        self.providers.get(&shop).ok_or_else(|| {
            let sentence = format!("Purchases from {} are not configured on this server.", shop.name());
            ServiceError::with(GrpcCode::FailedPrecondition, sentence)
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

    /// A page of what was found, with the places of its neighbours.
    fn page<T>(&self, mut entries: Vec<T>, place: impl Fn(&T) -> PageCursor) -> Page<T> {
        let limit = usize::try_from(self.limit).unwrap_or(0);
        let goes_on = entries.len() > limit;
        entries.truncate(limit);
        let is_backward = self.from.is_backward;
        if is_backward {
            entries.reverse();
        }
        // Whoever came from one side knows that there is something on it.
        let (has_next, has_prev) = if is_backward { (true, goes_on) } else { (goes_on, !self.is_first) };
        let next = entries.last().filter(|_| has_next).map(|last| cursor::encode(&place(last)));
        let prev = entries.first().filter(|_| has_prev);
        let prev = prev.map(|first| cursor::encode(&PageCursor { is_backward: true, ..place(first) }));
        Page { entries, cursor: next.unwrap_or_default(), prev_cursor: prev.unwrap_or_default() }
    }
}

/// An id of a shop that someone asks for.
fn checked(id: &str) -> Result<String, ServiceError> {
    let fits = (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains('\0');
    if fits {
        Ok(id.to_owned())
    } else {
        Err(ServiceError::invalid(format!("An id must have 1 to {ID_BYTES_MAX} bytes.")))
    }
}
