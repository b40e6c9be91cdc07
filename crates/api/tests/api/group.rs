//! Groups through the router: paths, bodies, answers, hooks and calls of server code.

use crate::world::World;
use aether_messages::operation::{AddGroupUsers, CreateGroup, JoinGroup, UpdateGroup};
use aether_services::{CallContext, GrpcCode, ServiceError};
use http::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

const TIME: &str = "2023-11-14T22:13:20Z";

#[tokio::test]
async fn a_group_is_created_changed_and_deleted() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let ask = async |method: Method, path: &str, body: Value| {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        world.ask(Some(&player), method, path, &body).await
    };
    let new = json!({ "name": "Owls", "open": true, "tags": ["PvP", "casual"], "langTag": "en" });
    let (status, group) = ask(Method::POST, "/v2/group", new).await;
    let id = group["id"].as_str().expect("a group has an id").to_owned();
    let expected = json!({
        "id": id, "creator_id": player.id, "name": "Owls", "lang_tag": "en", "metadata": "{}", "open": true,
        "edge_count": 1, "max_count": 100, "create_time": TIME, "update_time": TIME, "tags": ["casual", "pvp"],
    });
    assert_eq!((status, &group), (200, &expected));
    let path = format!("/v2/group/{id}");
    // The id of the path counts, also if the body has another.
    let update = json!({ "group_id": Uuid::nil(), "description": "d", "open": false });
    assert_eq!(ask(Method::PUT, &path, update).await, (200, json!({})));
    let (_, list) = ask(Method::GET, "/v2/group?name=owls&members=1&open=false&tags=pvp", Value::Null).await;
    assert_eq!((&list["groups"][0]["description"], &list["groups"][0]["open"]), (&json!("d"), &json!(false)));
    let (_, users) = ask(Method::GET, &format!("{path}/user"), Value::Null).await;
    assert_eq!(
        (&users["group_users"][0]["state"], &users["group_users"][0]["user"]["id"]),
        (&json!(0), &json!(player.id))
    );
    let (_, groups) = ask(Method::GET, &format!("/v2/user/{}/group?limit=0&state=10", player.id), Value::Null).await;
    assert_eq!((&groups["user_groups"][0]["state"], &groups["user_groups"][0]["group"]["id"]), (&json!(0), &json!(id)));
    let both = json!({ "tags": ["a"], "clear_tags": true });
    assert_eq!(ask(Method::PUT, &path, both).await.0, 400);
    assert_eq!(ask(Method::DELETE, &path, Value::Null).await, (200, json!({})));
    assert_eq!(ask(Method::GET, &format!("{path}/user"), Value::Null).await.0, 404);
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_a_code() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let (_, group) = world.ask(Some(&player), Method::POST, "/v2/group", r#"{"name":"Owls"}"#).await;
    let path = format!("/v2/group/{}", group["id"].as_str().expect("a group has an id"));
    let missing = format!("/v2/group/{}", Uuid::nil());
    let nobody = Uuid::from_u128(5);
    for (method, path, body, expected_status, code) in [
        (Method::POST, "/v2/group".to_owned(), "{}", 400, 3),
        (Method::POST, "/v2/group".to_owned(), r#"{"name":"Bats","max_count":-1}"#, 400, 3),
        (Method::POST, "/v2/group".to_owned(), r#"{"name":"OWLS"}"#, 409, 6),
        (Method::POST, "/v2/group".to_owned(), "{", 400, 3),
        (Method::PUT, path.clone(), r#"{"name":""}"#, 400, 3),
        (Method::PUT, missing.clone(), "{}", 404, 5),
        (Method::PUT, "/v2/group/x".to_owned(), "{}", 400, 3),
        (Method::DELETE, missing.clone(), "", 404, 5),
        (Method::POST, format!("{missing}/join"), "", 404, 5),
        (Method::POST, format!("{missing}/leave"), "", 404, 5),
        (Method::POST, format!("{path}/leave"), "", 400, 9),
        (Method::POST, format!("{path}/add"), "", 400, 3),
        (Method::POST, format!("{path}/add?user_ids=x"), "", 400, 3),
        (Method::POST, format!("{path}/add?user_ids={nobody}"), "", 404, 5),
        (Method::POST, format!("{path}/kick?user_ids={}", player.id), "", 400, 3),
        (Method::POST, format!("{path}/ban?user_ids={}", player.id), "", 400, 3),
        (Method::POST, format!("{path}/demote?user_ids={}", player.id), "", 400, 9),
        (Method::GET, format!("{path}/user?state=5"), "", 400, 3),
        (Method::GET, format!("{path}/user?limit=0"), "", 400, 3),
        (Method::GET, format!("/v2/user/{}/group?limit=200&state=300", player.id), "", 400, 3),
        (Method::GET, "/v2/user/x/group".to_owned(), "", 400, 3),
        (Method::GET, "/v2/group?limit=101".to_owned(), "", 400, 3),
        (Method::GET, "/v2/group?name=%25a%25".to_owned(), "", 400, 3),
    ] {
        let (status, error) = world.ask(Some(&player), method.clone(), &path, body).await;
        assert_eq!((status, error["code"].as_u64()), (expected_status, Some(code)), "{method} {path} {body}: {error}");
    }
    assert_eq!(world.ask(None, Method::GET, "/v2/group", "").await.0, 401);
    let other = world.player().await;
    assert_eq!(world.ask(Some(&other), Method::PUT, &path, "{}").await.0, 403);
}

#[tokio::test]
async fn hooks_change_and_reject_requests() {
    let world = World::new(|services| {
        let hooks = &mut services.hooks;
        hooks.before::<CreateGroup, _>(|_, mut request| async move {
            request.tags.push("new".to_owned());
            Ok(Some(request))
        });
        hooks.before::<UpdateGroup, _>(|_, request| async move {
            assert!(Uuid::try_parse(&request.group_id).is_ok(), "the id is from the path");
            Err::<Option<_>, _>(ServiceError::new(GrpcCode::PermissionDenied, "Groups are fixed."))
        });
        hooks.before::<JoinGroup, _>(|_, _| async { Ok(None) });
    })
    .await;
    let (player, other) = (world.player().await, world.player().await);
    let (_, group) = world.ask(Some(&player), Method::POST, "/v2/group", r#"{"name":"Owls","open":true}"#).await;
    assert_eq!(group["tags"], json!(["new"]));
    let path = format!("/v2/group/{}", group["id"].as_str().expect("a group has an id"));
    let (status, error) = world.ask(Some(&player), Method::PUT, &path, r#"{"name":"Bats"}"#).await;
    assert_eq!((status, &error["message"]), (403, &json!("Groups are fixed.")));
    assert_eq!(world.ask(Some(&other), Method::POST, &format!("{path}/join"), "").await.0, 404);
}

#[tokio::test]
async fn server_code_acts_with_all_rights_or_for_an_account() {
    let world = World::new(|_| {}).await;
    let (player, other) = (world.player().await, world.player().await);
    let services = world.services();
    let (server, acting) = (Arc::new(CallContext::server()), Arc::new(CallContext::server_for(player.id)));
    let nobody = services.call_json("CreateGroup", &server, json!({ "name": "Owls" })).await;
    assert_eq!(nobody.map_err(|error| error.code), Err(GrpcCode::Unauthenticated), "a group needs a creator");
    let group = services.call_json("CreateGroup", &acting, json!({ "name": "Owls" })).await.expect("it is valid");
    let add = json!({ "group_id": group["id"], "user_ids": [other.id] });
    let stranger = Arc::new(CallContext::server_for(other.id));
    let denied = services.call_json("AddGroupUsers", &stranger, add.clone()).await;
    assert_eq!(denied.map_err(|error| error.code), Err(GrpcCode::PermissionDenied), "with the rights of the account");
    services.call_json("AddGroupUsers", &server, add.clone()).await.expect("the server may do everything");
    let typed = serde_json::from_value(add).expect("it is the request");
    services.call::<AddGroupUsers>(&server, typed).await.expect("nothing changes");
    let joined = services.call_json("ListUserGroups", &server, json!({ "user_id": other.id })).await.expect("valid");
    assert_eq!(joined["user_groups"][0]["state"], 2);
}
