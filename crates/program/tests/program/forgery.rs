//! Results of the built-in games that a client tries to forge.

use crate::support::ServerSetup;
use aether_testkit_server::ApiClient;
use aether_testkit_store::{TestDatabase, file, postgres};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_scores_and_stored_results_cannot_be_forged() {
    check_forgery(file()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgresql_scores_and_stored_results_cannot_be_forged() {
    if let Some(database) = postgres() {
        check_forgery(database).await;
    }
}

/// Every forged score and every forged object is rejected with 403, and nothing of them is stored.
async fn check_forgery(database: TestDatabase) {
    let settings = ["storage.reserved_collections=ranked,seasons", "api.open_leaderboards=open"];
    let setup = ServerSetup::new(&database, &settings);
    let server = setup.serve().await;
    let mut client = ApiClient::new_user(server.http).await;
    for board in ["arena", "asteroids", "sandbox"] {
        let path = format!("/v2/leaderboard/{board}");
        let forged = json!({ "score": "9000000000000000000" });
        let answer = client.post(&path, &forged).await.expect("the server answers");
        assert_eq!((answer.status, answer.json()["code"].as_i64()), (403, Some(7)), "{board}: {}", answer.body);
        let answer = client.send("DELETE", &path, "").await.expect("the server answers");
        assert_eq!(answer.status, 403, "{board}: {}", answer.body);
        let list = client.get(&path).await.expect("the server answers").json();
        assert!(list.get("records").is_none_or(|records| records == &json!([])), "{board}: {list}");
    }
    // A profile of Arena with hue 42 and the highest mass.
    let profile = json!({ "base64": "ASr/////" }).to_string();
    for (collection, key) in [("arena", "profile"), ("sandbox", "hits"), ("ranked", "x"), ("seasons", "x")] {
        for permission in [1, 2] {
            let object = json!({ "collection": collection, "key": key, "value": profile,
                "permission_read": 2, "permission_write": permission });
            let answer = client.put("/v2/storage", &json!({ "objects": [object] })).await.expect("the server answers");
            assert_eq!(
                (answer.status, answer.json()["code"].as_i64()),
                (403, Some(7)),
                "{collection}: {}",
                answer.body
            );
        }
        let deletion = json!({ "object_ids": [{ "collection": collection, "key": key }] });
        let answer = client.put("/v2/storage/delete", &deletion).await.expect("the server answers");
        assert_eq!(answer.status, 403, "{collection}: {}", answer.body);
        let list = format!("/v2/storage/{collection}/{}", client.user);
        let list = client.get(&list).await.expect("the server answers").json();
        assert!(list.get("objects").is_none_or(|objects| objects == &json!([])), "{collection}: {list}");
    }
    let answer = client.post("/v2/leaderboard/open", &json!({ "score": "5" })).await.expect("the server answers");
    assert_eq!(answer.status, 200, "clients may write to a board that the configuration opens: {}", answer.body);
    server.kill().await;
}
