//! Purchases and subscriptions, each against a local server that speaks the protocol of the shop.

use crate::api_provider::{NOW, ServiceCalls};
use crate::fake_shop::{FakeShop, RSA_KEY, ReceivedRequest, pem};
use aether_services::purchase::{AppleSettings, GoogleSettings, HuaweiSettings, SamsungSettings, Settings};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

async fn calls(purchases: Settings) -> ServiceCalls {
    ServiceCalls::start(Default::default(), purchases).await
}

fn package_names() -> Vec<String> {
    vec!["com.example.game".to_owned()]
}

fn apple(asked: &ReceivedRequest) -> (u16, Value) {
    let question = asked.json();
    let number = question["receipt-data"].as_str().unwrap_or_default().to_owned();
    if question["password"] != "shared" && question["password"] != "other" {
        return (200, json!({ "status": 21_004 }));
    }
    let mut entry = json!({
        "product_id": "gems", "transaction_id": number, "original_transaction_id": number, "purchase_date_ms": "1700000000000",
    });
    if number.starts_with("subscription") {
        entry["expires_date_ms"] = json!((NOW + 60_000).to_string());
    }
    let secret = question["password"].clone();
    let receipt = json!({ "bundle_id": "com.example.game", "in_app": [entry], "secret": secret });
    (200, json!({ "status": 0, "environment": "Sandbox", "receipt": receipt }))
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_of_apple_are_validated_stored_and_listed() {
    let shop = FakeShop::start(apple).await;
    let settings = AppleSettings {
        production_url: format!("{}/production", shop.url),
        sandbox_url: format!("{}/sandbox", shop.url),
        ..AppleSettings::new(package_names(), "wrong".to_owned())
    };
    let calls = calls(Settings { apple: Some(settings), ..Settings::default() }).await;
    let ann = calls.user("device-of-ann").await;
    let validate = |receipt: &str| [ann.clone(), json!(receipt), json!(true), json!("other")];
    for receipt in ["one", "two", "three"] {
        let validated = calls.ok("purchase_validate_apple", &validate(receipt)).await;
        let purchase = &validated["a"]["validated_purchases"][0];
        assert_eq!((&purchase["transaction_id"], &purchase["store"]), (&json!(receipt), &json!("APPLE_APP_STORE")));
        assert_eq!((&purchase["environment"], &purchase["seen_before"]), (&json!("SANDBOX"), &json!(false)));
        assert_eq!(
            (&purchase["create_time"], &purchase["purchase_time"]),
            (&json!(NOW / 1_000), &json!(1_700_000_000))
        );
    }
    assert_eq!(shop.asked()[0].json()["password"], "other", "the secret of the call is used");
    calls.fails("purchase_validate_apple", &[ann.clone(), json!("four")], "denies access").await;
    let unstored = [ann.clone(), json!("five"), json!(false), json!("other")];
    let unstored = calls.ok("purchase_validate_apple", &unstored).await;
    assert_eq!(unstored["a"]["validated_purchases"][0]["create_time"], Value::Null);
    let found = calls.ok("purchase_get_by_transaction_id", &[json!("two")]).await;
    assert_eq!((&found["a"]["transaction_id"], &found["a"]["user_id"]), (&json!("two"), &ann));
    calls.fails("purchase_get_by_transaction_id", &[json!("five")], "Purchase not found").await;
    let page = calls.ok("purchases_list", &[ann.clone(), json!(2)]).await;
    assert_eq!((page["a"].as_array().map(Vec::len), page["b"].is_string()), (Some(2), true));
    let rest = calls.ok("purchases_list", &[ann.clone(), json!(2), page["b"].clone()]).await;
    assert_eq!((rest["a"].as_array().map(Vec::len), &rest["b"], rest["c"].is_string()), (Some(1), &Value::Null, true));
    calls.fails("purchases_list", &[ann.clone(), json!(101)], "a number from 1 to 100").await;
    calls.fails("purchase_validate_apple", &[ann], "argument 2 (`receipt`)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_of_apple_are_validated_stored_and_listed() {
    let shop = FakeShop::start(apple).await;
    let settings =
        AppleSettings { production_url: shop.url.clone(), ..AppleSettings::new(package_names(), "shared".to_owned()) };
    let calls = calls(Settings { apple: Some(settings), ..Settings::default() }).await;
    let ann = calls.user("device-of-ann").await;
    let validated = calls.ok("subscription_validate_apple", &[ann.clone(), json!("subscription1")]).await;
    let subscription = &validated["a"]["validated_subscription"];
    assert_eq!((&subscription["product_id"], &subscription["active"]), (&json!("gems"), &json!(true)));
    assert_eq!(subscription["original_transaction_id"], json!("subscription1"));
    assert_eq!(subscription["expiry_time"], json!(NOW / 1_000 + 60));
    let found = calls.ok("subscription_get_by_product_id", &[ann.clone(), json!("gems")]).await;
    assert_eq!((&found["a"]["user_id"], &found["a"]["store"]), (&ann, &json!("APPLE_APP_STORE")));
    calls.fails("subscription_get_by_product_id", &[ann.clone(), json!("coins")], "Subscription not found").await;
    let page = calls.ok("subscriptions_list", &[ann.clone(), json!(10), Value::Null]).await;
    assert_eq!((page["a"].as_array().map(Vec::len), &page["b"]), (Some(1), &Value::Null));
    calls.fails("subscriptions_list", &[ann.clone(), json!(0)], "a number from 1 to 1000").await;
    calls.fails("subscription_validate_apple", &[ann, json!("one")], "not valid").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn purchases_and_subscriptions_of_google() {
    let shop = FakeShop::start(|asked| match asked.path.as_str() {
        "/token" => (200, json!({ "access_token": "access", "expires_in": 3_600 })),
        path if path.contains("/products/") => {
            (200, json!({ "purchaseTimeMillis": "1600000000000", "purchaseState": 0 }))
        }
        _ => {
            let items = json!([{ "productId": "gems", "expiryTime": "2030-01-01T00:00:00Z" }]);
            (200, json!({ "startTime": "2026-01-01T00:00:00Z", "lineItems": items }))
        }
    })
    .await;
    let settings = GoogleSettings {
        token_url: format!("{}/token", shop.url),
        api_url: shop.url.clone(),
        ..GoogleSettings::new(package_names(), "account@example.com".to_owned(), pem(RSA_KEY))
    };
    let calls = calls(Settings { google: Some(settings), ..Settings::default() }).await;
    let ann = calls.user("device-of-ann").await;
    let receipt = |token: &str| {
        json!(json!({ "packageName": "com.example.game", "productId": "gems", "purchaseToken": token }).to_string())
    };
    let validated = calls.ok("purchase_validate_google", &[ann.clone(), receipt("1")]).await;
    let purchase = &validated["a"]["validated_purchases"][0];
    assert_eq!((&purchase["transaction_id"], &purchase["store"]), (&json!("1"), &json!("GOOGLE_PLAY_STORE")));
    assert_eq!(purchase["environment"], json!("PRODUCTION"));
    let other = [ann.clone(), receipt("2"), json!(true), json!("other@example.com"), json!(pem(RSA_KEY))];
    calls.ok("purchase_validate_google", &other).await;
    assert_eq!(shop.count("/token"), 2, "the other account has a token of its own");
    let wrong = [ann.clone(), receipt("3"), json!(true), json!("other@example.com"), json!("no key")];
    calls.fails("purchase_validate_google", &wrong, "is not valid").await;
    let validated = calls.ok("subscription_validate_google", &[ann.clone(), receipt("4")]).await;
    let subscription = &validated["a"]["validated_subscription"];
    assert_eq!((&subscription["expiry_time"], &subscription["active"]), (&json!(1_893_456_000), &json!(true)));
    calls.fails("subscription_validate_google", &[ann, json!("x")], "does not have the format").await;
}

fn sign(said: &str) -> String {
    let key = RsaKeyPair::from_pkcs8(RSA_KEY).expect("it is a key");
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), said.as_bytes(), &mut signature).expect("it can be signed");
    STANDARD.encode(signature)
}

#[tokio::test(flavor = "multi_thread")]
async fn purchases_of_huawei() {
    let data = json!({
        "packageName": "com.example.game", "productId": "gems", "purchaseToken": "token1", "purchaseState": 0,
        "purchaseTime": 1_600_000_000_000_i64, "purchaseType": 0,
    });
    let said = data.to_string();
    let confirmed = said.clone();
    let shop = FakeShop::start(move |asked| match asked.path.as_str() {
        "/token" => (200, json!({ "access_token": "access", "expires_in": 3_600 })),
        _ => (200, json!({ "responseCode": "0", "purchaseTokenData": confirmed, "dataSignature": sign(&confirmed) })),
    })
    .await;
    let key = rcgen::KeyPair::try_from(RSA_KEY).expect("it is a key");
    let public_key = STANDARD.encode(rcgen::PublicKeyData::subject_public_key_info(&key));
    let [name, id, secret] = ["com.example.game", "id", "secret"].map(str::to_owned);
    let settings = HuaweiSettings {
        token_url: format!("{}/token", shop.url),
        orders_url: shop.url.clone(),
        ..HuaweiSettings::new(name, id, secret, public_key)
    };
    let calls = calls(Settings { huawei: Some(settings), ..Settings::default() }).await;
    let ann = calls.user("device-of-ann").await;
    let validated = calls.ok("purchase_validate_huawei", &[ann.clone(), json!(sign(&said)), json!(said)]).await;
    let purchase = &validated["a"]["validated_purchases"][0];
    assert_eq!((&purchase["transaction_id"], &purchase["store"]), (&json!("token1"), &json!("HUAWEI_APP_GALLERY")));
    calls.fails("purchase_validate_huawei", &[ann.clone(), json!(sign("x")), json!(said)], "not valid").await;
    calls.fails("purchase_validate_huawei", &[ann, json!("x")], "argument 3 (`receipt`)").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn purchases_of_samsung() {
    let shop = FakeShop::start(|asked| {
        let package = if asked.path == "/others" { "com.example.other" } else { "com.example.game" };
        let bought = json!({
            "status": "success", "packageName": package, "itemId": "gems", "paymentId": "payment1",
            "purchaseDate": "2026-11-18 01:02:03", "mode": "TEST",
        });
        (200, bought)
    })
    .await;
    let with_path = |path: &str| {
        let receipt_url = format!("{}{path}", shop.url);
        let samsung = SamsungSettings { receipt_url, ..SamsungSettings::new(package_names()) };
        Settings { samsung: Some(samsung), ..Settings::default() }
    };
    let samsung = calls(with_path("/receipt")).await;
    let ann = samsung.user("device-of-ann").await;
    let validated = samsung.ok("purchase_validate_samsung", &[ann.clone(), json!("purchase1")]).await;
    let purchase = &validated["a"]["validated_purchases"][0];
    assert_eq!((&purchase["transaction_id"], &purchase["store"]), (&json!("payment1"), &json!("SAMSUNG_GALAXY_STORE")));
    assert_eq!((&purchase["environment"], &purchase["purchase_time"]), (&json!("SANDBOX"), &json!(1_794_963_723)));
    samsung.fails("purchase_validate_samsung", &[ann.clone(), json!("")], "argument 2 (`purchaseId`)").await;
    let others = calls(with_path("/others")).await;
    let ann = others.user("device-of-ann").await;
    others.fails("purchase_validate_samsung", &[ann, json!("purchase1")], "not valid").await;
    let none = calls(Settings::default()).await;
    let ann = none.user("device-of-ann").await;
    none.fails("purchase_validate_samsung", &[ann.clone(), json!("1")], "Samsung's Galaxy Store are not configured")
        .await;
    none.fails("purchase_validate_facebook_instant", &[ann, json!("1")], "are not configured").await;
}
