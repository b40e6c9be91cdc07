use crate::world::{ApiParts, World};
use http::Method;
use serde_json::json;

#[tokio::test]
async fn users_export_their_own_data_only() {
    let world = World::new(|_| {}).await;
    let (ann, ben) = (world.player().await, world.player().await);
    let object = json!({ "objects": [{ "collection": "saves", "key": "one", "value": "{\"level\":3}" }] }).to_string();
    assert_eq!(world.ask(Some(&ann), Method::PUT, "/v2/storage", &object).await.0, 200);
    let (status, export) = world.ask(Some(&ann), Method::GET, "/v2/account/export", "").await;
    let document = &export["document"];
    assert_eq!((status, &document["account"]["id"]), (200, &json!(ann.id)));
    assert_eq!(document["storage_objects"][0]["value"], json!({ "level": 3 }));
    assert_eq!(document["account"].get("password"), None);
    let (_, other) = world.ask(Some(&ben), Method::GET, "/v2/account/export", "").await;
    assert_eq!(other["document"]["storage_objects"], json!([]));
    assert_eq!(world.ask(None, Method::GET, "/v2/account/export", "").await.0, 401);
}

#[tokio::test]
async fn users_are_shown_as_online_while_they_are_connected() {
    let is_online = |user: uuid::Uuid| user.as_u128().is_multiple_of(2);
    let parts = ApiParts { is_online, ..ApiParts::default() };
    let world = World::with_parts(|_| {}, parts).await;
    let mut seen = [false; 2];
    while seen != [true; 2] {
        let player = world.player().await;
        let online = is_online(player.id);
        seen[usize::from(online)] = true;
        let expected = online.then_some(true);
        let (_, account) = world.ask(Some(&player), Method::GET, "/v2/account", "").await;
        assert_eq!(account["user"].get("online").and_then(|online| online.as_bool()), expected);
        let (_, users) = world.ask(Some(&player), Method::GET, &format!("/v2/user?ids={}", player.id), "").await;
        assert_eq!(users["users"][0].get("online").and_then(|online| online.as_bool()), expected);
    }
}
