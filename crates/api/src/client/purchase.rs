//! Purchases and subscriptions.

use super::{Call, Desk, Preset, Routes, Serve};
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
use aether_services::Refusal;
use aether_services::purchase::{Purchase, Receipt, Shop, Subscription};
use http::Method;

/// Subscriptions of a page for which no limit is set.
const LIST_DEFAULT: i32 = 100;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .body::<ValidatePurchaseApple>(Method::POST, "/v2/iap/purchase/apple")
        .body::<ValidatePurchaseFacebookInstant>(Method::POST, "/v2/iap/purchase/facebookinstant")
        .body::<ValidatePurchaseGoogle>(Method::POST, "/v2/iap/purchase/google")
        .body::<ValidatePurchaseHuawei>(Method::POST, "/v2/iap/purchase/huawei")
        .body::<ListSubscriptions>(Method::POST, "/v2/iap/subscription")
        .body::<ValidateSubscriptionApple>(Method::POST, "/v2/iap/subscription/apple")
        .body::<ValidateSubscriptionGoogle>(Method::POST, "/v2/iap/subscription/google")
        .address::<GetSubscription>(Method::GET, "/v2/iap/subscription/{product_id}")
}

impl Serve for ValidatePurchaseApple {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(
        desk: &Desk,
        call: &Call,
        request: ValidatePurchaseAppleRequest,
    ) -> Result<ValidatePurchaseResponse, Refusal> {
        validate(desk, call, Shop::Apple, receipt(request.receipt), request.persist).await
    }
}

impl Serve for ValidatePurchaseFacebookInstant {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(
        desk: &Desk,
        call: &Call,
        request: ValidatePurchaseFacebookInstantRequest,
    ) -> Result<ValidatePurchaseResponse, Refusal> {
        validate(desk, call, Shop::FacebookInstant, receipt(request.signed_request), request.persist).await
    }
}

impl Serve for ValidatePurchaseGoogle {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(
        desk: &Desk,
        call: &Call,
        request: ValidatePurchaseGoogleRequest,
    ) -> Result<ValidatePurchaseResponse, Refusal> {
        validate(desk, call, Shop::Google, receipt(request.purchase), request.persist).await
    }
}

impl Serve for ValidatePurchaseHuawei {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(
        desk: &Desk,
        call: &Call,
        request: ValidatePurchaseHuaweiRequest,
    ) -> Result<ValidatePurchaseResponse, Refusal> {
        let ValidatePurchaseHuaweiRequest { purchase, signature, persist } = request;
        validate(desk, call, Shop::Huawei, Receipt { text: purchase, signature }, persist).await
    }
}

impl Serve for ValidateSubscriptionApple {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(
        desk: &Desk,
        call: &Call,
        request: ValidateSubscriptionAppleRequest,
    ) -> Result<ValidateSubscriptionResponse, Refusal> {
        validate_subscription(desk, call, Shop::Apple, request.receipt, request.persist).await
    }
}

impl Serve for ValidateSubscriptionGoogle {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(
        desk: &Desk,
        call: &Call,
        request: ValidateSubscriptionGoogleRequest,
    ) -> Result<ValidateSubscriptionResponse, Refusal> {
        validate_subscription(desk, call, Shop::Google, request.receipt, request.persist).await
    }
}

impl Serve for GetSubscription {
    const PRESET: Preset = Preset::Read;

    async fn serve(
        desk: &Desk,
        call: &Call,
        request: GetSubscriptionRequest,
    ) -> Result<ValidatedSubscription, Refusal> {
        let user = call.identity()?.user;
        desk.services().purchases.subscription(user, &request.product_id).await.map(subscription)
    }
}

impl Serve for ListSubscriptions {
    const PRESET: Preset = Preset::Read;

    async fn serve(desk: &Desk, call: &Call, request: ListSubscriptionsRequest) -> Result<SubscriptionList, Refusal> {
        let (user, limit) = (call.identity()?.user, request.limit.unwrap_or(LIST_DEFAULT));
        let page = desk.services().purchases.subscriptions(user, limit, &request.cursor).await?;
        Ok(SubscriptionList {
            validated_subscriptions: page.entries.into_iter().map(subscription).collect(),
            cursor: page.cursor,
            prev_cursor: page.prev_cursor,
        })
    }
}

/// Has a receipt checked, and what was bought kept unless the client says otherwise.
async fn validate(
    desk: &Desk,
    call: &Call,
    shop: Shop,
    receipt: Receipt,
    persist: Option<bool>,
) -> Result<ValidatePurchaseResponse, Refusal> {
    let user = call.identity()?.user;
    let purchases = desk.services().purchases.validate(user, shop, receipt, persist.unwrap_or(true)).await?;
    Ok(ValidatePurchaseResponse { validated_purchases: purchases.into_iter().map(purchase).collect() })
}

async fn validate_subscription(
    desk: &Desk,
    call: &Call,
    shop: Shop,
    text: String,
    persist: Option<bool>,
) -> Result<ValidateSubscriptionResponse, Refusal> {
    let (user, persist) = (call.identity()?.user, persist.unwrap_or(true));
    let validated = desk.services().purchases.validate_subscription(user, shop, receipt(text), persist).await?;
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
