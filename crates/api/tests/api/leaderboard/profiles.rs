use crate::world::World;
use aether_services::profile::operation::{
    CreateProfile, DeleteProfile, ListProfiles, SelectProfile, UpdateProfile, UpdateProfileRequest,
};
use aether_services::{GrpcCode, Hooks, Operation, ServiceError};
use http::Method;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const TIME: &str = "2023-11-14T22:13:20Z";

fn default_profile() -> Value {
    let (id, data) = ("default", json!({}));
    json!({ "id": id, "name": id, "data": data, "active": true, "create_time": TIME, "update_time": TIME })
}

#[tokio::test]
async fn profiles_are_listed_created_changed_selected_and_deleted() {
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
async fn invalid_requests_are_rejected_with_a_code() {
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
        let (status, error) = world.ask(Some(&player), method.clone(), path, body).await;
        assert_eq!((status, error["code"].as_u64()), (expected_status, Some(code)), "{method} {path} {body}: {error}");
    }
    let (status, _) = world.ask(None, Method::GET, "/v2/profile", "").await;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn profiles_belong_to_one_user() {
    let world = World::new(|_| {}).await;
    let (one, other) = (world.player().await, world.player().await);
    world.ask(Some(&one), Method::POST, "/v2/profile", r#"{"id":"mage","name":"a"}"#).await;
    let (_, list) = world.ask(Some(&other), Method::GET, "/v2/profile", "").await;
    assert_eq!(list["profiles"], json!([default_profile()]));
    let (status, _) = world.ask(Some(&other), Method::POST, "/v2/profile/mage/select", "").await;
    assert_eq!(status, 404);
    assert_ne!(one.id, other.id);
}

/// Adds hooks that note the start and the end of an operation.
fn note<O: Operation>(hooks: &mut Hooks, noted: &Arc<Mutex<Vec<String>>>) {
    let (before, after) = (Arc::clone(noted), Arc::clone(noted));
    hooks.before::<O, _>(move |context, request| {
        assert!(context.caller.user().is_some(), "a hook gets the caller");
        before.lock().expect("the lock is not poisoned").push(format!("before {}", O::NAME));
        async { Ok(Some(request)) }
    });
    hooks.after::<O, _>(move |_, _, _| {
        after.lock().expect("the lock is not poisoned").push(format!("after {}", O::NAME));
        async {}
    });
}

#[tokio::test]
async fn hooks_of_profiles_can_change_and_reject_requests() {
    let noted: Arc<Mutex<Vec<String>>> = Arc::default();
    let world = World::new(|services| {
        let hooks = &mut services.hooks;
        note::<ListProfiles>(hooks, &noted);
        note::<CreateProfile>(hooks, &noted);
        note::<UpdateProfile>(hooks, &noted);
        note::<SelectProfile>(hooks, &noted);
        note::<DeleteProfile>(hooks, &noted);
        hooks.before::<CreateProfile, _>(|_, mut request| async move {
            request.data = Some(r#"{"level":1}"#.to_owned());
            Ok(Some(request))
        });
        hooks.before::<UpdateProfile, _>(|_, request: UpdateProfileRequest| async move {
            assert_eq!(request.id, "mage", "the id is from the path");
            match request.profile.as_ref().is_some_and(|fields| fields.data.is_some()) {
                true => Err(ServiceError::new(GrpcCode::PermissionDenied, "Levels are earned.")),
                false => Ok(Some(request)),
            }
        });
    })
    .await;
    let player = world.player().await;
    let ask = async |method: Method, path: &str, body: &str| world.ask(Some(&player), method, path, body).await;
    let (_, made) = ask(Method::POST, "/v2/profile", r#"{"id":"mage","name":"Merlin","data":{"level":99}}"#).await;
    assert_eq!(made["data"], json!({ "level": 1 }), "a hook may change the request");
    let cheated = ask(Method::PUT, "/v2/profile/mage", r#"{"data":{"level":99}}"#).await;
    assert_eq!(cheated, (403, json!({ "code": 7, "message": "Levels are earned." })));
    assert_eq!(ask(Method::PUT, "/v2/profile/mage", r#"{"name":"Nimue"}"#).await.1["name"], "Nimue");
    assert_eq!(ask(Method::POST, "/v2/profile/mage/select", "").await.0, 200);
    assert_eq!(ask(Method::GET, "/v2/profile", "").await.0, 200);
    assert_eq!(ask(Method::DELETE, "/v2/profile/mage", "").await.0, 200);
    let ran = |name: &str| [format!("before {name}"), format!("after {name}")];
    let mut expected = ran("CreateProfile").to_vec();
    expected.push("before UpdateProfile".to_owned());
    expected.extend(["UpdateProfile", "SelectProfile", "ListProfiles", "DeleteProfile"].into_iter().flat_map(ran));
    assert_eq!(*noted.lock().expect("the lock is not poisoned"), expected);
}

#[tokio::test]
async fn data_is_stored_unchanged_up_to_a_depth() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let deep = |levels: usize| format!("{}{}", r#"{"a":"#.repeat(levels - 1) + "{}", "}".repeat(levels - 1));
    let make = async |data: String| {
        let body = format!(r#"{{"name":"a","data":{data}}}"#);
        world.ask(Some(&player), Method::POST, "/v2/profile", &body).await
    };
    let (status, made) = make(r#"{"n":9007199254740993,"z":1.50}"#.to_owned()).await;
    assert_eq!((status, &made["data"]["n"]), (200, &json!(9_007_199_254_740_993_i64)));
    assert_eq!(make(deep(100)).await.0, 200);
    assert_eq!(make(deep(101)).await.0, 400);
    assert_eq!(make(deep(2_000)).await.0, 400);
}
