//! Accounts.

use crate::api_support::Calls;
use aether_services::account::IMPORT_BYTES_MAX;
use aether_services::storage::{ObjectId, Write};
use aether_services::{Caller, GrpcCode};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn accounts_are_read_changed_and_erased() {
    let mut calls = Calls::start().await;
    let (ann, bob) = (calls.user("device-of-ann").await, calls.user("device-of-bob").await);
    let changes = [
        json!(ann),
        json!({ "level": 3 }),
        json!("ann"),
        json!("Ann A."),
        json!("Europe/Vienna"),
        json!("Graz"),
        json!("de"),
        json!("https://example.com/a.png"),
    ];
    assert_eq!(calls.ok("account_update_id", &changes).await["count"], 0);
    calls.ok("account_update_id", &[json!(ann), Value::Null, Value::Null, json!("Ann")]).await;
    let account = calls.first("account_get_id", &[json!(ann)]).await;
    assert_eq!(account["user_id"], json!(ann));
    assert_eq!((&account["username"], &account["display_name"]), (&json!("ann"), &json!("Ann")));
    assert_eq!((&account["timezone"], &account["location"]), (&json!("Europe/Vienna"), &json!("Graz")));
    assert_eq!((&account["lang_tag"], &account["avatar_url"]), (&json!("de"), &json!("https://example.com/a.png")));
    assert_eq!((&account["metadata"], &account["wallet"]), (&json!({ "level": 3 }), &json!({})));
    assert_eq!((&account["online"], &account["edge_count"]), (&json!(false), &json!(0)));
    assert_eq!(account["devices"], json!([{ "id": "device-of-ann" }]));
    assert_eq!((&account["user"]["username"], &account["email"]), (&json!("ann"), &Value::Null));
    assert!(account["create_time"].as_i64().is_some_and(|time| (1_600_000_000..10_000_000_000).contains(&time)));
    let both = calls.first("accounts_get_id", &[json!([ann]), json!(["device-of-bob", "device-of-ann"])]).await;
    let ids: Vec<&Value> = both.as_array().expect("a list").iter().map(|account| &account["user_id"]).collect();
    assert_eq!(ids, [&json!(ann), &json!(bob)]);
    assert_eq!(calls.ok("account_delete_id", &[json!(bob), json!(true)]).await["count"], 0);
    calls.fails("account_get_id", &[json!(bob)], "User account not found").await;
    calls.fails("account_get_id", &[json!("bob")], "argument 1 (`userID`) of `account_get_id`: expected an id").await;
    calls.fails("account_update_id", &[json!(bob), json!({})], "User account not found").await;
    calls.fails("account_update_id", &[json!(ann), json!(7)], "argument 2 (`metadata`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_account_is_imported_into_another() {
    let mut calls = Calls::start().await;
    let (ann, bob) = (calls.user("device-of-ann").await, calls.user("device-of-bob").await);
    calls.ok("account_update_id", &[json!(ann), json!({ "level": 3 }), Value::Null, json!("Ann")]).await;
    calls.ok("wallet_update", &[json!(ann), json!({ "gold": 7 })]).await;
    calls.ok("wallet_update", &[json!(bob), json!({ "gold": 9, "gems": 1 })]).await;
    calls.ok("aether.storage_set", &[json!(ann), json!("bag"), json!("1"), json!({ "sword": 1 })]).await;
    let document = calls.first("account_export_id", &[json!(ann)]).await;
    let parsed: Value = serde_json::from_str(document.as_str().expect("a text")).expect("JSON");
    assert_eq!(parsed["account"]["id"], json!(ann));
    assert_eq!(parsed["storage_objects"][0]["value"], json!({ "sword": 1 }));
    assert_eq!(calls.first("account_import_id", &[document.clone(), json!(bob)]).await, json!(bob));
    let account = calls.first("account_get_id", &[json!(bob)]).await;
    assert_eq!((&account["display_name"], &account["metadata"]), (&json!("Ann"), &json!({ "level": 3 })));
    assert_eq!(account["wallet"], json!({ "gold": 7, "gems": 0 }));
    let value = calls.first("aether.storage_get", &[json!(bob), json!("bag"), json!("1")]).await;
    assert_eq!(value, json!({ "sword": 1 }));
    assert_eq!(calls.first("account_import_id", &[document]).await, json!(ann), "without a user, the exported one");
    calls.fails("account_import_id", &[json!("{}"), json!(bob)], "no exported account").await;
    calls.fails("account_export_id", &[json!("00000000-0000-4000-8000-000000000000")], "not found").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_documents_are_neither_exported_nor_imported() {
    let mut calls = Calls::start().await;
    let ann = calls.user("device-of-ann").await;
    let owner = Uuid::try_parse(&ann).expect("an id");
    let value = json!({ "text": "x".repeat(250_000) }).to_string();
    let writes = (0..36).map(|key| Write::new(ObjectId::new("bag", key.to_string(), owner), value.clone()));
    let services = calls.scripts.server.services();
    services.storage.write(&Caller::Server, writes.collect()).await.expect("the objects are written");
    let long = services.import_account(None, &" ".repeat(IMPORT_BYTES_MAX + 1)).await;
    assert_eq!(long.map_err(|error| error.code), Err(GrpcCode::InvalidArgument));
    calls.fails("account_export_id", &[json!(ann)], "more than 8388608 bytes").await;
    calls.stop().await;
}
