use crate::world::{NOW, Player, World};
use aether_services::leaderboard::Definition;
use aether_services::tournament::Terms;
use http::Method;
use serde_json::{Value, json};

const TIME: &str = "2023-11-14T22:13:20Z";
const DAY: i64 = 86_400;

/// Creates a world with a tournament of a day that is open to clients.
async fn world(change: impl FnOnce(&mut Terms)) -> World {
    let world = World::new(|_| {}).await;
    let mut terms = Terms { title: "Cup".to_owned(), category: 3, ..Terms::lasting(DAY) };
    change(&mut terms);
    let definition = Definition::new("cup").open_to_clients().tournament(terms);
    world.services().tournaments.create(definition).await.expect("the definition is right");
    world
}

async fn ask(world: &World, player: &Player, method: Method, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    world.ask(Some(player), method, path, &body).await
}

#[tokio::test]
async fn a_tournament_is_listed_joined_written_and_its_records_are_listed() {
    let world = world(|terms| (terms.max_size, terms.max_num_score, terms.join_required) = (2, 2, true)).await;
    let player = world.player().await;
    let now = NOW / 1_000;
    let mut expected = json!({
        "id": "cup", "title": "Cup", "category": 3, "sort_order": 1, "max_size": 2, "max_num_score": 2,
        "can_enter": true, "end_active": now + DAY, "metadata": "{}", "create_time": TIME, "start_time": TIME,
        "duration": DAY, "start_active": now, "operator": 1, "join_required": true,
    });
    let list = "/v2/tournament?category_start=3&category_end=3&limit=10&";
    let (status, listed) = ask(&world, &player, Method::GET, list, Value::Null).await;
    expected["operator"] = listed["tournaments"][0]["operator"].clone();
    assert_eq!((status, &listed), (200, &json!({ "tournaments": [expected] })));
    assert!(expected["operator"] == json!("BEST") || expected["operator"] == json!(1), "{expected}");

    let write = json!({ "score": "7", "subscore": "1", "metadata": "{\"a\":1}" });
    let early = ask(&world, &player, Method::PUT, "/v2/tournament/cup", write.clone()).await;
    assert_eq!((early.0, &early.1["code"]), (400, &json!(9)), "not joined");
    assert_eq!(ask(&world, &player, Method::POST, "/v2/tournament/cup/join", Value::Null).await, (200, json!({})));
    let (status, record) = ask(&world, &player, Method::PUT, "/v2/tournament/cup", write.clone()).await;
    let expected = json!({
        "leaderboard_id": "cup", "owner_id": player.id.to_string(), "username": player.id.to_string(), "score": "7",
        "subscore": "1", "num_score": 1, "max_num_score": 2, "metadata": "{\"a\":1}", "create_time": TIME,
        "update_time": TIME, "rank": "1",
    });
    assert_eq!((status, &record), (200, &expected));
    let (status, second) = ask(&world, &player, Method::POST, "/v2/tournament/cup", json!({ "score": 9 })).await;
    assert_eq!((status, &second["score"], &second["num_score"]), (200, &json!("9"), &json!(2)));
    let third = ask(&world, &player, Method::POST, "/v2/tournament/cup", json!({ "score": 10 })).await;
    assert_eq!((third.0, &third.1["code"]), (400, &json!(9)), "no attempts left");

    let paths = [
        "/v2/tournament/cup".to_owned(),
        format!("/v2/tournament/cup?owner_ids={}&limit=5", player.id),
        format!("/v2/tournament/cup/owner/{}?limit=1&", player.id),
    ];
    for path in paths {
        let (status, listed) = ask(&world, &player, Method::GET, &path, Value::Null).await;
        assert_eq!(
            (status, &listed["records"][0]["score"], &listed["rank_count"]),
            (200, &json!("9"), &json!("1")),
            "{path}"
        );
    }
    assert_eq!(ask(&world, &player, Method::DELETE, "/v2/tournament/cup", Value::Null).await, (200, json!({})));
    assert_eq!(ask(&world, &player, Method::GET, "/v2/tournament/cup", Value::Null).await, (200, json!({})));
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_a_code() {
    let world = world(|terms| terms.max_size = 1).await;
    let (player, other) = (world.player().await, world.player().await);
    assert_eq!(ask(&world, &other, Method::POST, "/v2/tournament/cup/join", Value::Null).await.0, 200);
    let cases = [
        (Method::POST, "/v2/tournament/cup/join", Value::Null, 400, 3),
        (Method::POST, "/v2/tournament/missing/join", Value::Null, 404, 5),
        (Method::PUT, "/v2/tournament/cup", json!({ "score": 1 }), 400, 3),
        (Method::PUT, "/v2/tournament/missing", json!({ "score": 1 }), 404, 5),
        (Method::PUT, "/v2/tournament/cup", json!({ "score": 1, "operator": 9 }), 400, 3),
        (Method::GET, "/v2/tournament?limit=101", Value::Null, 400, 3),
        (Method::GET, "/v2/tournament?category_start=9&category_end=2", Value::Null, 400, 3),
        (Method::GET, "/v2/tournament/cup?limit=101", Value::Null, 400, 3),
        (Method::GET, "/v2/tournament/cup?owner_ids=nobody", Value::Null, 400, 3),
        (Method::GET, "/v2/tournament/cup/owner/nobody", Value::Null, 400, 3),
        (Method::GET, "/v2/leaderboard/cup", Value::Null, 404, 5),
    ];
    for (method, path, body, status, code) in cases {
        let answer = ask(&world, &player, method.clone(), path, body).await;
        assert_eq!((answer.0, &answer.1["code"]), (status, &json!(code)), "{method} {path}: {}", answer.1);
    }
    let (status, _) = world.ask(None, Method::GET, "/v2/tournament", "").await;
    assert_eq!(status, 401);
}
