//! Purchases and subscriptions in the database.

use super::provider::{Environment, Shop, ValidatedPurchase, ValidatedSubscription};
use super::{Purchase, Subscription, Times};
use crate::account::for_presence;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{SqlRow, StoreError, Transaction, values};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

const OTHER_ACCOUNT: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The receipt was used by another account.");
const NO_USER: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Position of the last entry of a page, or of the first if the list is read backward. Lists begin with the newest.
#[derive(Serialize, Deserialize)]
pub(super) struct PageCursor {
    pub purchased_at: i64,
    pub transaction_id: String,
    pub store: i64,
    /// True for the entries before it, false for those after it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_backward: bool,
}

/// Request for a page of a user's list.
pub(super) struct Listing {
    pub user: Uuid,
    /// Entries per page.
    pub limit: i32,
    /// True for the first page.
    pub is_first: bool,
    pub from: PageCursor,
}

impl PageCursor {
    /// Returns the position before the newest entry.
    pub fn first() -> PageCursor {
        PageCursor { purchased_at: i64::MAX, transaction_id: String::new(), store: 0, is_backward: false }
    }
}

/// Rejects a missing user. Locks an existing one, so that it cannot be erased before the purchase is stored.
pub(super) fn check_user(transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), ServiceError> {
    let select = format!("SELECT 1 FROM users WHERE id = ?1{}", for_presence(transaction.dialect()));
    transaction.row(&select, values![user], |_| Ok(()))?.ok_or(NO_USER)
}

/// Stores a purchase. A known one is updated, or rejected if it belongs to another user.
pub(super) fn write_purchase(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    shop: Shop,
    bought: &ValidatedPurchase,
    now: i64,
) -> Result<Purchase, ServiceError> {
    let (store, environment, refunded_at) =
        (shop.number(), bought.environment.number(), bought.refunded_at.unwrap_or(0));
    let ValidatedPurchase { product_id, transaction_id, purchased_at, response, .. } = bought;
    let new = transaction.row(
        INSERT,
        values![store, transaction_id, user, product_id, environment, *purchased_at, refunded_at, response, now],
        |row| row.get::<i64>(0),
    )?;
    let created_at = match new {
        Some(created_at) => created_at,
        None => {
            let parameters = values![store, transaction_id, user, refunded_at, response, now];
            transaction.row(UPDATE, parameters, |row| row.get::<i64>(0))?.ok_or(OTHER_ACCOUNT)?
        }
    };
    let times = Some(Times { created_at, updated_at: now });
    Ok(Purchase { user, shop, bought: bought.clone(), times, seen_before: new.is_none() })
}

/// Stores or updates a subscription. It is rejected if it belongs to another user.
pub(super) fn write_subscription(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    shop: Shop,
    subscribed: &ValidatedSubscription,
    now: i64,
) -> Result<Subscription, ServiceError> {
    let ValidatedSubscription { product_id, original_transaction_id, purchased_at, expires_at, response, .. } =
        subscribed;
    let (environment, refunded_at) = (subscribed.environment.number(), subscribed.refunded_at.unwrap_or(0));
    let parameters = values![
        shop.number(),
        original_transaction_id,
        user,
        product_id,
        environment,
        *purchased_at,
        *expires_at,
        refunded_at,
        response,
        now
    ];
    let created_at = transaction.row(UPSERT_SUBSCRIPTION, parameters, |row| row.get::<i64>(0))?.ok_or(OTHER_ACCOUNT)?;
    let times = Some(Times { created_at, updated_at: now });
    Ok(Subscription::new(user, shop, subscribed.clone(), times, now))
}

/// Finds a purchase by its transaction id, in any shop.
pub(super) fn find(transaction: &mut Transaction<'_>, transaction_id: &str) -> Result<Option<Purchase>, ServiceError> {
    Ok(transaction.row(FIND, values![transaction_id], purchase)?)
}

/// Finds a user's subscription to a product: of several, the one that expires last.
pub(super) fn find_subscription(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    product_id: &str,
    now: i64,
) -> Result<Option<Subscription>, ServiceError> {
    Ok(transaction.row(FIND_SUBSCRIPTION, values![user, product_id], |row| subscription(row, now))?)
}

impl Listing {
    /// Reads one entry more than the limit, which tells if there is another page. Entries read backward come in that
    /// order.
    pub fn purchases(&self, transaction: &mut Transaction<'_>) -> Result<Vec<Purchase>, ServiceError> {
        let PageCursor { purchased_at, transaction_id, store, is_backward } = &self.from;
        let parameters = values![self.user, *purchased_at, transaction_id, *store, i64::from(self.limit) + 1];
        let statement = if *is_backward { LIST_BACKWARD } else { LIST };
        Ok(transaction.rows(statement, parameters, purchase)?)
    }

    pub fn subscriptions(
        &self,
        transaction: &mut Transaction<'_>,
        now: i64,
    ) -> Result<Vec<Subscription>, ServiceError> {
        let PageCursor { purchased_at, transaction_id, store, is_backward } = &self.from;
        let parameters = values![self.user, *purchased_at, transaction_id, *store, i64::from(self.limit) + 1];
        let statement = if *is_backward { LIST_SUBSCRIPTIONS_BACKWARD } else { LIST_SUBSCRIPTIONS };
        Ok(transaction.rows(statement, parameters, |row| subscription(row, now))?)
    }
}

fn purchase(row: &SqlRow<'_>) -> Result<Purchase, StoreError> {
    let bought = ValidatedPurchase {
        product_id: row.get(3)?,
        transaction_id: row.get(1)?,
        purchased_at: row.get(5)?,
        refunded_at: Some(row.get::<i64>(6)?).filter(|refunded_at| *refunded_at > 0),
        environment: Environment::from_number(row.get(4)?),
        response: row.get(7)?,
    };
    let times = Some(Times { created_at: row.get(8)?, updated_at: row.get(9)? });
    Ok(Purchase { user: row.get(2)?, shop: shop(row)?, bought, times, seen_before: true })
}

fn subscription(row: &SqlRow<'_>, now: i64) -> Result<Subscription, StoreError> {
    let subscribed = ValidatedSubscription {
        product_id: row.get(3)?,
        original_transaction_id: row.get(1)?,
        purchased_at: row.get(5)?,
        refunded_at: Some(row.get::<i64>(6)?).filter(|refunded_at| *refunded_at > 0),
        environment: Environment::from_number(row.get(4)?),
        response: row.get(7)?,
        expires_at: row.get(10)?,
    };
    let times = Some(Times { created_at: row.get(8)?, updated_at: row.get(9)? });
    Ok(Subscription::new(row.get(2)?, shop(row)?, subscribed, times, now))
}

fn shop(row: &SqlRow<'_>) -> Result<Shop, StoreError> {
    let number = row.get(0)?;
    Shop::from_number(number).ok_or_else(|| StoreError::Failed(format!("unknown shop number {number}")))
}

const INSERT: &str = "INSERT INTO purchases
        (store, transaction_id, user_id, product_id, environment, purchased_at, refunded_at, response,
         created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)
    ON CONFLICT (store, transaction_id) DO NOTHING
    RETURNING created_at";

const UPDATE: &str = "UPDATE purchases SET refunded_at = ?4, response = ?5, updated_at = ?6
    WHERE store = ?1 AND transaction_id = ?2 AND user_id = ?3
    RETURNING created_at";

const UPSERT_SUBSCRIPTION: &str = "INSERT INTO subscriptions
        (store, original_transaction_id, user_id, product_id, environment, purchased_at, expires_at, refunded_at,
         response, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
    ON CONFLICT (store, original_transaction_id) DO UPDATE SET
        product_id = excluded.product_id, environment = excluded.environment, purchased_at = excluded.purchased_at,
        expires_at = excluded.expires_at, refunded_at = excluded.refunded_at, response = excluded.response,
        updated_at = excluded.updated_at
    WHERE subscriptions.user_id = excluded.user_id
    RETURNING created_at";

const FIND: &str = "SELECT store, transaction_id, user_id, product_id, environment, purchased_at, refunded_at,
        response, created_at, updated_at
    FROM purchases WHERE store IN (0, 1, 2, 3) AND transaction_id = ?1
    ORDER BY store DESC";

const FIND_SUBSCRIPTION: &str = "SELECT store, original_transaction_id, user_id, product_id, environment,
        purchased_at, refunded_at, response, created_at, updated_at, expires_at
    FROM subscriptions WHERE user_id = ?1 AND product_id = ?2
    ORDER BY expires_at DESC LIMIT 1";

/// List statement: columns, table, id column, comparison and order.
macro_rules! list {
    ($columns:literal, $table:literal, $id:literal, $compared:literal, $order:literal) => {
        concat!(
            "SELECT store, ",
            $id,
            ", user_id, product_id, environment, purchased_at, refunded_at, response, \
             created_at, updated_at",
            $columns,
            " FROM ",
            $table,
            " WHERE user_id = ?1 AND (purchased_at, ",
            $id,
            ", store) ",
            $compared,
            " (?2, ?3, ?4) \
             ORDER BY purchased_at ",
            $order,
            ", ",
            $id,
            " ",
            $order,
            ", store ",
            $order,
            " LIMIT ?5"
        )
    };
}

const LIST: &str = list!("", "purchases", "transaction_id", "<", "DESC");
const LIST_BACKWARD: &str = list!("", "purchases", "transaction_id", ">", "ASC");
const LIST_SUBSCRIPTIONS: &str = list!(", expires_at", "subscriptions", "original_transaction_id", "<", "DESC");
const LIST_SUBSCRIPTIONS_BACKWARD: &str = list!(", expires_at", "subscriptions", "original_transaction_id", ">", "ASC");
