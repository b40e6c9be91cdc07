//! A clan with a chat, hooks and notifications.

use crate::support::{Scenario, next_of, rpc};
use serde_json::{Value, json};

async fn start() -> Scenario {
    Scenario::start(&[("clan_chat", include_str!("clan_chat.lua"))], |config| {
        // A window that does not end while the test runs.
        config.script.environment = vec!["chat_window_seconds=1000000000".to_owned()];
    })
    .await
}

fn content(message: &Value) -> Value {
    serde_json::from_str(message["content"].as_str().expect("a content")).expect("the content is JSON")
}

#[tokio::test(flavor = "multi_thread")]
async fn members_join_are_welcomed_and_chat_with_filtered_words() {
    let scenario = start().await;
    let (mut ann, mut bob) = (scenario.user().await, scenario.user().await);
    let created = ann.post("/v2/group", &json!({ "name": "Direct" })).await.expect("the server answers");
    assert_eq!(created.status, 404, "clients create no groups");
    let (status, clan) = rpc(&mut ann, "clan_create", &json!({ "name": "Foxes", "motto": "quick" })).await;
    assert_eq!((status, &clan["name"]), (200, &json!("Foxes")), "{clan}");
    let id = clan["clan_id"].as_str().expect("an id").to_owned();
    let (status, refused) = rpc(&mut bob, "clan_create", &json!({ "name": "Foxes" })).await;
    assert_eq!((status, &refused["message"]), (400, &json!("the name is taken")));

    let mut of_ann = scenario.server.socket(&ann.token).await;
    let join = json!({ "channel_join": { "type": 3, "target": id, "persistence": true } });
    let channel = of_ann.request(join.clone()).await["channel"]["id"].clone();
    bob.post(&format!("/v2/group/{id}/join"), &json!({})).await.expect("the server answers");
    let welcome = loop {
        let message = next_of(&mut of_ann, "channel_message").await;
        if message["code"].as_i64().unwrap_or(0) == 0 {
            break message;
        }
    };
    assert!(content(&welcome)["text"].as_str().is_some_and(|text| text.starts_with("Welcome, ")), "{welcome}");
    let stored = ann.get("/v2/notification").await.expect("the server answers").json();
    let joined = stored["notifications"].as_array().expect("notifications").iter().find(|it| it["code"] == 101);
    assert!(joined.is_some(), "{stored}");

    let mut of_bob = scenario.server.socket(&bob.token).await;
    of_bob.request(join).await;
    let say = |text: &str| {
        let content = json!({ "text": text }).to_string();
        json!({ "channel_message_send": { "channel_id": channel, "content": content } })
    };
    of_bob.request(say("hello you NOOB")).await;
    let message = next_of(&mut of_ann, "channel_message").await;
    assert_eq!(content(&message), json!({ "text": "hello you ****" }));
    let refused = of_bob.request(json!({ "channel_message_send": { "channel_id": channel, "content": "{}" } })).await;
    assert_eq!(refused["error"]["message"], "a message needs a text", "{refused}");
    for number in 2..=5 {
        let answer = of_bob.request(say(&format!("message {number}"))).await;
        assert!(answer["channel_message_ack"].is_object(), "{answer}");
    }
    let refused = of_bob.request(say("one too many")).await;
    assert_eq!(refused["error"]["message"], "you write too fast", "{refused}");
    let (_, history) = rpc(&mut ann, "clan_history", &json!({ "clan_id": id })).await;
    let texts: Vec<&str> = history["texts"].as_array().expect("texts").iter().filter_map(Value::as_str).collect();
    assert!(texts.contains(&"hello you ****") && texts.contains(&"message 5"), "{history}");
    assert!(!texts.contains(&"one too many"));
    scenario.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_announce_to_all_members() {
    let scenario = start().await;
    let (mut ann, mut bob) = (scenario.user().await, scenario.user().await);
    let (_, clan) = rpc(&mut ann, "clan_create", &json!({ "name": "Wolves" })).await;
    let id = clan["clan_id"].as_str().expect("an id").to_owned();
    bob.post(&format!("/v2/group/{id}/join"), &json!({})).await.expect("the server answers");
    let mut of_bob = scenario.server.socket(&bob.token).await;
    let news = json!({ "clan_id": id, "text": "war at nine" });
    let (status, _) = rpc(&mut bob, "clan_announce", &news).await;
    assert_eq!(status, 403, "members do not announce");
    let (status, told) = rpc(&mut ann, "clan_announce", &news).await;
    assert_eq!((status, told), (200, json!({ "told": 1 })));
    let notified = next_of(&mut of_bob, "notifications").await;
    let notification = &notified["notifications"][0];
    assert_eq!((&notification["code"], content(notification)), (&json!(102), json!({ "text": "war at nine" })));
    assert_eq!(notification["sender_id"], json!(ann.user));
    scenario.stop().await;
}
