use crate::world::{NOW, World};
use aether_messages::operation::WriteStorageObjects;
use aether_services::Caller;
use aether_services::storage::{ObjectId, Permission, Write};
use http::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

const TIME: &str = "2023-11-14T22:13:20Z";

#[tokio::test]
async fn objects_are_written_read_listed_and_deleted() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    assert_eq!(NOW, 1_700_000_000_000);
    let body = r#"{"objects":[{"collection":"saves","key":"k1","permission_read":2,"permission_write":1,"value":"{\"hp\":1}","version":"*"}]}"#;
    let written = world.ask(Some(&player), Method::PUT, "/v2/storage", body).await;
    let version = "a5e17a8939c2af38ee56933d342d0346";
    let ack = json!({
        "collection": "saves", "key": "k1", "version": version, "user_id": player.id, "create_time": TIME,
        "update_time": TIME,
    });
    assert_eq!(written, (200, json!({ "acks": [ack] })));
    let object = json!({
        "collection": "saves", "key": "k1", "user_id": player.id, "value": "{\"hp\":1}", "version": version,
        "permission_read": 2, "permission_write": 1, "create_time": TIME, "update_time": TIME,
    });
    let body = json!({ "object_ids": [{ "collection": "saves", "key": "k1", "user_id": player.id }, { "collection": "saves", "key": "k2" }] });
    let read = world.ask(Some(&player), Method::POST, "/v2/storage", &body.to_string()).await;
    assert_eq!(read, (200, json!({ "objects": [object.clone()] })));
    let id = player.id;
    for path in [
        "/v2/storage/saves".to_owned(),
        format!("/v2/storage/saves?user_id={id}&limit=10&cursor=&"),
        format!("/v2/storage/saves?userId={id}&limit=10"),
        format!("/v2/storage/saves/{id}?limit=10"),
    ] {
        let listed = world.ask(Some(&player), Method::GET, &path, "").await;
        assert_eq!(listed, (200, json!({ "objects": [object.clone()] })), "{path}");
    }
    let delete = |version: &str| {
        json!({ "object_ids": [{ "collection": "saves", "key": "k1", "version": version }] }).to_string()
    };
    let refused = world.ask(Some(&player), Method::PUT, "/v2/storage/delete", &delete("v")).await;
    assert_eq!((refused.0, &refused.1["code"]), (400, &json!(3)));
    assert_eq!(world.ask(Some(&player), Method::PUT, "/v2/storage/delete", &delete(version)).await, (200, json!({})));
    assert_eq!(world.ask(Some(&player), Method::GET, "/v2/storage/saves", "").await, (200, json!({})));
}

#[tokio::test]
async fn permissions_default_to_the_owner_and_zero_is_explicit() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let body = r#"{"objects":[{"collection":"saves","key":"a","value":"{}"},{"collection":"saves","key":"b","value":"{}","permissionRead":1,"permissionWrite":0}]}"#;
    let written = world.ask(Some(&player), Method::PUT, "/v2/storage", body).await;
    assert_eq!(written.0, 200);
    let path = format!("/v2/storage/saves/{}?limit=100", player.id);
    let listed = world.ask(Some(&player), Method::GET, &path, "").await.1;
    let permissions = |index: usize| {
        (listed["objects"][index]["permission_read"].clone(), listed["objects"][index]["permission_write"].clone())
    };
    assert_eq!(permissions(0), (json!(1), json!(1)));
    assert_eq!(permissions(1), (json!(1), Value::Null), "what is zero is left out");
    let again = world.ask(Some(&player), Method::PUT, "/v2/storage", body).await;
    assert_eq!(again, (403, json!({ "code": 7, "message": "Storage write rejected - permission denied." })));
}

#[tokio::test]
async fn a_list_has_one_object_by_default_and_continues_with_its_cursor() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let objects: Vec<_> =
        (0..5).map(|n| json!({ "collection": "saves", "key": n.to_string(), "value": "{}" })).collect();
    let body = json!({ "objects": objects }).to_string();
    assert_eq!(world.ask(Some(&player), Method::PUT, "/v2/storage", &body).await.0, 200);
    let path = format!("/v2/storage/saves/{}", player.id);
    let mut keys = Vec::new();
    let mut cursor = String::new();
    loop {
        let (status, page) = world.ask(Some(&player), Method::GET, &format!("{path}?cursor={cursor}&"), "").await;
        assert_eq!((status, page["objects"].as_array().map(Vec::len)), (200, Some(1)));
        keys.push(page["objects"][0]["key"].clone());
        match page["cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(keys, ["0", "1", "2", "3", "4"]);
    for limit in ["0", "101", "-1", "ten"] {
        let refused = world.ask(Some(&player), Method::GET, &format!("{path}?limit={limit}"), "").await;
        assert_eq!((refused.0, &refused.1["code"]), (400, &json!(3)), "{limit}");
    }
}

#[tokio::test]
async fn users_cannot_access_private_objects_of_others() {
    let world = World::new(|_| {}).await;
    let (ann, ben) = (world.player().await, world.player().await);
    let body = r#"{"objects":[{"collection":"saves","key":"own","value":"{}"},{"collection":"saves","key":"public","value":"{}","permission_read":2}]}"#;
    assert_eq!(world.ask(Some(&ann), Method::PUT, "/v2/storage", body).await.0, 200);
    let ids: Vec<_> =
        ["own", "public"].iter().map(|key| json!({ "collection": "saves", "key": key, "user_id": ann.id })).collect();
    let ids = json!({ "object_ids": ids }).to_string();
    let read = world.ask(Some(&ben), Method::POST, "/v2/storage", &ids).await.1;
    assert_eq!(read["objects"].as_array().map(Vec::len), Some(1));
    assert_eq!(read["objects"][0]["key"], "public");
    // A client deletes only its own objects, whatever user it names.
    assert_eq!(world.ask(Some(&ben), Method::PUT, "/v2/storage/delete", &ids).await.0, 200);
    assert_eq!(
        world.ask(Some(&ann), Method::POST, "/v2/storage", &ids).await.1["objects"].as_array().map(Vec::len),
        Some(2)
    );
    for (method, path) in [
        (Method::POST, "/v2/storage"),
        (Method::PUT, "/v2/storage"),
        (Method::GET, "/v2/storage/saves"),
        (Method::PUT, "/v2/storage/delete"),
    ] {
        let refused = world.ask(None, method, path, "{}").await;
        assert_eq!(refused, (401, json!({ "code": 16, "message": "Auth token required" })), "{path}");
    }
}

#[tokio::test]
async fn objects_of_the_server_are_read_without_a_user() {
    let mut storage = None;
    let world = World::new(|services| storage = Some(services.storage.clone())).await;
    let player = world.player().await;
    let news = Write::new(ObjectId::new("news", "today", Uuid::nil()), r#"{"n":1}"#)
        .permit(Permission::Everyone, Permission::Nobody);
    storage.expect("the world has one").write(&Caller::Server, vec![news]).await.expect("the server may");
    let body = r#"{"objectIds":[{"collection":"news","key":"today"}]}"#;
    let read = world.ask(Some(&player), Method::POST, "/v2/storage", body).await.1;
    assert_eq!(read["objects"][0]["user_id"], "00000000-0000-0000-0000-000000000000");
    assert_eq!(read["objects"][0]["value"], r#"{"n":1}"#);
}

#[tokio::test]
async fn invalid_requests_get_a_message() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let object = |name: &str, value: Value| {
        let mut object = json!({ "collection": "saves", "key": "k", "value": "{}" });
        object[name] = value;
        json!({ "objects": [object] }).to_string()
    };
    for body in [
        object("collection", json!("")),
        object("key", json!("k".repeat(129))),
        object("key", json!("a\u{0}b")),
        object("value", json!("")),
        object("value", json!("[]")),
        object("value", json!("{\"a\":")),
        object("value", json!({ "hp": 1 })),
        object("version", json!("v\u{0}")),
        object("permission_read", json!(3)),
        object("permission_write", json!(-1)),
        "[]".to_owned(),
        "{".to_owned(),
        format!("{{\"objects\":[{}]}}", vec![r#"{"collection":"c","key":"k","value":"{}"}"#; 129].join(",")),
    ] {
        let refused = world.ask(Some(&player), Method::PUT, "/v2/storage", &body).await;
        assert_eq!((refused.0, &refused.1["code"]), (400, &json!(3)), "{body}: {}", refused.1);
    }
    let ids = r#"{"object_ids":[{"collection":"saves","key":"k","user_id":"me"}]}"#;
    assert_eq!(world.ask(Some(&player), Method::POST, "/v2/storage", ids).await.0, 400);
    for path in ["/v2/storage/saves/me", "/v2/storage/saves?cursor=x", "/v2/storage/a%00b"] {
        assert_eq!(world.ask(Some(&player), Method::GET, path, "").await.0, 400, "{path}");
    }
    assert_eq!(world.ask(Some(&player), Method::PUT, "/v2/storage", "").await, (200, json!({})), "nothing is asked");
}

/// Writes of one account that wait at the same time, and those of them whose bodies fit into 16 MiB.
const WAITING: usize = 80;
const WAITING_MAX: usize = 64;
/// Time in which everything has to happen. It is long, because a busy machine is slow.
const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn long_requests_that_wait_are_bounded_by_account() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let world = World::new(move |services| {
        services.hooks.before::<WriteStorageObjects, _>(move |_, request| {
            let opened = Arc::clone(&opened);
            async move {
                let _permit = opened.acquire().await;
                Ok(Some(request))
            }
        });
    })
    .await;
    let (player, other) = (world.player().await, world.player().await);
    // Each body has 256 KiB.
    let value = json!({ "text": "x".repeat(261_500) }).to_string();
    let body = |key: usize| {
        let object = json!({ "collection": "saves", "key": format!("{key}"), "value": value });
        json!({ "objects": [object] }).to_string()
    };
    let (world, player, refused) = (Arc::new(world), Arc::new(player), Arc::new(Semaphore::new(0)));
    let mut writes = JoinSet::new();
    for body in (0..WAITING).map(body) {
        let (world, player, refused) = (Arc::clone(&world), Arc::clone(&player), Arc::clone(&refused));
        writes.spawn(async move {
            let answer = world.ask(Some(&player), Method::PUT, "/v2/storage", &body).await;
            refused.add_permits(usize::from(answer.0 == 429));
            answer
        });
    }
    let all_refused = refused.acquire_many((WAITING - WAITING_MAX) as u32);
    let are_refused = timeout(DEADLINE, all_refused).await.is_ok_and(|permits| permits.is_ok());
    assert!(are_refused, "requests beyond the limit are refused at once");
    gate.add_permits(WAITING);
    let (status, _) = world.ask(Some(&other), Method::PUT, "/v2/storage", &body(0)).await;
    assert_eq!(status, 200, "another account has its own share");
    let answers = writes.join_all().await;
    let written = answers.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(written, WAITING_MAX, "the others lose nothing");
    let sentence = answers.iter().find(|(status, _)| *status == 429).and_then(|(_, body)| body["message"].as_str());
    assert!(sentence.expect("a sentence").contains("too many of its requests wait"));
}
