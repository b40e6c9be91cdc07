//! Wallets and their ledger.

use crate::api_support::Calls;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn wallets_change_by_amounts_and_never_become_negative() {
    let mut calls = Calls::start().await;
    let (ann, bob) = (calls.user("device-of-ann").await, calls.user("device-of-bob").await);
    let gift = [json!(ann), json!({ "gold": 10 }), json!({ "why": "gift" }), json!(true)];
    let done = calls.ok("wallet_update", &gift).await;
    assert_eq!((&done["a"], &done["b"]), (&json!({ "gold": 10 }), &json!({})), "updated, then previous");
    let done = calls.ok("wallet_update", &[json!(ann), json!({ "gold": -3 })]).await;
    assert_eq!((&done["a"], &done["b"]), (&json!({ "gold": 7 }), &json!({ "gold": 10 })));
    calls.fails("wallet_update", &[json!(ann), json!({ "gold": -8 })], "rejected negative value at path 'gold'").await;
    let transfer = json!([
        { "user_id": ann, "changeset": { "gold": -2 } },
        { "user_id": bob, "changeset": { "gold": 2 }, "metadata": { "from": ann } },
    ]);
    let results = calls.first("wallets_update", &[transfer, json!(true)]).await;
    assert_eq!(results[0], json!({ "user_id": ann, "updated": { "gold": 5 }, "previous": { "gold": 7 } }));
    assert_eq!(results[1]["updated"], json!({ "gold": 2 }));
    calls.fails("wallet_update", &[json!(ann), json!({ "gold": 1.5 })], "argument 2 (`changeset`)").await;
    calls.fails("wallet_update", &[json!(ann), json!([1])], "a table of whole numbers").await;
    calls.fails("wallets_update", &[json!([{ "user_id": ann }])], "argument 1 (`updates`)").await;
    let nobody = json!("00000000-0000-4000-8000-000000000000");
    calls.fails("wallet_update", &[nobody, json!({ "gold": 1 })], "User account not found").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledger_lists_recorded_changes_newest_first() {
    let mut calls = Calls::start().await;
    let ann = calls.user("device-of-ann").await;
    for gold in 1..=3 {
        calls.ok("wallet_update", &[json!(ann), json!({ "gold": gold }), json!({ "n": gold }), json!(true)]).await;
    }
    calls.ok("wallet_update", &[json!(ann), json!({ "gold": 1 })]).await;
    let page = calls.ok("wallet_ledger_list", &[json!(ann), json!(2)]).await;
    let items = page["a"].as_array().expect("a list").clone();
    assert_eq!(
        items.iter().map(|item| &item["changeset"]).collect::<Vec<_>>(),
        [&json!({ "gold": 3 }), &json!({ "gold": 2 })]
    );
    assert_eq!((&items[0]["user_id"], &items[0]["metadata"]), (&json!(ann), &json!({ "n": 3 })));
    assert!(items[0]["create_time"].as_i64().is_some_and(|time| (1_600_000_000..10_000_000_000).contains(&time)));
    let rest = calls.ok("wallet_ledger_list", &[json!(ann), json!(2), page["b"].clone()]).await;
    assert_eq!(rest["a"][0]["changeset"], json!({ "gold": 1 }));
    assert_eq!(rest["b"], Value::Null, "the last page has no cursor");
    let item = calls.first("wallet_ledger_update", &[items[0]["id"].clone(), json!({ "note": "x" })]).await;
    assert_eq!((&item["id"], &item["metadata"]), (&items[0]["id"], &json!({ "note": "x" })));
    assert_eq!(item["changeset"], json!({ "gold": 3 }));
    calls.fails("wallet_ledger_update", &[json!(ann), json!({})], "Ledger entry not found").await;
    calls.fails("wallet_ledger_update", &[json!(ann), Value::Null], "argument 2 (`metadata`)").await;
    calls.fails("wallet_ledger_list", &[json!(ann), json!(101)], "a number from 1 to 100").await;
    calls.stop().await;
}
