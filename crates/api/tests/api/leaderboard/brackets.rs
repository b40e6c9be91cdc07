use crate::world::{Player, World};
use aether_services::bracket::{Definition, Format};
use http::Method;
use serde_json::{Value, json};

async fn ask(world: &World, player: &Player, method: Method, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    world.ask(Some(player), method, path, &body).await
}

#[tokio::test]
async fn a_bracket_is_joined_played_and_shown() {
    let world = World::new(|_| {}).await;
    let (ann, bob) = (world.player().await, world.player().await);
    let brackets = &world.services().brackets;
    brackets.create(Definition { title: "Cup".to_owned(), ..Definition::new("cup", Format::Single) }).await.unwrap();
    for player in [&ann, &bob] {
        let (status, joined) = ask(&world, player, Method::POST, "/v2/bracket/cup/join", Value::Null).await;
        assert_eq!((status, &joined["phase"]), (200, &json!("registration")), "{joined}");
    }
    let (status, list) = ask(&world, &ann, Method::GET, "/v2/bracket?phase=registration&limit=5", Value::Null).await;
    assert_eq!((status, &list["brackets"][0]["id"], &list["brackets"][0]["size"]), (200, &json!("cup"), &json!(2)));
    brackets.start("cup").await.unwrap();
    let (status, shown) = ask(&world, &ann, Method::GET, "/v2/bracket/cup", Value::Null).await;
    assert_eq!((status, &shown["bracket"]["phase"]), (200, &json!("running")), "{shown}");
    assert_eq!((&shown["matches"][0]["state"], &shown["matches"][0]["number"]), (&json!("ready"), &json!(0)));
    let sides: Vec<&Value> =
        shown["matches"][0]["sides"].as_array().unwrap().iter().map(|side| &side["user_id"]).collect();
    assert!(sides.contains(&&json!(ann.id.to_string())) && sides.contains(&&json!(bob.id.to_string())));

    let report = json!({ "winner_id": bob.id.to_string(), "scores": [0, 0] });
    let (status, reported) = ask(&world, &ann, Method::POST, "/v2/bracket/cup/match/0/report", report).await;
    assert_eq!((status, &reported["state"]), (200, &json!("ready")), "{reported}");
    let (status, decided) = ask(&world, &bob, Method::POST, "/v2/bracket/cup/match/0/confirm", Value::Null).await;
    assert_eq!(
        (status, &decided["winner_id"], &decided["reason"]),
        (200, &json!(bob.id.to_string()), &json!("agreed"))
    );
    let (_, shown) = ask(&world, &ann, Method::GET, "/v2/bracket/cup", Value::Null).await;
    assert_eq!(shown["bracket"]["winner_id"], json!(bob.id.to_string()));
    assert_eq!((&shown["entrants"][0]["rank"], &shown["entrants"][0]["wins"]), (&json!(1), &json!(1)), "{shown}");
}

#[tokio::test]
async fn invalid_requests_are_rejected_with_a_code() {
    let world = World::new(|_| {}).await;
    let (ann, bob, eve) = (world.player().await, world.player().await, world.player().await);
    let brackets = &world.services().brackets;
    brackets.create(Definition::new("cup", Format::Single)).await.unwrap();
    for player in [&ann, &bob] {
        brackets.join("cup", player.id, 0).await.unwrap();
    }
    brackets.start("cup").await.unwrap();
    let report = "/v2/bracket/cup/match/0/report";
    let winner = json!({ "winner_id": ann.id.to_string() });
    let cases = [
        (Method::GET, "/v2/bracket/missing", Value::Null, 404, 5),
        (Method::GET, "/v2/bracket?phase=other", Value::Null, 400, 3),
        (Method::GET, "/v2/bracket?limit=101", Value::Null, 400, 3),
        (Method::GET, "/v2/bracket?cursor=x", Value::Null, 400, 3),
        (Method::POST, "/v2/bracket/cup/join", Value::Null, 400, 9),
        (Method::POST, "/v2/bracket/cup/leave", Value::Null, 403, 7),
        (Method::POST, report, winner.clone(), 403, 7),
        (Method::POST, report, json!({}), 400, 3),
        (Method::POST, report, json!({ "winner_id": "nobody" }), 400, 3),
        (Method::POST, report, json!({ "winner_id": ann.id.to_string(), "draw": true }), 400, 3),
        (Method::POST, report, json!({ "winner_id": ann.id.to_string(), "scores": [1] }), 400, 3),
        (Method::POST, "/v2/bracket/cup/match/x/report", winner.clone(), 400, 3),
        (Method::POST, "/v2/bracket/cup/match/-1/report", winner.clone(), 400, 3),
        (Method::POST, "/v2/bracket/cup/match/0/confirm", Value::Null, 403, 7),
    ];
    for (method, path, body, status, code) in cases {
        let answer = ask(&world, &eve, method.clone(), path, body).await;
        assert_eq!((answer.0, &answer.1["code"]), (status, &json!(code)), "{method} {path}: {}", answer.1);
    }
    let draw = ask(&world, &ann, Method::POST, report, json!({ "draw": true })).await;
    assert_eq!((draw.0, &draw.1["code"]), (400, &json!(3)), "an elimination needs a winner");
    let (status, _) = world.ask(None, Method::GET, "/v2/bracket", "").await;
    assert_eq!(status, 401);
}
