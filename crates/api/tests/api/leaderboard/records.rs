use crate::world::{NOW, Player, World};
use aether_services::leaderboard::{Definition, Leaderboards, Operator, RankOrder};
use http::Method;
use serde_json::{Value, json};
use std::sync::Arc;

const TIME: &str = "2023-11-14T22:13:20Z";

/// Creates a world with these leaderboards.
async fn world(definitions: &[Definition]) -> World {
    let mut found: Option<Arc<Leaderboards>> = None;
    let world = World::new(|services| found = Some(Arc::clone(&services.leaderboards))).await;
    let boards = found.expect("the services have leaderboards");
    for definition in definitions {
        boards.create(definition.clone()).await.expect("the definition is right");
    }
    world
}

async fn write(world: &World, player: &Player, board: &str, body: &Value) -> (u16, Value) {
    world.ask(Some(player), Method::POST, &format!("/v2/leaderboard/{board}"), &body.to_string()).await
}

async fn get(world: &World, player: &Player, path: &str) -> (u16, Value) {
    world.ask(Some(player), Method::GET, path, "").await
}

#[tokio::test]
async fn a_record_is_written_and_listed() {
    assert_eq!(NOW, 1_700_000_000_000);
    let world = world(&[Definition::new("lb1").open_to_clients()]).await;
    let player = world.player().await;
    let body = json!({ "metadata": "{\"a\":1}", "score": "10", "subscore": "-1" });
    let (status, record) = write(&world, &player, "lb1", &body).await;
    let expected = json!({
        "leaderboard_id": "lb1",
        "owner_id": player.id.to_string(),
        "username": player.id.to_string(),
        "score": "10",
        "subscore": "-1",
        "num_score": 1,
        "metadata": "{\"a\":1}",
        "create_time": TIME,
        "update_time": TIME,
        "rank": "1",
    });
    assert_eq!((status, &record), (200, &expected));
    let (status, list) = get(&world, &player, "/v2/leaderboard/lb1?limit=10&").await;
    assert_eq!((status, list), (200, json!({ "records": [expected], "rank_count": "1" })));
}

#[tokio::test]
async fn scores_are_numbers_or_text_and_operators_are_numbers_or_names() {
    let world = world(&[Definition { operator: Operator::Set, ..Definition::new("lb1").open_to_clients() }]).await;
    let player = world.player().await;
    let steps = [
        (json!({ "score": 7 }), "7"),
        (json!({ "score": "3", "operator": 1 }), "7"),
        (json!({ "score": "3", "operator": "INCREMENT" }), "10"),
        (json!({ "score": "4", "operator": 4 }), "6"),
        (json!({ "score": "2", "operator": 0 }), "2"),
    ];
    for (body, score) in steps {
        let (status, record) = write(&world, &player, "lb1", &body).await;
        assert_eq!((status, record["score"].as_str()), (200, Some(score)), "{body}");
    }
    let (_, zero) = write(&world, &player, "lb1", &json!({})).await;
    assert_eq!(zero.get("score"), None, "zero values are omitted");
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_a_code() {
    let world = world(&[Definition::new("lb1").open_to_clients(), Definition::new("strict")]).await;
    let player = world.player().await;
    let refused = [
        (write(&world, &player, "missing", &json!({ "score": 1 })).await, 404, 5),
        (write(&world, &player, "strict", &json!({ "score": 1 })).await, 403, 7),
        (write(&world, &player, "lb1", &json!({ "score": 1, "metadata": "[]" })).await, 400, 3),
        (write(&world, &player, "lb1", &json!({ "score": 1, "operator": 9 })).await, 400, 3),
        (write(&world, &player, "lb1", &json!({ "score": "9223372036854775808" })).await, 400, 3),
        (write(&world, &player, "lb1", &json!({ "score": 1.5 })).await, 400, 3),
        (world.ask(Some(&player), Method::POST, "/v2/leaderboard/lb1", "").await, 400, 3),
        (world.ask(Some(&player), Method::POST, "/v2/leaderboard/lb1", "{").await, 400, 3),
        (world.ask(None, Method::POST, "/v2/leaderboard/lb1", "{}").await, 401, 16),
        (world.ask(Some(&player), Method::PUT, "/v2/leaderboard/lb1", "{}").await, 501, 12),
        (world.ask(Some(&player), Method::DELETE, "/v2/leaderboard/strict", "").await, 403, 7),
        (get(&world, &player, "/v2/leaderboard/missing").await, 404, 5),
        (get(&world, &player, "/v2/leaderboard/lb1?limit=0").await, 400, 3),
        (get(&world, &player, "/v2/leaderboard/lb1?limit=1001").await, 400, 3),
        (get(&world, &player, "/v2/leaderboard/lb1?limit=ten").await, 400, 3),
        (get(&world, &player, "/v2/leaderboard/lb1?owner_ids=o1").await, 400, 3),
        (get(&world, &player, "/v2/leaderboard/lb1?cursor=cur").await, 400, 3),
        (get(&world, &player, "/v2/leaderboard/lb1?expiry=-5").await, 400, 3),
        (get(&world, &player, "/v2/leaderboard/lb1/owner/o1").await, 400, 3),
        (get(&world, &player, &format!("/v2/leaderboard/lb1/owner/{}?limit=101", player.id)).await, 400, 3),
        (get(&world, &player, &format!("/v2/leaderboard/nul%00/owner/{}", player.id)).await, 404, 5),
    ];
    for (place, ((status, body), expected_status, code)) in refused.into_iter().enumerate() {
        assert_eq!((status, body["code"].as_u64()), (expected_status, Some(code)), "{place}: {body}");
        assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{place}: {body}");
    }
}

#[tokio::test]
async fn pages_owners_and_neighbours_are_listed_by_query() {
    let world = world(&[Definition { order: RankOrder::Ascending, ..Definition::new("race").open_to_clients() }]).await;
    let mut players = Vec::new();
    for score in 1..=6 {
        let player = world.player().await;
        write(&world, &player, "race", &json!({ "score": score })).await;
        players.push(player);
    }
    let scores = |list: &Value, field: &str| -> Vec<String> {
        let records = list[field].as_array().cloned().unwrap_or_default();
        records.iter().map(|record| record["score"].as_str().unwrap_or("").to_owned()).collect()
    };
    let first = &players[0];
    let (_, by_default) = get(&world, first, "/v2/leaderboard/race").await;
    assert_eq!(scores(&by_default, "records"), ["1"], "one record by default");

    let owners = format!("owner_ids={}&owner_ids={}&", players[4].id, players[2].id);
    let (_, both) = get(&world, first, &format!("/v2/leaderboard/race?{owners}limit=2&expiry=0&")).await;
    assert_eq!(scores(&both, "records"), ["1", "2"]);
    assert_eq!(scores(&both, "owner_records"), ["5", "3"], "in the order of the request");
    assert_eq!(both["rank_count"], "6");
    let (_, alone) = get(&world, first, &format!("/v2/leaderboard/race?ownerIds={}&", players[4].id)).await;
    assert_eq!((scores(&alone, "records").len(), scores(&alone, "owner_records")), (0, vec!["5".to_owned()]));
    assert_eq!(alone["owner_records"][0]["rank"], "5");

    let cursor = both["next_cursor"].as_str().expect("there are more");
    assert_eq!(both.get("prev_cursor"), None);
    let (_, second) = get(&world, first, &format!("/v2/leaderboard/race?limit=2&cursor={cursor}")).await;
    assert_eq!(scores(&second, "records"), ["3", "4"]);
    let back = second["prev_cursor"].as_str().expect("it is not the first page");
    let (_, again) = get(&world, first, &format!("/v2/leaderboard/race?limit=2&cursor={back}")).await;
    assert_eq!(scores(&again, "records"), ["1", "2"]);

    let around = format!("/v2/leaderboard/race/owner/{}?limit=3&expiry=0&", players[3].id);
    let (status, around) = get(&world, first, &around).await;
    assert_eq!((status, scores(&around, "records")), (200, vec!["3".to_owned(), "4".to_owned(), "5".to_owned()]));
    assert!(around["next_cursor"].is_string() && around["prev_cursor"].is_string());

    let (status, deleted) = world.ask(Some(&players[0]), Method::DELETE, "/v2/leaderboard/race", "").await;
    assert_eq!((status, deleted), (200, json!({})));
    let (_, left) = get(&world, first, "/v2/leaderboard/race?limit=100").await;
    assert_eq!(scores(&left, "records"), ["2", "3", "4", "5", "6"]);
    assert_eq!(left["records"][0]["rank"], "1");
}

#[tokio::test]
async fn a_record_of_a_resetting_leaderboard_has_an_expiry_time() {
    let world =
        world(&[Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new("daily").open_to_clients() }])
            .await;
    let player = world.player().await;
    let (_, record) = write(&world, &player, "daily", &json!({ "score": 1 })).await;
    assert_eq!(record["expiry_time"], "2023-11-15T00:00:00Z");
    let (_, named) = get(&world, &player, "/v2/leaderboard/daily?limit=5&expiry=1700006400").await;
    assert_eq!(named["records"].as_array().map(Vec::len), Some(1));
    let (_, another) = get(&world, &player, "/v2/leaderboard/daily?limit=5&expiry=1699920000").await;
    assert_eq!(another, json!({}));
}
