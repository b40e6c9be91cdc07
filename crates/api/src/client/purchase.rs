//! Purchases and subscriptions.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{
    GetSubscription, ListSubscriptions, ValidatePurchaseApple, ValidatePurchaseFacebookInstant, ValidatePurchaseGoogle,
    ValidatePurchaseHuawei, ValidateSubscriptionApple, ValidateSubscriptionGoogle,
};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
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
