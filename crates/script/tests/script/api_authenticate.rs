//! Sign-in and links without a provider, and with Instant Games, whose signatures need no request.

use crate::api_support::Calls;
use aether_testkit_server::aether_server::config::Secret;
use aether_testkit_server::{ApiClient, unix_seconds};
use base64::Engine as _;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use ring::hmac;
use serde_json::{Value, json};

const SECRET: &str = "a secret of the tests alone";

/// Signs data as Facebook does for an Instant Game.
pub fn signed_by_facebook(said: &Value) -> String {
    let payload = URL_SAFE_NO_PAD.encode(said.to_string());
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    format!("{}.{payload}", URL_SAFE.encode(hmac::sign(&key, payload.as_bytes())))
}

#[tokio::test(flavor = "multi_thread")]
async fn device_custom_id_and_email_sign_in() {
    let mut calls = Calls::start().await;
    let created = calls.ok("authenticate_device", &[json!("device-0001"), json!("ann")]).await;
    assert_eq!((&created["b"], &created["c"]), (&json!("ann"), &json!(true)));
    let again = calls.ok("authenticate_device", &[json!("device-0001")]).await;
    assert_eq!((&again["a"], &again["b"], &again["c"]), (&created["a"], &json!("ann"), &json!(false)));
    let custom = calls.ok("authenticate_custom", &[json!("custom-1"), json!("bob"), json!(true)]).await;
    assert_eq!((&custom["b"], &custom["c"]), (&json!("bob"), &json!(true)));
    calls.fails("authenticate_custom", &[json!("custom-2"), json!(""), json!(false)], "not found").await;
    let email = [json!("eve@example.com"), json!("long password"), json!("eve")];
    let eve = calls.ok("authenticate_email", &email).await;
    assert_eq!((&eve["b"], &eve["c"]), (&json!("eve"), &json!(true)));
    let by_name = calls.ok("authenticate_email", &[Value::Null, json!("long password"), json!("eve")]).await;
    assert_eq!((&by_name["a"], &by_name["c"]), (&eve["a"], &json!(false)));
    let wrong = [json!("eve@example.com"), json!("wrong password")];
    calls.fails("authenticate_email", &wrong, "Invalid credentials").await;
    calls.fails("authenticate_device", &[json!("short")], "10 to 128 bytes").await;
    calls.fails("authenticate_device", &[json!(7)], "argument 1 (`id`)").await;
    calls.fails("authenticate_custom", &[json!("")], "a string that is not empty").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_token_is_a_session_of_the_user() {
    let mut calls = Calls::start().await;
    let ann = calls.user("device-of-ann").await;
    let expires_at = unix_seconds() + 3_600;
    let arguments = [json!(ann), json!("Ann"), json!(expires_at), json!({ "class": "mage" })];
    let made = calls.ok("authenticate_token_generate", &arguments).await;
    assert_eq!(made["b"], json!(expires_at));
    let token = made["a"].as_str().expect("a token");
    let mut client = ApiClient::new(calls.scripts.server.http);
    client.authorize(format!("Bearer {token}"));
    let answer = client.get("/v2/account").await.expect("the server answers");
    assert_eq!((answer.status, &answer.json()["user"]["id"]), (200, &json!(ann)), "{}", answer.body);
    let claims = token.split('.').nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode(claims).ok()).expect("claims");
    let claims: Value = serde_json::from_slice(&claims).expect("JSON");
    assert_eq!((&claims["usn"], &claims["vrs"]), (&json!("Ann"), &json!({ "class": "mage" })));
    let usual = calls.ok("authenticate_token_generate", &[json!(ann)]).await;
    let lifetime = usual["b"].as_u64().expect("a time") - unix_seconds();
    assert!((800..=900).contains(&lifetime), "{lifetime}");
    let far = [json!(ann), Value::Null, json!(unix_seconds() + 8 * 86_400)];
    calls.fails("authenticate_token_generate", &far, "at most 604800 seconds").await;
    let nobody = json!("00000000-0000-4000-8000-000000000000");
    calls.fails("authenticate_token_generate", &[nobody], "was not found").await;
    let numbers = [json!(ann), Value::Null, Value::Null, json!({ "a": 1 })];
    calls.fails("authenticate_token_generate", &numbers, "a table of strings").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identities_are_linked_and_unlinked() {
    let mut calls = Calls::start().await;
    let ann = calls.user("device-of-ann").await;
    let user = json!(ann);
    for (name, arguments) in [
        ("link_custom", vec![user.clone(), json!("custom-1")]),
        ("link_device", vec![user.clone(), json!("device-0002")]),
        ("link_email", vec![user.clone(), json!("ann@example.com"), json!("long password")]),
    ] {
        assert_eq!(calls.ok(name, &arguments).await["count"], 0, "{name}");
    }
    let account = calls.first("account_get_id", std::slice::from_ref(&user)).await;
    assert_eq!((&account["custom_id"], &account["email"]), (&json!("custom-1"), &json!("ann@example.com")));
    assert_eq!(account["devices"].as_array().map(Vec::len), Some(2));
    calls.user("device-of-bob").await;
    calls.fails("link_device", &[user.clone(), json!("device-of-bob")], "already").await;
    calls.ok("unlink_custom", std::slice::from_ref(&user)).await;
    calls.ok("unlink_device", &[user.clone(), json!("device-0002")]).await;
    calls.ok("unlink_email", &[user.clone(), json!("ann@example.com")]).await;
    let account = calls.first("account_get_id", std::slice::from_ref(&user)).await;
    assert_eq!((&account["custom_id"], &account["email"]), (&Value::Null, &Value::Null));
    assert_eq!(account["devices"], json!([{ "id": "device-of-ann" }]));
    calls.fails("unlink_device", &[user.clone(), json!("device-of-ann")], "last account identifier").await;
    calls.fails("unlink_custom", &[user.clone(), json!("custom-1")], "Cannot unlink").await;
    calls.fails("unlink_email", std::slice::from_ref(&user), "Cannot unlink").await;
    calls.fails("link_custom", std::slice::from_ref(&user), "argument 2 (`customID`)").await;
    calls.fails("link_email", &[user.clone(), json!("a@example.com"), json!("short")], "8 to").await;
    calls.fails("link_device", &[json!("x"), json!("device-0003")], "argument 1 (`userID`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_of_an_instant_game_sign_in_link_and_buy() {
    let mut calls = Calls::start_with(|config| config.facebook.instant_app_secret = Some(Secret::new(SECRET))).await;
    let player = |id: &str| {
        let said = json!({ "algorithm": "HMAC-SHA256", "issued_at": unix_seconds(), "player_id": id });
        json!(signed_by_facebook(&said))
    };
    let name = "authenticate_facebook_instant_game";
    let signed_in = calls.ok(name, &[player("1"), json!("player")]).await;
    assert_eq!((&signed_in["b"], &signed_in["c"]), (&json!("player"), &json!(true)));
    let found = calls.first("users_get_username", &[json!(["player"])]).await;
    assert_eq!(found[0]["facebook_instant_game_id"], json!("1"));
    let ann = json!(calls.user("device-of-ann").await);
    calls.ok("link_facebook_instant_game", &[ann.clone(), player("2")]).await;
    assert_eq!(calls.ok(name, &[player("2")]).await["a"], ann);
    calls.ok("unlink_facebook_instant_game", &[ann.clone(), player("2")]).await;
    calls.fails("unlink_facebook_instant_game", std::slice::from_ref(&ann), "Cannot unlink").await;
    calls.fails(name, &[json!("a.b")], "not valid").await;
    calls.fails("link_facebook_instant_game", &[ann.clone(), json!("a.b")], "not valid").await;
    let bought = json!({
        "algorithm": "HMAC-SHA256", "product_id": "coins", "purchase_token": "7", "purchase_time": 1_700_000_000,
    });
    let request = [ann.clone(), json!(signed_by_facebook(&bought))];
    let validated = calls.first("purchase_validate_facebook_instant", &request).await;
    let purchase = &validated["validated_purchases"][0];
    assert_eq!((&purchase["product_id"], &purchase["transaction_id"]), (&json!("coins"), &json!("7")));
    assert_eq!((&purchase["store"], &purchase["user_id"]), (&json!("FACEBOOK_INSTANT_STORE"), &ann));
    assert_eq!((&purchase["seen_before"], &purchase["purchase_time"]), (&json!(false), &json!(1_700_000_000)));
    let again = calls.first("purchase_validate_facebook_instant", &request).await;
    assert_eq!(again["validated_purchases"][0]["seen_before"], json!(true));
    calls.stop().await;
}
