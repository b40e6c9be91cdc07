//! Streams.

use crate::api::{Api, column};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn sessions_join_change_and_leave_streams() {
    let mut api = Api::start().await;
    let (ann, bob) = (api.scripts.user().await, api.scripts.user().await);
    let ((mut seen, one), (_other, two)) = (api.socket(&ann).await, api.socket(&bob).await);
    let stream = json!({ "mode": 123, "label": "arena", "subject": Uuid::from_u128(1).to_string() });
    assert_eq!(api.one("nk.stream_user_join", json!([ann.user, one, stream])).await, json!(true));
    assert_eq!(api.one("nk.stream_user_join", json!([ann.user, one, stream])).await, json!(false));
    seen.next().await;
    api.one("nk.stream_user_join", json!([bob.user, two, stream, true, false, "watching"])).await;
    let presence = api.one("nk.stream_user_get", json!([bob.user, two, stream])).await;
    assert_eq!((&presence["hidden"], &presence["persistence"]), (&json!(true), &json!(false)));
    assert_eq!((&presence["status"], &presence["user_id"]), (&json!("watching"), &json!(bob.user)));
    assert_eq!(api.one("nk.stream_count", json!([stream])).await, json!(2));
    let visible = api.one("nk.stream_user_list", json!([stream, false, true])).await;
    assert_eq!(column(&visible, "session_id"), [json!(one)]);
    let hidden = api.one("nk.stream_user_list", json!([stream, true, false])).await;
    assert_eq!(column(&hidden, "session_id"), [json!(two)]);
    assert_eq!(column(&api.one("nk.stream_user_list", json!([stream])).await, "user_id").len(), 2);

    api.run("nk.stream_user_update", json!([bob.user, two, stream, false, true, "playing"])).await;
    let event = seen.next().await["stream_presence_event"].take();
    assert_eq!((&event["joins"][0]["user_id"], &event["joins"][0]["status"]), (&json!(bob.user), &json!("playing")));
    assert_eq!(event["stream"]["label"], json!("arena"));
    api.run("nk.stream_user_leave", json!([bob.user, two, stream])).await;
    assert_eq!(seen.next().await["stream_presence_event"]["leaves"][0]["user_id"], json!(bob.user));
    assert_eq!(api.one("nk.stream_user_get", json!([bob.user, two, stream])).await, Value::Null);

    api.one("nk.stream_user_join", json!([bob.user, two, stream])).await;
    api.run("nk.stream_user_kick", json!([{ "user_id": bob.user, "session_id": two }, stream])).await;
    assert_eq!(api.one("nk.stream_count", json!([stream])).await, json!(1));
    api.one("nk.stream_user_join", json!([bob.user, two, stream])).await;
    api.run("nk.stream_user_kick", json!([[{ "session_id": one }, { "session_id": two }], stream])).await;
    assert_eq!(api.one("nk.stream_count", json!([stream])).await, json!(0));
    api.one("nk.stream_user_join", json!([bob.user, two, stream])).await;
    api.run("nk.stream_close", json!([stream])).await;
    assert_eq!(api.one("nk.stream_user_list", json!([stream])).await, json!({}));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn data_reaches_all_sessions_of_a_stream_or_the_named_ones() {
    let mut api = Api::start().await;
    let (ann, bob) = (api.scripts.user().await, api.scripts.user().await);
    let ((mut first, one), (mut second, two)) = (api.socket(&ann).await, api.socket(&bob).await);
    let stream = json!({ "mode": 200 });
    for (user, session) in [(&ann, &one), (&bob, &two)] {
        api.one("nk.stream_user_join", json!([user.user, session, stream, true])).await;
    }
    api.run("nk.stream_send", json!([stream, "to all"])).await;
    api.run("nk.stream_send", json!([stream, "to one", [{ "session_id": one }], false])).await;
    let raw = json!({ "stream_data": { "stream": { "mode": 200 }, "data": "raw" } });
    api.run("nk.stream_send_raw", json!([stream, raw])).await;
    let data = |message: Value| message["stream_data"]["data"].clone();
    for text in ["to all", "to one", "raw"] {
        assert_eq!(data(first.next().await), json!(text));
    }
    for text in ["to all", "raw"] {
        assert_eq!(data(second.next().await), json!(text));
    }
    let notice = json!({ "notifications": { "notifications": [{ "id": "1", "subject": "Hi", "code": 4 }] } });
    api.run("nk.stream_send_raw", json!([{ "mode": 0, "subject": bob.user }, notice])).await;
    assert_eq!(second.next().await["notifications"]["notifications"][0]["subject"], json!("Hi"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_streams_and_sessions_are_errors() {
    let mut api = Api::start().await;
    let ann = api.scripts.user().await;
    let (_socket, session) = api.socket(&ann).await;
    let (stream, other) = (json!({ "mode": 99 }), api.user.user.clone());
    for mode in [json!(-1), json!(256), json!(1.5), json!("1"), Value::Null] {
        api.refuse("nk.stream_count", json!([{ "mode": mode }]), "streamTable").await;
    }
    api.refuse("nk.stream_user_list", json!([{ "mode": 99, "subject": "x" }]), "streamTable").await;
    api.refuse("nk.stream_close", json!([{ "mode": 99, "label": 1 }]), "streamTable").await;
    api.refuse("nk.stream_user_join", json!(["x", session, stream]), "userID").await;
    api.refuse("nk.stream_user_get", json!([ann.user, "x", stream]), "sessionID").await;
    api.refuse("nk.stream_user_kick", json!([[{ "user_id": ann.user }], stream]), "presences").await;
    api.refuse("nk.stream_send", json!([stream, 7]), "data").await;
    api.refuse("nk.stream_send", json!([stream, "x", [7]]), "presences").await;
    api.refuse("nk.stream_send_raw", json!([stream, { "nothing": {} }]), "envelope").await;
    let error = api.fail("nk.stream_user_join", json!([other, session, stream])).await;
    assert!(error.contains("one of another user"), "{error}");
    let error = api.fail("nk.stream_user_update", json!([ann.user, session, stream])).await;
    assert!(error.contains("not in the stream"), "{error}");
    for mode in [0, 5, 7, 10] {
        let error = api.fail("nk.stream_close", json!([{ "mode": mode, "subject": ann.user }])).await;
        assert!(error.contains("Only the server changes"), "{error}");
    }
    api.stop().await;
}
