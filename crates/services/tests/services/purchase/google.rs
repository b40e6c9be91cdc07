//! Google Play: purchases queried with a service account.

use super::fake_shop::{FakeShop, RSA_KEY, ReceivedRequest, http_client, pem};
use crate::fixture::{Fixture, START_MS, error_of};
use aether_services::GrpcCode;
use aether_services::purchase::{Environment, Google, GoogleSettings, Purchases, Receipt, Shop};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const PRODUCT: &str = "/applications/com.example.game/purchases/products/gems100/tokens/token1";
const SUBSCRIPTION: &str = "/applications/com.example.game/purchases/subscriptionsv2/tokens/token1";

fn bought() -> Value {
    json!({ "purchaseTimeMillis": "1600000000000", "purchaseState": 0, "consumptionState": 0, "orderId": "GPA.1" })
}

/// Issues tokens `access1`, `access2` and so on, and answers requests that carry one.
async fn shop(answer: impl Fn(&ReceivedRequest) -> (u16, Value) + Send + Sync + 'static) -> FakeShop {
    let given = Arc::new(AtomicUsize::new(0));
    FakeShop::start(move |asked| {
        if asked.path == "/token" {
            let number = given.fetch_add(1, Ordering::Relaxed) + 1;
            return (
                200,
                json!({ "access_token": format!("access{number}"), "expires_in": 3_599, "token_type": "Bearer" }),
            );
        }
        match asked.header("authorization").starts_with("Bearer access") {
            true => answer(asked),
            false => (401, json!({})),
        }
    })
    .await
}

fn purchases(fixture: &Fixture, shop: &FakeShop) -> Purchases {
    let names = vec!["com.example.game".to_owned()];
    let settings = GoogleSettings {
        token_url: format!("{}/token", shop.url),
        api_url: shop.url.clone(),
        ..GoogleSettings::new(names, "account@example.com".to_owned(), pem(RSA_KEY))
    };
    let google = Google::new(settings, http_client(), fixture.clock.clone()).expect("the key is one");
    Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(google)
}

fn receipt(package: &str, product: &str, token: &str) -> Receipt {
    let text = json!({ "packageName": package, "productId": product, "purchaseToken": token, "purchaseState": 0 });
    Receipt { text: text.to_string(), signature: String::new() }
}

fn good() -> Receipt {
    receipt("com.example.game", "gems100", "token1")
}

#[tokio::test]
async fn a_purchase_is_queried_by_its_token_with_the_service_account() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = shop(|asked| if asked.path == PRODUCT { (200, bought()) } else { (404, json!({})) }).await;
    let (purchases, user) = (purchases(&fixture, &shop), fixture.user().await);
    let found = purchases.validate(user, Shop::Google, good(), true).await.expect("it is known").remove(0).bought;
    assert_eq!((found.product_id.as_str(), found.transaction_id.as_str()), ("gems100", "token1"));
    assert_eq!((found.purchased_at, found.environment), (1_600_000_000_000, Environment::Production));
    let asked = shop.asked();
    assert_eq!(asked[0].form("grant_type"), "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer");
    let assertion = asked[0].form("assertion");
    let (message, signature) = assertion.rsplit_once('.').unwrap();
    let key = RsaKeyPair::from_pkcs8(RSA_KEY).unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    key.verify(message.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).expect("it is signed by the account");
    let claims: Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(message.split_once('.').unwrap().1).unwrap()).unwrap();
    assert_eq!(claims["iss"], "account@example.com");
    assert_eq!(claims["aud"], format!("{}/token", shop.url));
    assert_eq!(
        (claims["iat"].as_i64(), claims["exp"].as_i64()),
        (Some(START_MS / 1_000), Some(START_MS / 1_000 + 600))
    );
}

#[tokio::test]
async fn the_access_token_is_renewed_only_when_it_expires_or_is_rejected() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = shop(|asked| match asked.header("authorization") {
        "Bearer access2" => (401, json!({})),
        _ => (200, bought()),
    })
    .await;
    let (purchases, user) = (purchases(&fixture, &shop), fixture.user().await);
    let validate = async || purchases.validate(user, Shop::Google, good(), true).await;
    validate().await.expect("it is known");
    fixture.clock.advance_ms(3_000_000);
    validate().await.expect("it is known");
    assert_eq!(shop.count("/token"), 1);
    fixture.clock.advance_ms(600_000);
    assert_eq!(error_of(validate().await).0, GrpcCode::Unavailable, "the second token was withdrawn");
    validate().await.expect("a third is asked for");
    assert_eq!(shop.count("/token"), 3);
}

#[tokio::test]
async fn purchases_that_google_does_not_confirm_are_rejected() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = shop(|asked| match asked.path.rsplit('/').next().unwrap_or_default() {
        "pending" => (200, json!({ "purchaseState": 2, "purchaseTimeMillis": "1" })),
        "cancelled" => (200, json!({ "purchaseState": 1, "purchaseTimeMillis": "1" })),
        "strange" => (200, json!({ "purchaseState": 0 })),
        "down" => (500, json!({})),
        "gone" => (410, json!({})),
        "slash%2F..%2F%3Fx%3D1%23" => (200, bought()),
        _ => (404, json!({})),
    })
    .await;
    let (purchases, user) = (purchases(&fixture, &shop), fixture.user().await);
    let validate = async |receipt: Receipt| error_of(purchases.validate(user, Shop::Google, receipt, true).await).0;
    for token in ["pending", "cancelled", "strange", "gone", "unknown"] {
        let rejected = validate(receipt("com.example.game", "gems100", token)).await;
        assert_eq!(rejected, GrpcCode::FailedPrecondition, "{token}");
    }
    assert_eq!(validate(receipt("com.example.game", "gems100", "down")).await, GrpcCode::Unavailable);
    assert_eq!(validate(receipt("com.example.other", "gems100", "token1")).await, GrpcCode::FailedPrecondition);
    assert_eq!(validate(receipt("com.example.game", "", "token1")).await, GrpcCode::InvalidArgument);
    let text = |text: &str| Receipt { text: text.to_owned(), signature: String::new() };
    assert_eq!(validate(text("{")).await, GrpcCode::InvalidArgument);
    assert_eq!(validate(text("[]")).await, GrpcCode::InvalidArgument);
    let odd =
        purchases.validate(user, Shop::Google, receipt("com.example.game", "gems100", "slash/../?x=1#"), true).await;
    assert_eq!(odd.expect("it stays one part of the path")[0].bought.transaction_id, "slash/../?x=1#");
}

#[tokio::test]
async fn a_subscription_expires_with_its_product() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = shop(|asked| match asked.path.as_str() {
        SUBSCRIPTION => (
            200,
            json!({
                "startTime": "2023-01-02T03:04:05.678Z", "subscriptionState": "SUBSCRIPTION_STATE_ACTIVE",
                "testPurchase": {},
                "lineItems": [
                    { "productId": "other", "expiryTime": "2031-01-01T00:00:00Z" },
                    { "productId": "gems100", "expiryTime": "2023-11-15T00:00:00Z" },
                ],
            }),
        ),
        _ => (200, json!({ "subscriptionState": "SUBSCRIPTION_STATE_PENDING", "lineItems": [] })),
    })
    .await;
    let (purchases, user) = (purchases(&fixture, &shop), fixture.user().await);
    let found = purchases.validate_subscription(user, Shop::Google, good(), true).await.expect("it is known");
    assert_eq!((found.subscribed.purchased_at, found.subscribed.expires_at), (1_672_628_645_678, 1_700_006_400_000));
    assert_eq!((found.subscribed.environment, found.is_active), (Environment::Sandbox, true));
    for (product, token) in [("third", "token1"), ("gems100", "pending")] {
        let receipt = receipt("com.example.game", product, token);
        let rejected = error_of(purchases.validate_subscription(user, Shop::Google, receipt, true).await);
        assert_eq!(rejected.0, GrpcCode::FailedPrecondition);
    }
}

#[tokio::test]
async fn an_invalid_key_is_rejected_with_a_remedy() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    for key in [String::new(), "key".to_owned(), pem(b"not a key")] {
        let settings = GoogleSettings::new(vec![], String::new(), key);
        let rejected = Google::new(settings, http_client(), fixture.clock.clone()).err().expect("it is no key");
        assert!(rejected.message.contains("private_key"));
    }
}
