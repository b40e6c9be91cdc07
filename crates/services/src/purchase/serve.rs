//! Handlers of the purchase and subscription operations.

use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use crate::purchase::{Purchase, Receipt, Shop, Subscription};
use aether_messages::api::{
    GetSubscriptionRequest, ListSubscriptionsRequest, SubscriptionList, ValidatePurchaseAppleRequest,
    ValidatePurchaseFacebookInstantRequest, ValidatePurchaseGoogleRequest, ValidatePurchaseHuaweiRequest,
    ValidatePurchaseResponse, ValidateSubscriptionAppleRequest, ValidateSubscriptionGoogleRequest,
    ValidateSubscriptionResponse, ValidatedPurchase, ValidatedSubscription,
};
use aether_messages::operation::{
    GetSubscription, ListSubscriptions, ValidatePurchaseApple, ValidatePurchaseFacebookInstant, ValidatePurchaseGoogle,
    ValidatePurchaseHuawei, ValidateSubscriptionApple, ValidateSubscriptionGoogle,
};
use aether_messages::timestamp;

/// Entries per page if the request sets no limit.
const LIST_DEFAULT: i32 = 100;
/// Bytes of a subscription, about: with the answer of its shop and a notification.
const SUBSCRIPTION_BYTES: usize = 8_192;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ValidatePurchaseApple>()
        .with::<ValidatePurchaseFacebookInstant>()
        .with::<ValidatePurchaseGoogle>()
        .with::<ValidatePurchaseHuawei>()
        .with::<ListSubscriptions>()
        .with::<ValidateSubscriptionApple>()
        .with::<ValidateSubscriptionGoogle>()
        .with::<GetSubscription>()
}

impl Serve for ValidatePurchaseApple {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(
        call: &Call<'_>,
        request: ValidatePurchaseAppleRequest,
    ) -> Result<ValidatePurchaseResponse, ServiceError> {
        validate(call, Shop::Apple, receipt(request.receipt), request.persist).await
    }
}

impl Serve for ValidatePurchaseFacebookInstant {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(
        call: &Call<'_>,
        request: ValidatePurchaseFacebookInstantRequest,
    ) -> Result<ValidatePurchaseResponse, ServiceError> {
        validate(call, Shop::FacebookInstant, receipt(request.signed_request), request.persist).await
    }
}

impl Serve for ValidatePurchaseGoogle {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(
        call: &Call<'_>,
        request: ValidatePurchaseGoogleRequest,
    ) -> Result<ValidatePurchaseResponse, ServiceError> {
        validate(call, Shop::Google, receipt(request.purchase), request.persist).await
    }
}

impl Serve for ValidatePurchaseHuawei {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(
        call: &Call<'_>,
        request: ValidatePurchaseHuaweiRequest,
    ) -> Result<ValidatePurchaseResponse, ServiceError> {
        let ValidatePurchaseHuaweiRequest { purchase, signature, persist } = request;
        validate(call, Shop::Huawei, Receipt { text: purchase, signature }, persist).await
    }
}

impl Serve for ValidateSubscriptionApple {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(
        call: &Call<'_>,
        request: ValidateSubscriptionAppleRequest,
    ) -> Result<ValidateSubscriptionResponse, ServiceError> {
        validate_subscription(call, Shop::Apple, request.receipt, request.persist).await
    }
}

impl Serve for ValidateSubscriptionGoogle {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(
        call: &Call<'_>,
        request: ValidateSubscriptionGoogleRequest,
    ) -> Result<ValidateSubscriptionResponse, ServiceError> {
        validate_subscription(call, Shop::Google, request.receipt, request.persist).await
    }
}

impl Serve for GetSubscription {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: GetSubscriptionRequest) -> Result<ValidatedSubscription, ServiceError> {
        let user = call.identity()?.user;
        call.services.purchases.subscription(user, &request.product_id).await.map(subscription)
    }
}

impl Serve for ListSubscriptions {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListSubscriptionsRequest) -> u32 {
        let listed = usize::try_from(request.limit.unwrap_or(LIST_DEFAULT)).unwrap_or(0);
        answer_blocks(listed, SUBSCRIPTION_BYTES)
    }

    async fn serve(call: &Call<'_>, request: ListSubscriptionsRequest) -> Result<SubscriptionList, ServiceError> {
        let (user, limit) = (call.identity()?.user, request.limit.unwrap_or(LIST_DEFAULT));
        let page = call.services.purchases.subscriptions(user, limit, &request.cursor).await?;
        Ok(SubscriptionList {
            validated_subscriptions: page.entries.into_iter().map(subscription).collect(),
            cursor: page.cursor,
            prev_cursor: page.prev_cursor,
        })
    }
}

/// Validates a receipt, and stores the purchases unless the client declines.
async fn validate(
    call: &Call<'_>,
    shop: Shop,
    receipt: Receipt,
    persist: Option<bool>,
) -> Result<ValidatePurchaseResponse, ServiceError> {
    let user = call.identity()?.user;
    let purchases = call.services.purchases.validate(user, shop, receipt, persist.unwrap_or(true)).await?;
    Ok(ValidatePurchaseResponse { validated_purchases: purchases.into_iter().map(purchase).collect() })
}

async fn validate_subscription(
    call: &Call<'_>,
    shop: Shop,
    text: String,
    persist: Option<bool>,
) -> Result<ValidateSubscriptionResponse, ServiceError> {
    let (user, persist) = (call.identity()?.user, persist.unwrap_or(true));
    let validated = call.services.purchases.validate_subscription(user, shop, receipt(text), persist).await?;
    Ok(ValidateSubscriptionResponse { validated_subscription: Some(subscription(validated)) })
}

fn receipt(text: String) -> Receipt {
    Receipt { text, signature: String::new() }
}

fn purchase(purchase: Purchase) -> ValidatedPurchase {
    let Purchase { user, shop, bought, times, seen_before } = purchase;
    ValidatedPurchase {
        user_id: user.to_string(),
        product_id: bought.product_id,
        transaction_id: bought.transaction_id,
        store: shop as i32,
        purchase_time: Some(timestamp(bought.purchased_at)),
        create_time: times.map(|times| timestamp(times.created_at)),
        update_time: times.map(|times| timestamp(times.updated_at)),
        refund_time: bought.refunded_at.map(timestamp),
        provider_response: bought.response,
        environment: bought.environment as i32,
        seen_before,
    }
}

fn subscription(subscription: Subscription) -> ValidatedSubscription {
    let Subscription { user, shop, subscribed, times, is_active } = subscription;
    ValidatedSubscription {
        user_id: user.to_string(),
        product_id: subscribed.product_id,
        original_transaction_id: subscribed.original_transaction_id,
        store: shop as i32,
        purchase_time: Some(timestamp(subscribed.purchased_at)),
        create_time: times.map(|times| timestamp(times.created_at)),
        update_time: times.map(|times| timestamp(times.updated_at)),
        environment: subscribed.environment as i32,
        expiry_time: Some(timestamp(subscribed.expires_at)),
        refund_time: subscribed.refunded_at.map(timestamp),
        provider_response: subscribed.response,
        provider_notification: String::new(),
        active: is_active,
    }
}
