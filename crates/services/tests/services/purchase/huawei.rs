//! Huawei's AppGallery: purchases that it signs and confirms.

use super::fake_shop::{FakeShop, RSA_KEY, http_client};
use crate::fixture::{Fixture, error_of};
use aether_services::GrpcCode;
use aether_services::purchase::{Environment, Huawei, HuaweiSettings, Purchases, Receipt, Shop};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use serde_json::{Value, json};

fn sign(said: &str) -> String {
    let key = RsaKeyPair::from_pkcs8(RSA_KEY).expect("it is a key");
    let mut signature = vec![0; key.public().modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), said.as_bytes(), &mut signature).expect("it can be signed");
    STANDARD.encode(signature)
}

fn data(token: &str) -> Value {
    json!({
        "packageName": "com.example.game", "productId": "gems100", "purchaseToken": token, "purchaseState": 0,
        "purchaseTime": 1_600_000_000_000_i64, "purchaseType": 0,
    })
}

fn receipt(data: &Value) -> Receipt {
    let text = data.to_string();
    Receipt { signature: sign(&text), text }
}

/// Answers according to the token.
async fn shop() -> FakeShop {
    FakeShop::start(|asked| {
        if asked.path == "/token" {
            let known = asked.form("client_id") == "id" && asked.form("client_secret") == "secret%2F";
            assert!(known && asked.form("grant_type") == "client_credentials", "{asked:?}");
            return (200, json!({ "access_token": "access", "expires_in": 3_600 }));
        }
        assert_eq!(asked.path, "/applications/purchases/tokens/verify");
        assert_eq!(asked.header("authorization"), format!("Basic {}", STANDARD.encode("APPAT:access")));
        let question = asked.json();
        assert_eq!(question["productId"], "gems100");
        let token = question["purchaseToken"].as_str().unwrap_or_default().to_owned();
        let mut confirmed = data(&token);
        match token.as_str() {
            "refunded" => confirmed["purchaseState"] = json!(2),
            "swapped" => confirmed["productId"] = json!("gems100000"),
            "unknown" => return (200, json!({ "responseCode": "8" })),
            _ => {}
        }
        let said = confirmed.to_string();
        let signature = if token == "unsigned" { sign("something else") } else { sign(&said) };
        (200, json!({ "responseCode": "0", "purchaseTokenData": said, "dataSignature": signature }))
    })
    .await
}

fn purchases(fixture: &Fixture, shop: &FakeShop) -> Purchases {
    let key = rcgen::KeyPair::try_from(RSA_KEY).expect("it is a key");
    let public_key = STANDARD.encode(rcgen::PublicKeyData::subject_public_key_info(&key));
    let texts = ["com.example.game", "id", "secret/"].map(str::to_owned);
    let [package_name, client_id, client_secret] = texts;
    let settings = HuaweiSettings {
        token_url: format!("{}/token", shop.url),
        orders_url: shop.url.clone(),
        ..HuaweiSettings::new(package_name, client_id, client_secret, public_key)
    };
    let huawei = Huawei::new(settings, http_client(), fixture.clock.clone()).expect("the key is one");
    Purchases::new(fixture.store.clone(), fixture.clock.clone()).with_provider(huawei)
}

#[tokio::test]
async fn a_signed_and_confirmed_purchase_is_accepted() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = shop().await;
    let (purchases, user) = (purchases(&fixture, &shop), fixture.user().await);
    let found = purchases.validate(user, Shop::Huawei, receipt(&data("token1")), true).await.expect("it is known");
    let found = &found[0].bought;
    assert_eq!((found.product_id.as_str(), found.transaction_id.as_str()), ("gems100", "token1"));
    assert_eq!((found.purchased_at, found.environment), (1_600_000_000_000, Environment::Sandbox));
}

#[tokio::test]
async fn unsigned_or_unconfirmed_purchases_are_rejected() {
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let shop = shop().await;
    let (purchases, user) = (purchases(&fixture, &shop), fixture.user().await);
    let validate = async |receipt: Receipt| error_of(purchases.validate(user, Shop::Huawei, receipt, true).await).0;
    for token in ["refunded", "swapped", "unknown", "unsigned"] {
        assert_eq!(validate(receipt(&data(token))).await, GrpcCode::FailedPrecondition, "{token}");
    }
    let mut foreign = data("token1");
    foreign["packageName"] = json!("com.example.other");
    assert_eq!(validate(receipt(&foreign)).await, GrpcCode::FailedPrecondition);
    let text = data("token1").to_string();
    let altered = Receipt { text: text.replace("gems100", "gems999"), signature: sign(&text) };
    assert_eq!(validate(altered).await, GrpcCode::FailedPrecondition);
    assert_eq!(validate(Receipt { text: text.clone(), signature: "!".to_owned() }).await, GrpcCode::InvalidArgument);
    assert_eq!(validate(Receipt { text, signature: String::new() }).await, GrpcCode::FailedPrecondition);
    let wrong = HuaweiSettings::new(String::new(), String::new(), String::new(), "key".to_owned());
    assert!(Huawei::new(wrong, http_client(), fixture.clock.clone()).is_err());
}
