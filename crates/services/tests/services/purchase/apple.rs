//! Receipts validated by Apple.

use super::fake_shop::{FakeShop, http_client};
use crate::fixture::{Fixture, START_MS, error_of};
use aether_services::GrpcCode;
use aether_services::purchase::{Apple, AppleSettings, Environment, Purchases, Receipt, Shop};
use serde_json::{Value, json};

fn entry(transaction: &str, at: i64) -> Value {
    json!({
        "product_id": "gems100", "transaction_id": transaction, "original_transaction_id": transaction,
        "purchase_date_ms": at.to_string(), "quantity": "1",
    })
}

fn answer(entries: &[Value]) -> Value {
    json!({ "status": 0, "environment": "Production", "receipt": { "bundle_id": "com.example.game", "in_app": entries } })
}

async fn purchases(fixture: &Fixture, shop: &FakeShop) -> Purchases {
    let settings = AppleSettings {
        production_url: format!("{}/production", shop.url),
        sandbox_url: format!("{}/sandbox", shop.url),
        ..AppleSettings::new(vec!["com.example.game".to_owned()], "shared".to_owned())
    };
    let apple = Apple::new(settings, http_client(), fixture.clock.clone());
    Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(apple)
}

fn receipt(text: &str) -> Receipt {
    Receipt { text: text.to_owned(), signature: String::new() }
}

#[tokio::test]
async fn a_receipt_is_sent_with_the_secret_and_gives_purchases_newest_first() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = FakeShop::start(|_| {
        let mut refunded = entry("t2", 2_000);
        refunded["cancellation_date_ms"] = json!("2500");
        let mut subscription = entry("t3", 3_000);
        subscription["expires_date_ms"] = json!("9000");
        (200, answer(&[entry("t1", 1_000), refunded, subscription]))
    })
    .await;
    let (purchases, user) = (purchases(&fixture, &shop).await, fixture.user().await);
    let found = purchases.validate(user, Shop::Apple, receipt("cmVjZWlwdA=="), true).await.expect("it is valid");
    let asked = &shop.asked()[0];
    assert_eq!(asked.path, "/production");
    assert_eq!(asked.json()["receipt-data"], "cmVjZWlwdA==");
    assert_eq!(asked.json()["password"], "shared");
    let ids: Vec<_> = found.iter().map(|one| (one.bought.transaction_id.as_str(), one.bought.refunded_at)).collect();
    assert_eq!(ids, [("t2", Some(2_500)), ("t1", None)], "entries with an expiry are subscriptions");
    assert!(found.iter().all(|one| one.user == user && one.bought.environment == Environment::Production));
    assert_eq!((found[1].bought.product_id.as_str(), found[1].bought.purchased_at), ("gems100", 1_000));
    assert_eq!(serde_json::from_str::<Value>(&found[1].bought.response).unwrap(), entry("t1", 1_000));
}

#[tokio::test]
async fn a_sandbox_receipt_is_validated_in_the_sandbox() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = FakeShop::start(|asked| match asked.path.as_str() {
        "/production" => (200, json!({ "status": 21_007 })),
        _ => {
            let mut answer = answer(&[entry("t1", 1_000)]);
            answer["environment"] = json!("Sandbox");
            (200, answer)
        }
    })
    .await;
    let (purchases, user) = (purchases(&fixture, &shop).await, fixture.user().await);
    let found = purchases.validate(user, Shop::Apple, receipt("cg=="), true).await.expect("it is valid");
    assert_eq!(found[0].bought.environment, Environment::Sandbox);
    assert_eq!(shop.asked().iter().map(|asked| asked.path.clone()).collect::<Vec<_>>(), ["/production", "/sandbox"]);
}

#[tokio::test]
async fn receipts_that_apple_does_not_confirm_are_rejected() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = FakeShop::start(|asked| {
        let text = asked.json()["receipt-data"].as_str().unwrap_or_default().to_owned();
        let mut foreign = answer(&[entry("t1", 1_000)]);
        foreign["receipt"]["bundle_id"] = json!("com.example.other");
        match text.as_str() {
            "foreign" => (200, foreign),
            "empty" => (200, answer(&[])),
            "strange" => (200, answer(&[json!({ "product_id": "gems" })])),
            "zero" => (200, answer(&[entry("t\0", 1)])),
            "list" => (200, json!([])),
            "down" => (503, json!({})),
            status => (200, json!({ "status": status.parse::<i64>().unwrap_or(21_003) })),
        }
    })
    .await;
    let (purchases, user) = (purchases(&fixture, &shop).await, fixture.user().await);
    let cases = [
        ("foreign", GrpcCode::FailedPrecondition),
        ("empty", GrpcCode::FailedPrecondition),
        ("strange", GrpcCode::FailedPrecondition),
        ("zero", GrpcCode::FailedPrecondition),
        ("list", GrpcCode::FailedPrecondition),
        ("21003", GrpcCode::FailedPrecondition),
        ("21010", GrpcCode::FailedPrecondition),
        ("21004", GrpcCode::Unavailable),
        ("21005", GrpcCode::Unavailable),
        ("21199", GrpcCode::Unavailable),
        ("down", GrpcCode::Unavailable),
        ("", GrpcCode::InvalidArgument),
        ("a.b", GrpcCode::InvalidArgument),
    ];
    for (text, code) in cases {
        let rejected = error_of(purchases.validate(user, Shop::Apple, receipt(text), true).await);
        assert_eq!(rejected.0, code, "{text}: {}", rejected.1);
    }
    let long = error_of(purchases.validate(user, Shop::Apple, receipt(&"x".repeat(300_000)), true).await);
    assert_eq!(long.0, GrpcCode::InvalidArgument);
    assert_eq!(fixture.count("SELECT count(*) FROM purchases").await, 0);
}

#[tokio::test]
async fn the_renewal_that_expires_last_counts() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = FakeShop::start(|_| {
        let renewal = |transaction: &str, at: i64, ends: i64| {
            let mut renewal = entry(transaction, at);
            renewal["original_transaction_id"] = json!("first");
            renewal["expires_date_ms"] = json!(ends.to_string());
            renewal
        };
        let mut answer = answer(&[entry("t1", 1_000)]);
        answer["latest_receipt_info"] =
            json!([renewal("t2", START_MS, START_MS + 5_000), renewal("first", 1_000, 2_000), entry("t1", 9)]);
        (200, answer)
    })
    .await;
    let (purchases, user) = (purchases(&fixture, &shop).await, fixture.user().await);
    let found = purchases.validate_subscription(user, Shop::Apple, receipt("cg=="), true).await.expect("it is valid");
    assert_eq!(found.subscribed.original_transaction_id, "first");
    assert_eq!((found.subscribed.purchased_at, found.subscribed.expires_at), (START_MS, START_MS + 5_000));
    assert!(found.is_active);
    fixture.clock.advance_ms(5_000);
    assert!(!purchases.subscription(user, "gems100").await.expect("it is kept").is_active);
}
