//! Chat channels and their messages.

use crate::api::{Api, column};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_sent_changed_listed_and_removed() {
    let mut api = Api::start().await;
    let room = api.one("nk.channel_id_build", json!(["", "lobby", 1])).await;
    assert_eq!(room, json!("2...lobby"));
    let ann = api.scripts.user().await;
    let (mut socket, _) = api.socket(&ann).await;
    socket.request(json!({ "channel_join": { "type": 1, "target": "lobby" } })).await;

    let ack = api.one("nk.channel_message_send", json!([room, { "text": "hi" }, ann.user, "ann", true])).await;
    assert_eq!((&ack["channel_id"], &ack["username"]), (&room, &json!("ann")));
    assert_eq!((&ack["code"], &ack["persistent"], &ack["sequence"]), (&json!(0), &json!(true), &json!(1)));
    assert_eq!((&ack["messageId"], &ack["channelId"]), (&ack["message_id"], &room));
    assert_eq!(ack["createTime"], ack["create_time"]);
    let seen = message(&mut socket).await;
    assert_eq!((&seen["content"], &seen["message_id"]), (&json!(r#"{"text":"hi"}"#), &ack["message_id"]));
    assert_eq!(seen["sender_id"], json!(ann.user));

    let id = &ack["message_id"];
    let changed =
        api.one("nk.channel_message_update", json!([room, id, { "text": "ho" }, ann.user, "ann", true])).await;
    assert_eq!((&changed["code"], &changed["message_id"]), (&json!(1), id));
    assert_eq!(message(&mut socket).await["content"], json!(r#"{"text":"ho"}"#));
    let other = api.user.user.clone();
    let denied = api.fail("nk.channel_message_update", json!([room, id, { "text": "no" }, other])).await;
    assert!(denied.contains("or it is of another user"), "{denied}");

    let server = api.one("nk.channel_message_send", json!([room, { "text": "server" }])).await;
    assert_eq!(server["persistent"], json!(true), "messages are stored by default");
    let live = api.one("nk.channel_message_send", json!([room, { "text": "live" }, null, null, false])).await;
    assert_eq!((&live["persistent"], &live["sequence"]), (&json!(false), &json!(0)));
    for text in ["server", "live"] {
        assert_eq!(message(&mut socket).await["content"], json!(json!({ "text": text }).to_string()));
    }

    let list = api.call("nk.channel_messages_list", json!([room, 1])).await;
    assert_eq!(column(&list["1"], "content"), [json!(r#"{"text":"ho"}"#)]);
    assert_eq!((&list["1"][0]["sender_id"], &list["1"][0]["roomName"]), (&json!(ann.user), &json!("lobby")));
    assert!(list["3"].is_null(), "the first page has none before it");
    let next = api.call("nk.channel_messages_list", json!([room, 1, true, list["2"]])).await;
    assert_eq!(column(&next["1"], "message_id"), [server["message_id"].clone()]);
    assert!(next["2"].is_null() && next["3"].is_string(), "{next}");
    let backwards = api.call("nk.channel_messages_list", json!([room, 10, false])).await;
    assert_eq!(column(&backwards["1"], "sequence"), [json!(2), json!(1)]);

    let removed = api.one("nk.channel_message_remove", json!([room, id, ann.user, "ann"])).await;
    assert_eq!(removed["code"], json!(2));
    assert_eq!(message(&mut socket).await["code"], json!(2));
    let rest = api.call("nk.channel_messages_list", json!([room])).await;
    assert_eq!(column(&rest["1"], "message_id"), [server["message_id"].clone()]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_are_not_stored_reach_the_members_alone() {
    let mut api = Api::start().await;
    let ann = api.scripts.user().await;
    let (mut socket, _) = api.socket(&ann).await;
    socket.request(json!({ "channel_join": { "type": 1, "target": "lobby" } })).await;
    let sent = api.one("nk.channel_message_send", json!(["2...lobby", { "a": 1 }])).await;
    message(&mut socket).await;
    let id = &sent["message_id"];
    api.one("nk.channel_message_update", json!(["2...lobby", id, { "a": 2 }, null, null, false])).await;
    let seen = message(&mut socket).await;
    assert_eq!((&seen["code"], &seen["content"]), (&json!(1), &json!(r#"{"a":2}"#)));
    api.one("nk.channel_message_remove", json!(["2...lobby", id, null, null, false])).await;
    assert_eq!(message(&mut socket).await["code"], json!(2));
    let list = api.call("nk.channel_messages_list", json!(["2...lobby"])).await;
    assert_eq!(column(&list["1"], "content"), [json!(r#"{"a":1}"#)]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_of_channels_need_users_and_groups_that_exist() {
    let mut api = Api::start().await;
    let [own, other] = [api.user.user.clone(), api.scripts.user().await.user];
    let direct = api.one("nk.channel_id_build", json!([own, other, 2])).await;
    let again = api.one("nk.channel_id_build", json!([other, own, 2])).await;
    assert_eq!(direct, again);
    assert!(direct.as_str().is_some_and(|id| id.starts_with("4.") && id.contains(&own)), "{direct}");
    let group = api.one("nk.group_create", json!([own, "Owls"])).await["id"].clone();
    let channel = api.one("nk.channel_id_build", json!([null, group, 3])).await;
    assert_eq!(channel, json!(format!("3.{}..", group.as_str().expect("an id"))));
    let missing = Uuid::new_v4().to_string();
    for (target, kind) in [(&missing, 2), (&missing, 3), (&"nobody".to_owned(), 2)] {
        let error = api.fail("nk.channel_id_build", json!([own, target, kind])).await;
        assert!(error.contains("was not found"), "{error}");
    }
    api.refuse("nk.channel_id_build", json!([null, other, 2]), "senderID").await;
    api.refuse("nk.channel_id_build", json!([own, other, 4]), "chanType").await;
    api.refuse("nk.channel_message_send", json!(["2...lobby", "text"]), "content").await;
    api.refuse("nk.channel_message_send", json!([7, {}]), "channelID").await;
    api.refuse("nk.channel_message_update", json!(["2...lobby", "x", {}]), "messageID").await;
    let error = api.fail("nk.channel_message_send", json!(["9...lobby", {}])).await;
    assert!(error.contains("Invalid channel identifier"), "{error}");
    api.stop().await;
}

async fn message(socket: &mut aether_testkit_server::ServicesSocket) -> Value {
    loop {
        let mut next = socket.next().await;
        if !next["channel_message"].is_null() {
            return next["channel_message"].take();
        }
    }
}
