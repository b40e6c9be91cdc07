use crate::desk::World;
use http::Method;
use serde_json::{Value, json};

const TIME: &str = "2023-11-14T22:13:20Z";

fn default_profile() -> Value {
    let (id, data) = ("default", json!({}));
    json!({ "id": id, "name": id, "data": data, "active": true, "create_time": TIME, "update_time": TIME })
}

#[tokio::test]
async fn profiles_are_listed_made_changed_selected_and_deleted() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let ask = async |method: Method, path: &str, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        world.ask(Some(&player), method, path, &body).await
    };
    let list = ask(Method::GET, "/v2/profile", Value::Null).await;
    assert_eq!(list, (200, json!({ "active": "default", "profiles": [default_profile()] })));

    let new = json!({ "id": "mage", "name": "Merlin", "data": { "level": 3, "items": ["staff"] } });
    let (status, made) = ask(Method::POST, "/v2/profile", new.clone()).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&made["id"], &made["name"], &made["data"], &made["active"]),
        (&json!("mage"), &json!("Merlin"), &new["data"], &json!(false))
    );
    let (_, random) = ask(Method::POST, "/v2/profile", json!({ "name": "someone" })).await;
    assert!(random["id"].as_str().is_some_and(|id| id.len() == 36), "{random}");

    let (_, changed) = ask(Method::PUT, "/v2/profile/mage", json!({ "data": { "level": 4 } })).await;
    assert_eq!((&changed["name"], &changed["data"]), (&json!("Merlin"), &json!({ "level": 4 })));
    let (status, selected) = ask(Method::POST, "/v2/profile/mage/select", Value::Null).await;
    assert_eq!((status, &selected["active"]), (200, &json!(true)));
    let (_, list) = ask(Method::GET, "/v2/profile", Value::Null).await;
    assert_eq!((&list["active"], list["profiles"].as_array().map(Vec::len)), (&json!("mage"), Some(3)));
    let deleted = ask(Method::DELETE, "/v2/profile/mage", Value::Null).await;
    assert_eq!(deleted, (200, json!({ "active": "default" })));
}

#[tokio::test]
async fn what_is_wrong_is_refused_with_its_code() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let cases = [
        (Method::POST, "/v2/profile", "{}", 400, 3),
        (Method::POST, "/v2/profile", r#"{"name":"a","data":[]}"#, 400, 3),
        (Method::POST, "/v2/profile", r#"{"name":"a","data":"{}"}"#, 400, 3),
        (Method::POST, "/v2/profile", r#"{"name":"a","id":"a b"}"#, 400, 3),
        (Method::POST, "/v2/profile", r#"{"name":"a","id":"default"}"#, 409, 6),
        (Method::POST, "/v2/profile", "{", 400, 3),
        (Method::PUT, "/v2/profile/gone", r#"{"name":"a"}"#, 404, 5),
        (Method::PUT, "/v2/profile/default", r#"{"name":""}"#, 400, 3),
        (Method::POST, "/v2/profile/gone/select", "", 404, 5),
        (Method::DELETE, "/v2/profile/gone", "", 404, 5),
        (Method::DELETE, "/v2/profile/default", "", 400, 9),
        (Method::DELETE, "/v2/profile", "", 501, 12),
    ];
    for (method, path, body, expected_status, code) in cases {
        let (status, refusal) = world.ask(Some(&player), method.clone(), path, body).await;
        assert_eq!(
            (status, refusal["code"].as_u64()),
            (expected_status, Some(code)),
            "{method} {path} {body}: {refusal}"
        );
    }
    let (status, _) = world.ask(None, Method::GET, "/v2/profile", "").await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn profiles_are_each_user_s_own() {
    let world = World::new(|_| {}).await;
    let (one, other) = (world.player().await, world.player().await);
    world.ask(Some(&one), Method::POST, "/v2/profile", r#"{"id":"mage","name":"a"}"#).await;
    let (_, list) = world.ask(Some(&other), Method::GET, "/v2/profile", "").await;
    assert_eq!(list["profiles"], json!([default_profile()]));
    let (status, _) = world.ask(Some(&other), Method::POST, "/v2/profile/mage/select", "").await;
    assert_eq!(status, 404);
    assert_ne!(one.id, other.id);
}
