use crate::world::{NOW, World};
use aether_services::purchase::{
    Environment, PurchaseProvider, Receipt, Shop, ValidateFuture, ValidatedPurchase, ValidatedSubscription,
};
use http::Method;
use serde_json::json;

/// A shop whose receipts contain the purchase.
struct Market(Shop);

impl PurchaseProvider for Market {
    fn shop(&self) -> Shop {
        self.0
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        let bought = ValidatedPurchase {
            product_id: "gems".to_owned(),
            transaction_id: format!("{}{}", receipt.text, receipt.signature),
            purchased_at: NOW,
            refunded_at: None,
            environment: Environment::Production,
            response: r#"{"a":1}"#.to_owned(),
        };
        Box::pin(async { Ok(vec![bought]) })
    }

    fn subscription<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, ValidatedSubscription> {
        let subscribed = ValidatedSubscription {
            product_id: "vip".to_owned(),
            original_transaction_id: receipt.text.clone(),
            purchased_at: NOW,
            expires_at: NOW + 1_000,
            refunded_at: None,
            environment: Environment::Sandbox,
            response: "{}".to_owned(),
        };
        Box::pin(async { Ok(subscribed) })
    }
}

async fn world() -> World {
    World::new(|services| {
        for shop in Shop::ALL {
            services.purchases = services.purchases.clone().with_provider(Market(shop));
        }
    })
    .await
}

#[tokio::test]
async fn a_purchase_of_each_shop_is_validated_and_stored() {
    let world = world().await;
    let (ann, ben) = (world.player().await, world.player().await);
    let cases = [
        ("apple", r#"{"receipt":"r0"}"#, "r0", 0),
        ("google", r#"{"purchase":"r1"}"#, "r1", 1),
        ("huawei", r#"{"purchase":"r2","signature":"s"}"#, "r2s", 2),
        ("facebookinstant", r#"{"signed_request":"r3"}"#, "r3", 3),
    ];
    for (name, body, transaction, store) in cases {
        let path = format!("/v2/iap/purchase/{name}");
        let mut expected = json!({
            "user_id": ann.id, "product_id": "gems", "transaction_id": transaction, "store": store,
            "purchase_time": "2023-11-14T22:13:20Z", "create_time": "2023-11-14T22:13:20Z",
            "update_time": "2023-11-14T22:13:20Z", "provider_response": r#"{"a":1}"#, "environment": 2,
        });
        if store == 0 {
            expected.as_object_mut().expect("it is one").remove("store");
        }
        let first = world.ask(Some(&ann), Method::POST, &path, body).await;
        assert_eq!(first, (200, json!({ "validated_purchases": [expected.clone()] })), "{name}");
        expected["seen_before"] = json!(true);
        let second = world.ask(Some(&ann), Method::POST, &path, body).await;
        assert_eq!(second, (200, json!({ "validated_purchases": [expected] })), "{name}");
        let stolen = world.ask(Some(&ben), Method::POST, &path, body).await;
        assert_eq!((stolen.0, &stolen.1["code"]), (400, &json!(9)), "{name}");
        assert_eq!(world.ask(None, Method::POST, &path, body).await.0, 401);
        assert_eq!(world.ask(Some(&ann), Method::POST, &path, "{}").await.0, 400, "{name}");
    }
}

#[tokio::test]
async fn a_purchase_that_is_not_stored_can_be_validated_by_any_user() {
    let world = world().await;
    let (ann, ben) = (world.player().await, world.player().await);
    for player in [&ann, &ben, &ann] {
        let body = r#"{"receipt":"r","persist":false}"#;
        let (status, answer) = world.ask(Some(player), Method::POST, "/v2/iap/purchase/apple", body).await;
        assert_eq!((status, answer["validated_purchases"][0].get("create_time")), (200, None));
    }
}

#[tokio::test]
async fn subscriptions_are_validated_listed_and_found() {
    let world = world().await;
    let (ann, ben) = (world.player().await, world.player().await);
    for (name, receipt) in [("apple", "s1"), ("google", "s2")] {
        let path = format!("/v2/iap/subscription/{name}");
        let body = json!({ "receipt": receipt, "persist": true }).to_string();
        let (status, answer) = world.ask(Some(&ann), Method::POST, &path, &body).await;
        let subscription = &answer["validated_subscription"];
        assert_eq!((status, &subscription["original_transaction_id"]), (200, &json!(receipt)));
        assert_eq!(subscription["expiry_time"], "2023-11-14T22:13:21Z");
        assert_eq!((&subscription["active"], &subscription["environment"]), (&json!(true), &json!(1)));
    }
    let found = world.ask(Some(&ann), Method::GET, "/v2/iap/subscription/vip", "").await;
    assert_eq!((found.0, &found.1["product_id"]), (200, &json!("vip")));
    let missing = world.ask(Some(&ben), Method::GET, "/v2/iap/subscription/vip", "").await;
    assert_eq!((missing.0, &missing.1["code"]), (404, &json!(5)));
    let all = world.ask(Some(&ann), Method::POST, "/v2/iap/subscription", "").await.1;
    assert_eq!(all["validated_subscriptions"].as_array().map(Vec::len), Some(2));
    let first = world.ask(Some(&ann), Method::POST, "/v2/iap/subscription", r#"{"limit":1}"#).await.1;
    let body = json!({ "limit": 1, "cursor": first["cursor"] }).to_string();
    let second = world.ask(Some(&ann), Method::POST, "/v2/iap/subscription", &body).await.1;
    let id = |page: &serde_json::Value| page["validated_subscriptions"][0]["original_transaction_id"].clone();
    assert_eq!((id(&first), id(&second), second.get("cursor")), (json!("s2"), json!("s1"), None));
    assert_eq!(first.get("prev_cursor"), None);
    let body = json!({ "limit": 1, "cursor": second["prev_cursor"] }).to_string();
    assert_eq!(world.ask(Some(&ann), Method::POST, "/v2/iap/subscription", &body).await.1, first);
    assert_eq!(world.ask(Some(&ann), Method::POST, "/v2/iap/subscription", r#"{"limit":1001}"#).await.0, 400);
}

#[tokio::test]
async fn a_shop_that_is_not_configured_is_an_error() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let refused =
        world.ask(Some(&player), Method::POST, "/v2/iap/purchase/apple", r#"{"receipt":"r","persist":true}"#).await;
    assert_eq!((refused.0, &refused.1["code"]), (400, &json!(9)));
}
