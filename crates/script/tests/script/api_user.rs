//! Users, and changes of several things at once.

use crate::api_support::{Calls, none};
use aether_testkit_server::ApiClient;
use serde_json::{Value, json};

fn ids(users: &Value) -> Vec<String> {
    let users = users.as_array().expect("a list of users").iter();
    users.map(|user| user["user_id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn users_are_found_by_id_by_name_and_at_random() {
    let mut calls = Calls::start().await;
    let (ann, bob) = (calls.user("device-of-ann").await, calls.user("device-of-bob").await);
    calls.ok("account_update_id", &[json!(ann), Value::Null, json!("ann")]).await;
    let missing = "00000000-0000-4000-8000-000000000000";
    let found = calls.first("users_get_id", &[json!([bob, missing, ann])]).await;
    assert_eq!(ids(&found), [bob.clone(), ann.clone()]);
    assert_eq!((&found[1]["username"], &found[1]["metadata"]), (&json!("ann"), &json!({})));
    assert_eq!(calls.first("users_get_id", &[json!([]), json!(["1001"])]).await, none());
    assert_eq!(ids(&calls.first("users_get_username", &[json!(["ann", "nobody"])]).await), std::slice::from_ref(&ann));
    let mut all = ids(&calls.first("users_get_random", &[json!(1_000)]).await);
    all.sort();
    let mut expected = vec![ann.clone(), bob.clone(), calls.client.user.clone()];
    expected.sort();
    assert_eq!(all, expected);
    assert_eq!(ids(&calls.first("users_get_random", &[json!(2)]).await).len(), 2);
    assert_eq!(calls.first("users_get_random", &[json!(0)]).await, none());
    calls.fails("users_get_random", &[json!(1_001)], "argument 1 (`count`)").await;
    calls.fails("users_get_id", &[json!(["ann"])], "a list of ids").await;
    calls.fails("users_get_username", &[json!([1])], "a list of strings").await;
    calls.fails("users_get_id", &[json!(vec![ann.clone(); 1_001])], "at most 1000 ids").await;
    calls.fails("users_get_username", &[json!(vec!["ann"; 1_001])], "at most 1000 entries").await;
    let many = calls.first("users_get_id", &[json!(vec![ann.clone(); 1_000])]).await;
    assert_eq!(ids(&many), [ann], "more than one query asks for");
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn friend_states_are_those_between_the_users() {
    let mut calls = Calls::start().await;
    let (ann, bob) = (calls.user("device-of-ann").await, calls.user("device-of-bob").await);
    let own = calls.client.user.clone();
    let path = format!("/v2/friend?ids={ann}");
    assert_eq!(calls.client.post(&path, &json!({})).await.expect("the server answers").status, 200);
    let states = calls.first("users_get_friend_status", &[json!(own), json!([ann, bob])]).await;
    assert_eq!((states.as_array().map(Vec::len), &states[0]["state"]), (Some(1), &json!(1)));
    assert_eq!((&states[0]["user"]["user_id"], &states[0]["metadata"]), (&json!(ann), &json!({})));
    assert!(states[0]["update_time"].as_i64().is_some_and(|time| time > 1_600_000_000));
    let states = calls.first("users_get_friend_status", &[json!(ann), json!([own])]).await;
    assert_eq!(states[0]["state"], json!(2));
    calls.fails("users_get_friend_status", &[json!("x"), json!([])], "argument 1 (`userID`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn banned_users_cannot_sign_in_until_the_ban_is_lifted() {
    let mut calls = Calls::start().await;
    let ann = calls.user("device-of-ann").await;
    assert_eq!(calls.ok("users_ban_id", &[json!([ann])]).await["count"], 0);
    calls.fails("authenticate_device", &[json!("device-of-ann")], "User account banned").await;
    let account = calls.first("account_get_id", &[json!(ann)]).await;
    assert!(account["disable_time"].as_i64().is_some_and(|time| time > 1_600_000_000), "{account}");
    assert_eq!(calls.ok("users_unban_id", &[json!([ann])]).await["count"], 0);
    let http = calls.scripts.server.http;
    let again = ApiClient::sign_in(http, "device-of-ann").await.expect("the ban is lifted");
    assert_eq!(again.user, ann);
    calls.fails("users_ban_id", &[json!("ann")], "argument 1 (`userIDs`)").await;
    calls.fails("users_unban_id", &[json!([7])], "a list of ids").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_multi_update_changes_everything_or_nothing() {
    let mut calls = Calls::start().await;
    let (ann, bob) = (calls.user("device-of-ann").await, calls.user("device-of-bob").await);
    let write = json!({ "collection": "bag", "key": "1", "user_id": ann, "value": { "a": 1 }, "permission_read": 2 });
    let accounts = json!([{ "user_id": ann, "display_name": "Ann", "metadata": { "level": 1 } }]);
    let wallets = json!([
        { "user_id": ann, "changeset": { "gold": 5 }, "metadata": { "why": "start" } },
        { "user_id": bob, "changeset": { "gold": 1 } },
    ]);
    let done = calls.ok("multi_update", &[accounts, json!([write]), json!([]), wallets, json!(true)]).await;
    assert_eq!((&done["a"][0]["key"], &done["a"][0]["user_id"]), (&json!("1"), &json!(ann)));
    assert_eq!(done["a"][0]["version"].as_str().map(str::len), Some(32));
    assert_eq!(done["b"][0], json!({ "user_id": ann, "previous": {}, "updated": { "gold": 5 } }));
    assert_eq!(done["b"][1]["updated"], json!({ "gold": 1 }));
    let account = calls.first("account_get_id", &[json!(ann)]).await;
    assert_eq!((&account["display_name"], &account["wallet"]), (&json!("Ann"), &json!({ "gold": 5 })));
    let ledger = calls.first("wallet_ledger_list", &[json!(ann)]).await;
    assert_eq!(ledger[0]["metadata"], json!({ "why": "start" }));
    let renamed = json!([{ "user_id": ann, "display_name": "Eve" }]);
    let poor = json!([{ "user_id": bob, "changeset": { "gold": -2 } }]);
    let deletes = json!([{ "collection": "bag", "key": "1", "user_id": ann }]);
    let arguments = [renamed, json!([]), deletes.clone(), poor];
    calls.fails("multi_update", &arguments, "rejected negative value").await;
    let account = calls.first("account_get_id", &[json!(ann)]).await;
    assert_eq!(account["display_name"], json!("Ann"), "nothing has changed");
    let done = calls.ok("multi_update", &[Value::Null, Value::Null, deletes]).await;
    assert_eq!((&done["a"], &done["b"]), (&Value::Null, &Value::Null));
    assert_eq!(calls.first("aether.storage_get", &[json!(ann), json!("bag"), json!("1")]).await, Value::Null);
    calls.fails("multi_update", &[json!([{}])], "tables with user_id").await;
    calls.fails("multi_update", &[json!([]), json!([{ "key": "1" }])], "argument 2 (`storageWrites`)").await;
    calls.fails("multi_update", &[json!([]), json!([]), json!([7])], "argument 3 (`storageDeletes`)").await;
    calls.fails("multi_update", &[json!([]), json!([]), json!([]), json!([{}])], "argument 4 (`walletUpdates`)").await;
    calls.stop().await;
}
