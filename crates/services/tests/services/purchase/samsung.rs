//! Purchases in Samsung's Galaxy Store, and other credentials of a shop.

use super::fake_shop::{FakeShop, http_client};
use crate::fixture::{Fixture, error_of};
use aether_services::GrpcCode;
use aether_services::purchase::{
    Apple, AppleSettings, Environment, Purchases, Receipt, Samsung, SamsungSettings, Shop, ShopCredentials,
};
use serde_json::{Value, json};

fn bought() -> Value {
    json!({
        "status": "success", "packageName": "com.example.game", "itemId": "gems100", "paymentId": "payment1",
        "purchaseDate": "2026-11-18 01:02:03", "mode": "PRODUCTION",
    })
}

fn receipt(text: &str) -> Receipt {
    Receipt { text: text.to_owned(), signature: String::new() }
}

async fn validate(answer: impl Fn() -> (u16, Value) + Send + Sync + 'static) -> Result<Vec<String>, GrpcCode> {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = FakeShop::start(move |_| answer()).await;
    let settings = SamsungSettings {
        receipt_url: format!("{}/receipt", shop.url),
        ..SamsungSettings::new(vec!["com.example.game".to_owned()])
    };
    let samsung = Samsung::new(settings, http_client(), fixture.clock.clone());
    let purchases = Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(samsung);
    let found = purchases.validate(fixture.user().await, Shop::Samsung, receipt("a/b"), true).await;
    let found = found.map_err(|error| error.code)?;
    assert_eq!(shop.asked()[0].path, "/receipt");
    assert!(found.iter().all(|one| one.bought.environment == Environment::Production));
    assert!(found.iter().all(|one| one.bought.purchased_at == 1_794_963_723_000));
    Ok(found.into_iter().map(|one| format!("{} {}", one.bought.product_id, one.bought.transaction_id)).collect())
}

#[tokio::test]
async fn a_purchase_is_queried_by_its_id() {
    assert_eq!(validate(|| (200, bought())).await, Ok(vec!["gems100 payment1".to_owned()]));
}

#[tokio::test]
async fn purchases_that_samsung_does_not_confirm_are_rejected() {
    for (name, value) in [("status", "fail"), ("packageName", "com.example.other"), ("purchaseDate", "yesterday")] {
        let mut answer = bought();
        answer[name] = json!(value);
        let outcome = validate(move || (200, answer.clone())).await;
        assert_eq!(outcome, Err(GrpcCode::FailedPrecondition), "{name}");
    }
    assert_eq!(validate(|| (500, json!({}))).await, Err(GrpcCode::Unavailable));
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let samsung = Samsung::new(SamsungSettings::new(Vec::new()), http_client(), fixture.clock.clone());
    let purchases = Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(samsung);
    let long = purchases.validate(fixture.user().await, Shop::Samsung, receipt(&"1".repeat(257)), true).await;
    assert_eq!(error_of(long).0, GrpcCode::InvalidArgument, "no request is made with a long id");
}

#[tokio::test]
async fn other_credentials_are_used_for_one_validation() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = FakeShop::start(|_| (200, json!({ "status": 21_004 }))).await;
    let settings = AppleSettings {
        production_url: shop.url.clone(),
        ..AppleSettings::new(vec!["com.example.game".to_owned()], "configured".to_owned())
    };
    let apple = Apple::new(settings, http_client(), fixture.clock.clone());
    let purchases = Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(apple);
    let user = fixture.user().await;
    let other = ShopCredentials { shared_secret: "other".to_owned(), ..ShopCredentials::default() };
    let with_other = purchases.with_credentials(Shop::Apple, &other).expect("Apple has a secret");
    for purchases in [&with_other, &purchases] {
        error_of(purchases.validate(user, Shop::Apple, receipt("cg=="), true).await);
    }
    let passwords: Vec<Value> = shop.asked().iter().map(|asked| asked.json()["password"].clone()).collect();
    assert_eq!(passwords, ["other", "configured"]);
}
