//! Groups of players.

use crate::api::{Api, column};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_created_found_changed_and_deleted() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    let all = json!([ann, "Owls", ann, "en", "Night birds.", "http://a/b.png", true, { "level": 3 }, 50]);
    let group = api.one("nk.group_create", all).await;
    assert_eq!((&group["name"], &group["creator_id"], &group["lang_tag"]), (&json!("Owls"), &json!(ann), &json!("en")));
    assert_eq!((&group["open"], &group["max_count"], &group["edge_count"]), (&json!(true), &json!(50), &json!(1)));
    assert_eq!((&group["metadata"], &group["description"]), (&json!({ "level": 3 }), &json!("Night birds.")));
    assert!(group["create_time"].as_i64().is_some_and(|time| time > 1_700_000_000), "{group}");
    let of_server = api.one("nk.group_create", json!([ann, "Gulls"])).await;
    assert_eq!((&of_server["creator_id"], &of_server["open"]), (&json!(Uuid::nil()), &json!(false)));
    assert!(api.fail("nk.group_create", json!([ann, "owls"])).await.contains("Group name is in use"));

    let change = json!([group["id"], null, "Eagles", ann, "de", "Day birds.", "", false, { "level": 4 }, 60]);
    api.run("nk.group_update", change).await;
    let found = api.one("nk.groups_get_id", json!([[group["id"], Uuid::new_v4().to_string()]])).await;
    assert_eq!(column(&found, "name"), [json!("Eagles")]);
    assert_eq!((&found[0]["metadata"], &found[0]["max_count"]), (&json!({ "level": 4 }), &json!(60)));
    assert_eq!(found[0]["avatar_url"], json!("http://a/b.png"), "an empty text changes nothing");
    let denied = api.fail("nk.group_update", json!([of_server["id"], Uuid::new_v4().to_string(), "Other"])).await;
    assert!(denied.contains("Only admins"), "{denied}");

    let list = api.call("nk.groups_list", json!(["e%", null, null, null, 10])).await;
    assert_eq!(column(&list["1"], "name"), [json!("Eagles")]);
    assert!(list["2"].is_null());
    let page = api.call("nk.groups_list", json!([null, null, false, -1, 1])).await;
    let next = api.call("nk.groups_list", json!(["", "", false, -1, 1, page["2"]])).await;
    assert_eq!([column(&page["1"], "name"), column(&next["1"], "name")], [[json!("Gulls")], [json!("Eagles")]]);
    let random = api.one("nk.groups_get_random", json!([10])).await;
    let mut names: Vec<String> = column(&random, "name").iter().map(Value::to_string).collect();
    names.sort();
    assert_eq!(names, ["\"Eagles\"", "\"Gulls\""]);
    assert_eq!(column(&api.one("nk.groups_get_random", json!([1])).await, "name").len(), 1);

    api.run("nk.group_delete", json!([group["id"]])).await;
    assert_eq!(api.one("nk.groups_get_id", json!([[group["id"]]])).await, json!({}));
    assert!(api.fail("nk.group_delete", json!([group["id"]])).await.contains("Group not found"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_join_change_roles_and_leave() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    let [bob, eve] = [api.scripts.user().await.user, api.scripts.user().await.user];
    let open = json!([ann, "Owls", null, null, null, null, true]);
    let group = api.one("nk.group_create", open).await["id"].clone();
    api.run("nk.group_user_join", json!([group, bob, "bob"])).await;
    api.run("nk.group_users_add", json!([group, [eve]])).await;
    assert_eq!(states(&mut api, &group).await, [json!([ann, 0]), json!([bob, 2]), json!([eve, 2])]);
    api.run("nk.group_users_promote", json!([group, [bob], ann])).await;
    let admins = api.call("nk.group_users_list", json!([group, 10, 1])).await;
    assert_eq!((&admins["1"][0]["user"]["user_id"], &admins["1"][0]["state"]), (&json!(bob), &json!(1)));
    let denied = api.fail("nk.group_users_kick", json!([group, [ann], eve])).await;
    assert!(denied.contains("Only admins"), "{denied}");
    api.run("nk.group_users_demote", json!([group, [bob]])).await;
    api.run("nk.group_users_kick", json!([group, [bob], ann])).await;
    api.run("nk.group_users_ban", json!([group, [eve]])).await;
    let banned = api.call("nk.group_users_list", json!([group, 10, 4])).await;
    assert_eq!(banned["1"][0]["user"]["user_id"], json!(eve));
    assert!(api.fail("nk.group_user_join", json!([group, eve, "eve"])).await.contains("banned"));
    api.run("nk.group_user_join", json!([group, bob, "bob"])).await;
    let groups = api.call("nk.user_groups_list", json!([bob])).await;
    assert_eq!((&groups["1"][0]["group"]["name"], &groups["1"][0]["state"]), (&json!("Owls"), &json!(2)));
    api.run("nk.group_user_leave", json!([group, bob, "bob"])).await;
    assert_eq!(api.one("nk.user_groups_list", json!([bob, 100, 2])).await, json!({}));
    let page = api.call("nk.group_users_list", json!([group, 1, -1])).await;
    assert_eq!((column(&page["1"], "state"), &page["2"]), (vec![json!(0)], &Value::Null));
    api.run("nk.group_users_add", json!([group, []])).await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_errors_that_name_them() {
    let mut api = Api::start().await;
    let (ann, group) = (api.user.user.clone(), Uuid::new_v4().to_string());
    api.refuse("nk.group_create", json!(["ann", "Owls"]), "userID").await;
    api.refuse("nk.group_create", json!([ann, 7]), "name").await;
    api.refuse("nk.group_create", json!([ann, "Owls", null, null, null, null, "yes"]), "open").await;
    api.refuse("nk.group_create", json!([ann, "Owls", null, null, null, null, true, {}, -1]), "maxCount").await;
    api.refuse("nk.group_users_add", json!([group, ann]), "userIDs").await;
    api.refuse("nk.group_users_list", json!([group, 10, 5]), "state").await;
    api.refuse("nk.groups_list", json!(["", "", 1]), "open").await;
    api.refuse("nk.groups_get_id", json!([["x"]]), "groupIDs").await;
    api.refuse("nk.groups_get_random", json!([-1]), "count").await;
    assert!(api.fail("nk.groups_get_random", json!([1_000])).await.contains("At most 100"));
    for function in ["nk.group_users_list", "nk.group_delete"] {
        assert!(api.fail(function, json!([group])).await.contains("Group not found"), "{function}");
    }
    api.stop().await;
}

/// Returns ids and states of the users of a group.
async fn states(api: &mut Api, group: &Value) -> Vec<Value> {
    let list = api.one("nk.group_users_list", json!([group])).await;
    let users = list.as_array().expect("a list").iter();
    users.map(|entry| json!([entry["user"]["user_id"], entry["state"]])).collect()
}
