//! Friends, invites and blocks.

use crate::api::{Api, column};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn friends_are_added_listed_changed_deleted_and_blocked() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    let [bob, eve] = [api.scripts.user().await.user, api.scripts.user().await.user];
    let name = |users: &Value| users["1"][0]["user"]["username"].as_str().unwrap_or_default().to_owned();

    api.run("nk.friends_add", json!([ann, "ann", [bob], null, { "note": "met online" }])).await;
    let sent = api.call("nk.friends_list", json!([ann, 100, 1])).await;
    assert_eq!((&sent["1"][0]["user"]["user_id"], &sent["1"][0]["state"]), (&json!(bob), &json!(1)));
    assert_eq!(sent["1"][0]["metadata"], json!({ "note": "met online" }));
    assert!(sent["1"][0]["update_time"].as_i64().is_some_and(|time| time > 1_700_000_000), "seconds: {sent}");
    assert_eq!(sent["1"][0]["user"]["online"], json!(false));
    assert!(sent["2"].is_null());
    let received = api.call("nk.friends_list", json!([bob, null, 2])).await;
    let own_name = name(&received);
    api.run("nk.friends_add", json!([bob, "bob", [], [own_name]])).await;
    let both = api.call("nk.friends_list", json!([ann, 10, -1])).await;
    assert_eq!(column(&both["1"], "state"), [json!(0)]);

    api.run("nk.friend_metadata_update", json!([ann, bob, { "note": "a friend" }])).await;
    let changed = api.call("nk.friends_list", json!([ann])).await;
    assert_eq!(changed["1"][0]["metadata"], json!({ "note": "a friend" }));
    let error = api.fail("nk.friend_metadata_update", json!([ann, eve, {}])).await;
    assert!(error.contains("not friends"), "{error}");

    api.run("nk.friends_add", json!([bob, "bob", [eve]])).await;
    api.run("nk.friends_add", json!([eve, "eve", [bob]])).await;
    let found = api.call("nk.friends_of_friends_list", json!([ann])).await;
    assert_eq!((&found["1"][0]["referrer"], &found["1"][0]["user"]["user_id"]), (&json!(bob), &json!(eve)));

    let page = api.call("nk.friends_list", json!([bob, 1])).await;
    let next = api.call("nk.friends_list", json!([bob, 1, null, page["2"]])).await;
    assert_ne!(page["1"][0]["user"]["user_id"], next["1"][0]["user"]["user_id"]);

    api.run("nk.friends_delete", json!([ann, "ann", [bob]])).await;
    assert_eq!(api.one("nk.friends_list", json!([ann])).await, json!({}), "an empty table");
    api.run("nk.friends_block", json!([ann, "ann", [eve]])).await;
    let blocked = api.call("nk.friends_list", json!([ann, 10, 3])).await;
    assert_eq!(blocked["1"][0]["user"]["user_id"], json!(eve));
    api.run("nk.friends_add", json!([ann, "ann"])).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_and_unknown_users_are_errors() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    api.refuse("nk.friends_list", json!(["ann"]), "userID").await;
    api.refuse("nk.friends_list", json!([ann, 10, 4]), "state").await;
    api.refuse("nk.friends_list", json!([ann, "10"]), "limit").await;
    api.refuse("nk.friends_add", json!([ann, "ann", "bob"]), "userIDs").await;
    api.refuse("nk.friends_add", json!([ann, "ann", ["bob"]]), "userIDs").await;
    api.refuse("nk.friends_add", json!([ann, "ann", [], [1]]), "usernames").await;
    api.refuse("nk.friend_metadata_update", json!([ann, ann, "x"]), "metadata").await;
    assert!(api.fail("nk.friends_list", json!([ann, 100_000])).await.contains("limit must be between"));
    let unknown = uuid::Uuid::new_v4().to_string();
    assert!(api.fail("nk.friends_add", json!([ann, "ann", [unknown]])).await.contains("No valid ID"));
    assert!(api.fail("nk.friends_block", json!([ann, "ann", [ann]])).await.contains("Cannot block self"));
    api.stop().await;
}
