//! Text with special characters.

use super::servers;
use aether_testkit_server::ApiClient;
use serde_json::{Value, json};
use uuid::Uuid;

/// Texts with a meaning in SQL, in paths or in patterns.
const TEXTS: &[&str] = &[
    "'; DROP TABLE users; --",
    "' OR '1'='1",
    "\" OR \"\"=\"",
    "\\'; SELECT pg_sleep(10); --",
    "%",
    "_",
    "*",
    "$1",
    "?1",
    ":name",
    "/* */",
    "$$text$$",
    "E'\\x41'",
    "{\"a\":1}",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "\u{202e}gnirts",
    "ünï©ødé 名前 🎮",
];

#[tokio::test(flavor = "multi_thread")]
async fn special_text_is_stored_unchanged() {
    for (server, database) in servers(|_| {}).await {
        let mut other = ApiClient::new_user(server.http).await;
        let other_object =
            json!({ "objects": [{ "collection": "c", "key": "k", "value": "{}", "permission_read": 2 }] });
        assert_eq!(other.put("/v2/storage", &other_object).await.expect("the server answers").status, 200);
        for text in TEXTS {
            let name = format!("{text}{}", Uuid::new_v4());
            let mut client = ApiClient::sign_in(server.http, &format!("device {text} {}", Uuid::new_v4())).await;
            let client = client.as_mut().expect("the server answers");
            let update = json!({ "username": name, "display_name": text, "location": text, "timezone": text });
            let answer = client.put("/v2/account", &update).await.expect("the server answers");
            if text.contains('\u{202e}') {
                // It would turn the text around it.
                assert_eq!(answer.status, 400, "{text}: {}", answer.body);
            } else {
                assert_eq!(answer.status, 200, "{text}: {}", answer.body);
                let user = client.get("/v2/account").await.expect("the server answers").json()["user"].clone();
                assert_eq!(
                    (&user["username"], &user["display_name"]),
                    (&json!(name), &json!(text)),
                    "{}",
                    database.name
                );
            }

            let value = json!({ "text": text }).to_string();
            let object = json!({ "collection": text, "key": text, "value": value });
            let answer = client.put("/v2/storage", &json!({ "objects": [object] })).await.expect("the server answers");
            assert_eq!(answer.status, 200, "{text}: {}", answer.body);
            let id = json!({ "collection": text, "key": text, "user_id": client.user });
            let read = client.post("/v2/storage", &json!({ "object_ids": [id] })).await.expect("the server answers");
            assert_eq!(read.json()["objects"][0]["value"], json!(value), "{text}");
            let found = listed(client, text).await;
            assert_eq!(found.len(), 1, "{text}: {found:?}");
        }
        let user = other.get("/v2/account").await.expect("the server answers");
        assert_eq!(user.status, 200, "all is still there");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_null_character_is_rejected_in_less_common_places_too() {
    const NUL: &str = "a\0b";
    for (server, database) in servers(|config| config.api.open_leaderboards = vec!["open".to_owned()]).await {
        let mut client = ApiClient::new_user(server.http).await;
        let user = client.user.clone();
        let id = |collection: &str, key: &str| json!({ "collection": collection, "key": key, "user_id": user });
        let post = [
            ("/v2/account/link/external/none", json!({ "token": NUL })),
            ("/v2/account/unlink/device", json!({ "id": format!("device {NUL} 12345") })),
            ("/v2/account/unlink/custom", json!({ "id": format!("custom {NUL}") })),
            ("/v2/storage", json!({ "object_ids": [id(NUL, "k")] })),
            ("/v2/storage", json!({ "object_ids": [id("c", NUL)] })),
            ("/v2/profile", json!({ "id": NUL, "name": "Ann" })),
            ("/v2/profile", json!({ "name": NUL })),
            ("/v2/profile/a%00b/select", json!({})),
            ("/v2/leaderboard/a%00b", json!({ "score": "1" })),
            ("/v2/iap/purchase/google", json!({ "purchase": NUL })),
            ("/v2/rpc/a%00b", json!("")),
        ];
        for (path, body) in post {
            let answer = client.post(path, &body).await.expect("the server answers");
            assert!((400..500).contains(&answer.status), "{path} {body}: {} {}", answer.status, answer.body);
        }
        let put = [
            ("/v2/account", json!({ "avatar_url": NUL })),
            ("/v2/account", json!({ "lang_tag": NUL })),
            ("/v2/account", json!({ "location": NUL })),
            ("/v2/account", json!({ "timezone": NUL })),
            ("/v2/storage/delete", json!({ "object_ids": [id(NUL, "k")] })),
            ("/v2/profile/default", json!({ "name": NUL })),
            ("/v2/profile/a%00b", json!({ "name": "Ann" })),
        ];
        for (path, body) in put {
            let answer = client.put(path, &body).await.expect("the server answers");
            assert!((400..500).contains(&answer.status), "{path} {body}: {} {}", answer.status, answer.body);
        }
        let get = [
            "/v2/user?ids=a%00b",
            "/v2/user?facebook_ids=a%00b",
            "/v2/storage/c?cursor=a%00b",
            "/v2/leaderboard/a%00b",
            "/v2/leaderboard/open?cursor=a%00b",
            "/v2/leaderboard/open?owner_ids=a%00b",
            "/v2/iap/subscription/a%00b",
            "/v2/rpc/a%00b",
        ];
        for path in get {
            let answer = client.get(path).await.expect("the server answers");
            assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
        }
        assert_eq!(server.metric("aether_database_errors_total", &[("kind", "failed")]), 0.0, "{}", database.name);
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn special_text_matches_only_itself() {
    for (server, _database) in servers(|_| {}).await {
        let mut client = ApiClient::new_user(server.http).await;
        let object = json!({ "objects": [{ "collection": "c", "key": "k", "value": "{}", "permission_read": 2 }] });
        assert_eq!(client.put("/v2/storage", &object).await.expect("the server answers").status, 200);
        for text in TEXTS {
            assert_eq!(listed(&mut client, text).await, Vec::<Value>::new(), "{text}");
            let path = format!("/v2/user?usernames={}", encoded(text));
            let users = client.get(&path).await.expect("the server answers");
            assert_eq!((users.status, users.json()), (200, json!({})), "{text}");
            for path in [format!("/v2/user?ids={}", encoded(text)), format!("/v2/storage/c/{}", encoded(text))] {
                let answer = client.get(&path).await.expect("the server answers");
                assert!([400, 404].contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
            }
            let path = format!("/v2/leaderboard/{}", encoded(text));
            let board = client.get(&path).await.expect("the server answers");
            assert_eq!(board.status, 404, "{text}: {}", board.body);
            let cursor = format!("/v2/storage/c?user_id={}&limit=10&cursor={}", client.user, encoded(text));
            let answer = client.get(&cursor).await.expect("the server answers");
            assert_eq!(answer.status, 400, "{text}: {}", answer.body);
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_null_character_is_rejected_everywhere() {
    for (server, database) in servers(|_| {}).await {
        let mut client = ApiClient::new_user(server.http).await;
        let text = "a\u{0}b and more";
        let storage = |object: Value| ("PUT", "/v2/storage".to_owned(), json!({ "objects": [object] }));
        let attempts = [
            ("PUT", "/v2/account".to_owned(), json!({ "username": text })),
            ("PUT", "/v2/account".to_owned(), json!({ "display_name": text })),
            ("POST", "/v2/account/link/device".to_owned(), json!({ "id": text })),
            ("POST", "/v2/account/link/custom".to_owned(), json!({ "id": text })),
            ("POST", "/v2/account/link/email".to_owned(), json!({ "email": text, "password": "correct horse" })),
            storage(json!({ "collection": text, "key": "k", "value": "{}" })),
            storage(json!({ "collection": "c", "key": text, "value": "{}" })),
            storage(json!({ "collection": "c", "key": "k", "value": "{}", "version": text })),
            storage(json!({ "collection": "c", "key": "k", "value": "{\"a\":\"\u{0}\"}" })),
            ("GET", format!("/v2/user?usernames={}", encoded(text)), json!({})),
            ("GET", format!("/v2/storage/{}?limit=1", encoded(text)), json!({})),
            ("POST", "/v2/event".to_owned(), json!({ "name": text })),
        ];
        for (method, path, body) in attempts {
            let answer = client.send(method, &path, body.to_string()).await.expect("the server answers");
            assert_eq!(answer.status, 400, "{}: {path} {body}: {}", database.name, answer.body);
        }
        server.stop().await;
    }
}

/// Returns the client's own objects of a collection.
async fn listed(client: &mut ApiClient, collection: &str) -> Vec<Value> {
    let path = format!("/v2/storage/{}?user_id={}&limit=100", encoded(collection), client.user);
    let answer = client.get(&path).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()["objects"].as_array().cloned().unwrap_or_default()
}

/// Returns a text in percent-encoding.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
