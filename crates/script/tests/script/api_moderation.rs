//! Reports of players, and mutes.

use crate::api::{Api, column};
use aether_services::moderation::NewReport;
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_listed_with_their_statements() {
    let mut api = Api::start().await;
    let (ann, bob) = (api.user.user.clone(), api.scripts.user().await.user);
    let id = |user: &str| Uuid::try_parse(user).expect("an id");
    let report = NewReport {
        target: id(&bob),
        category: "cheating".to_owned(),
        text: "Walls.".to_owned(),
        match_id: "m1".to_owned(),
        ..NewReport::default()
    };
    let moderation = &api.scripts.server.services().moderation;
    moderation.report(id(&ann), report).await.expect("the report is valid");
    let list = api.call("aether.moderation_reports_list", json!([])).await;
    let report = &list["1"][0];
    assert_eq!((&report["reporter_id"], &report["target_id"]), (&json!(ann), &json!(bob)));
    assert_eq!((&report["open"], &report["decision"]), (&json!(true), &Value::Null));
    let statement = &report["statements"][0];
    assert_eq!((&statement["category"], &statement["text"]), (&json!("cheating"), &json!("Walls.")));
    assert_eq!((&statement["match_id"], list["2"].is_null()), (&json!("m1"), true));
    assert_eq!(api.one("aether.moderation_reports_list", json!([true])).await, json!({}));
    assert_eq!(api.one("aether.moderation_reports_list", json!([false, ann])).await, json!({}));
    let found = api.one("aether.moderation_reports_list", json!([false, bob, 1])).await;
    assert_eq!(column(&found, "id"), [report["id"].clone()]);
    api.refuse("aether.moderation_reports_list", json!(["open"]), "resolved").await;
    api.refuse("aether.moderation_reports_list", json!([false, "bob"]), "target").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_muted_player_cannot_chat_until_the_mute_ends() {
    let mut api = Api::start().await;
    let bob = api.scripts.user().await;
    let (mut socket, _) = api.socket(&bob).await;
    socket.request(json!({ "channel_join": { "type": 1, "target": "lobby" } })).await;
    let say = json!({ "channel_message_send": { "channel_id": "2...lobby", "content": "{}" } });
    let mute = api.one("aether.moderation_mute", json!([bob.user, 600, "spam"])).await;
    assert_eq!((&mute["user_id"], &mute["reason"]), (&json!(bob.user), &json!("spam")));
    assert_eq!(mute["end_time"].as_i64(), mute["create_time"].as_i64().map(|start| start + 600));
    let error = socket.request(say.clone()).await;
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains("muted")), "{error}");
    assert_eq!(api.one("aether.moderation_mute_get", json!([bob.user])).await, mute);
    let list = api.call("aether.moderation_mutes_list", json!([])).await;
    assert_eq!((column(&list["1"], "id"), &list["2"]), (vec![mute["id"].clone()], &Value::Null));
    assert_eq!(api.one("aether.moderation_unmute", json!([bob.user])).await, json!(true));
    assert_eq!(api.one("aether.moderation_unmute", json!([bob.user])).await, json!(false));
    assert_eq!(api.one("aether.moderation_mute_get", json!([bob.user])).await, Value::Null);
    assert!(socket.request(say).await["channel_message_ack"].is_object());
    let endless = api.one("aether.moderation_mute", json!([bob.user])).await;
    assert!(endless["end_time"].is_null(), "{endless}");
    api.refuse("aether.moderation_mute", json!(["bob"]), "user").await;
    api.refuse("aether.moderation_mute", json!([bob.user, "long"]), "seconds").await;
    assert!(api.fail("aether.moderation_mute", json!([bob.user, 0])).await.contains("A mute lasts"));
    let unknown = Uuid::new_v4().to_string();
    assert!(api.fail("aether.moderation_mute", json!([unknown])).await.contains("User account not found"));
    api.stop().await;
}
