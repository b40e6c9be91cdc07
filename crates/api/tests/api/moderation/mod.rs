//! Calls of players for reports and remote values.

use crate::world::World;
use aether_services::remote_value::NewRemoteValue;
use http::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn a_player_reports_a_player_and_cannot_read_the_queue() {
    let world = World::new(|_| {}).await;
    let (reporter, target) = (world.player().await, world.player().await);
    let report = async |body: Value| world.ask(Some(&reporter), Method::POST, "/v2/report", &body.to_string()).await;
    let full = json!({ "user_id": target.id, "category": "cheating", "text": "walks through walls", "match_id": "m" });
    let (status, filed) = report(full.clone()).await;
    assert_eq!((status, &filed["added"]), (200, &json!(true)));
    let (_, again) = report(full).await;
    assert_eq!(again["id"], filed["id"], "it is added to the open report");
    for (bad, code) in [
        (json!({}), 3),
        (json!({ "user_id": "ann", "category": "spam" }), 3),
        (json!({ "user_id": target.id }), 3),
        (json!({ "user_id": reporter.id, "category": "spam" }), 3),
        (json!({ "user_id": uuid::Uuid::from_u128(5), "category": "spam" }), 5),
        (json!({ "user_id": target.id, "category": "spam", "text": "x".repeat(2_049) }), 3),
        (json!({ "user_id": target.id, "category": "spam", "channel_id": "?", "message_ids": ["1"] }), 3),
        (json!({ "user_id": target.id, "category": "spam", "message_ids": "one" }), 3),
    ] {
        let (status, error) = report(bad.clone()).await;
        assert!(status == 400 || status == 404, "{bad}: {status}");
        assert_eq!(error["code"], code, "{bad}: {error}");
    }
    let (status, _) = world.ask(None, Method::POST, "/v2/report", "{}").await;
    assert_eq!(status, 401);
    for operation in ["ListReports", "GetReport", "ResolveReport", "MutePlayer", "UnmutePlayer", "ListMutes"] {
        let refused = world.services().call_json(operation, &world.context(&reporter), json!({})).await;
        assert_eq!(refused.map_err(|error| error.code as u8), Err(7), "{operation}");
    }
    let (status, _) = world.ask(Some(&reporter), Method::GET, "/v2/report", "").await;
    assert_eq!(status, 501, "there is no such call");
}

#[tokio::test]
async fn a_player_reads_remote_values_by_key_and_hash() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let rules = json!([{ "if": { "users": [player.id] }, "value": { "speed": 2 } }]);
    for (key, value, rules) in [("motion", json!({ "speed": 1 }), rules), ("limit", json!(5), json!([]))] {
        let rules = serde_json::from_value(rules).expect("the rules are valid");
        let new = NewRemoteValue { key: key.to_owned(), value: value.to_string(), rules };
        world.services().remote_values.set(new).await.expect("it is valid");
    }
    let ask = async |query: &str| world.ask(Some(&player), Method::GET, &format!("/v2/values{query}"), "").await;
    let (status, all) = ask("").await;
    assert_eq!((status, &all["values"]), (200, &json!({ "limit": 5, "motion": { "speed": 2 } })));
    assert_eq!(all["unchanged"], false);
    let hash = all["hash"].as_str().expect("there is a hash");
    let (_, same) = ask(&format!("?hash={hash}")).await;
    assert_eq!(same, json!({ "values": {}, "hash": hash, "unchanged": true }));
    let (_, some) = ask("?keys=motion&keys=missing").await;
    assert_eq!(some["values"], json!({ "motion": { "speed": 2 } }));
    let other = world.player().await;
    let (_, of_other) = world.ask(Some(&other), Method::GET, "/v2/values?keys=motion", "").await;
    assert_eq!(of_other["values"], json!({ "motion": { "speed": 1 } }));
    let many: String = (0..101).map(|number| format!("&keys=k{number}")).collect();
    assert_eq!(ask(&format!("?{many}")).await.0, 400);
    assert_eq!(world.ask(None, Method::GET, "/v2/values", "").await.0, 401);
}
