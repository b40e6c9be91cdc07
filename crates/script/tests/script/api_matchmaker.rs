//! Matchmaker.

use crate::api::Api;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn the_stats_count_tickets_and_players() {
    let mut api = Api::start().await;
    assert_eq!(api.one("aether.matchmaker_stats", json!([])).await["tickets"], json!(0));
    let ann = api.scripts.user().await;
    let (mut socket, _) = api.socket(&ann).await;
    let add = json!({ "matchmaker_add": { "min_count": 2, "max_count": 4, "query": "*" } });
    assert!(socket.request(add).await["matchmaker_ticket"].is_object());
    let stats = api.one("aether.matchmaker_stats", json!([])).await;
    assert_eq!((&stats["tickets"], &stats["players"], &stats["matches"]), (&json!(1), &json!(1), &json!(0)));
    assert!(stats["oldest_create_time"].as_i64().is_some_and(|time| time > 1_700_000_000), "{stats}");
    api.stop().await;
}
