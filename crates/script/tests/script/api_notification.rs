//! Notifications of users.

use crate::api::{Api, column};
use serde_json::json;
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn notifications_reach_sockets_and_are_stored() {
    let mut api = Api::start().await;
    let (ann, bob) = (api.user.user.clone(), api.scripts.user().await);
    let (mut socket, _) = api.socket(&bob).await;
    api.run("nk.notification_send", json!([bob.user, "Gold", { "gold": 5 }, 7, ann, true])).await;
    let live = socket.next().await["notifications"]["notifications"][0].clone();
    assert_eq!((&live["subject"], &live["code"], &live["sender_id"]), (&json!("Gold"), &json!(7), &json!(ann)));
    let many = json!([[
        { "user_id": bob.user, "subject": "One", "content": {}, "code": 1, "persistent": true },
        { "user_id": bob.user, "subject": "Two", "content": { "a": 1 }, "code": 2, "sender_id": ann },
    ]]);
    api.run("nk.notifications_send", many).await;
    let live = socket.next().await["notifications"]["notifications"].clone();
    assert_eq!(column(&live, "subject"), [json!("One"), json!("Two")]);
    api.run("nk.notification_send_all", json!(["News", { "x": true }, 9])).await;
    let live = socket.next().await["notifications"]["notifications"][0].clone();
    assert_eq!((&live["subject"], &live["content"]), (&json!("News"), &json!(r#"{"x":true}"#)));

    let list = api.call("nk.notifications_list", json!([bob.user])).await;
    assert_eq!(column(&list["1"], "subject"), [json!("Gold"), json!("One")], "those that are not persistent are gone");
    let gold = &list["1"][0];
    assert_eq!(
        (&gold["content"], &gold["user_id"], &gold["persistent"]),
        (&json!({ "gold": 5 }), &json!(bob.user), &json!(true))
    );
    assert!(gold["create_time"].as_i64().is_some_and(|time| time > 1_700_000_000), "{gold}");
    let page = api.call("nk.notifications_list", json!([bob.user, 1])).await;
    let next = api.call("nk.notifications_list", json!([bob.user, 1, page["2"]])).await;
    assert_eq!(column(&next["1"], "subject"), [json!("One")]);
    api.run("nk.notification_send_all", json!(["For all", {}, 9, true])).await;
    assert_eq!(column(&api.call("nk.notifications_list", json!([ann])).await["1"], "subject"), [json!("For all")]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_notifications_are_read_changed_and_deleted_by_id() {
    let mut api = Api::start().await;
    let (ann, bob) = (api.user.user.clone(), api.scripts.user().await.user);
    for (user, subject) in [(&ann, "A"), (&bob, "B"), (&bob, "C"), (&bob, "D")] {
        api.run("nk.notification_send", json!([user, subject, {}, 1, null, true])).await;
    }
    let of_bob = column(&api.call("nk.notifications_list", json!([bob])).await["1"], "id");
    let of_ann = api.call("nk.notifications_list", json!([ann])).await["1"][0]["id"].clone();
    let all = json!([of_ann, of_bob[0], of_bob[1], Uuid::new_v4().to_string()]);
    let found = api.one("nk.notifications_get_id", json!([all])).await;
    assert_eq!(column(&found, "subject"), [json!("A"), json!("B"), json!("C")]);
    let found = api.one("nk.notifications_get_id", json!([all, bob])).await;
    assert_eq!(column(&found, "subject"), [json!("B"), json!("C")]);

    let changes = json!([[
        { "id": of_bob[0], "subject": "B2", "content": { "b": 2 } },
        { "notification_id": of_ann, "sender_id": bob },
    ]]);
    api.run("nk.notifications_update", changes).await;
    let found = api.one("nk.notifications_get_id", json!([[of_bob[0], of_ann]])).await;
    assert_eq!((&found[0]["subject"], &found[0]["content"]), (&json!("B2"), &json!({ "b": 2 })));
    assert_eq!((&found[1]["subject"], &found[1]["sender_id"]), (&json!("A"), &json!(bob)));

    api.run("nk.notifications_delete_id", json!([[of_bob[0], of_ann], bob])).await;
    api.run("nk.notifications_delete", json!([[{ "user_id": bob, "notification_id": of_bob[1] }]])).await;
    let found = api.one("nk.notifications_get_id", json!([[of_ann, of_bob[0], of_bob[1], of_bob[2]]])).await;
    assert_eq!(column(&found, "subject"), [json!("A"), json!("D")], "that of another user stays");
    api.run("nk.notifications_delete_id", json!([[of_bob[2], of_ann]])).await;
    assert_eq!(api.one("nk.notifications_get_id", json!([[of_ann, of_bob[2]]])).await, json!({}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_errors_that_name_them() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    api.refuse("nk.notification_send", json!(["ann", "Hi", {}, 1]), "userID").await;
    api.refuse("nk.notification_send", json!([ann, "Hi", [1], 1]), "contentMap").await;
    api.refuse("nk.notification_send", json!([ann, "Hi", {}, 0]), "code").await;
    api.refuse("nk.notification_send", json!([ann, "Hi", {}]), "code").await;
    api.refuse("nk.notifications_send", json!([[{ "user_id": ann, "subject": "Hi", "code": 1 }]]), "notifications")
        .await;
    api.refuse("nk.notification_send_all", json!(["Hi", "text", 1]), "content").await;
    api.refuse("nk.notifications_delete", json!([[{ "user_id": ann }]]), "notifications").await;
    api.refuse("nk.notifications_update", json!([[{ "id": "x" }]]), "updates").await;
    api.refuse("nk.notifications_update", json!([[{ "id": ann, "content": "x" }]]), "updates").await;
    api.refuse("nk.notifications_get_id", json!([["x"]]), "notificationIDs").await;
    assert!(api.fail("nk.notification_send", json!([ann, "", {}, 1])).await.contains("subject"));
    assert!(api.fail("nk.notifications_update", json!([[{ "id": ann, "subject": "" }]])).await.contains("subject"));
    assert!(api.fail("nk.notifications_list", json!([ann, 101])).await.contains("limit must be between"));
    api.stop().await;
}
