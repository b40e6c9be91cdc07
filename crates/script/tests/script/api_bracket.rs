//! Brackets.

use crate::api::{Api, column};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_bracket_is_played_from_its_creation_to_its_winner() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    let [bob, eve] = [api.scripts.user().await.user, api.scripts.user().await.user];
    let definition = json!({ "id": "cup", "format": "single_elimination", "title": "Cup", "seeding": "rating",
        "metadata": { "prize": 5 } });
    let bracket = api.one("aether.bracket_create", json!([definition])).await;
    assert_eq!(
        (&bracket["id"], &bracket["phase"], &bracket["title"]),
        (&json!("cup"), &json!("registration"), &json!("Cup"))
    );
    assert_eq!(bracket["metadata"], json!({ "prize": 5 }));
    for (user, rating) in [(&ann, 1), (&bob, 2), (&eve, 3)] {
        api.one("aether.bracket_join", json!(["cup", user, rating])).await;
    }
    assert_eq!(api.one("aether.bracket_leave", json!(["cup", eve])).await["size"], json!(2));
    let started = api.one("aether.bracket_start", json!(["cup"])).await;
    assert_eq!(started["bracket"]["phase"], json!("running"));
    assert_eq!(column(&started["matches"][0]["sides"], "user_id"), [json!(bob), json!(ann)], "by rating");
    let reported = api.one("aether.bracket_report", json!(["cup", 0, ann, [1, 2], bob])).await;
    assert_eq!(reported["matches"][0]["sides"][0]["report"], json!("second"));
    let ended = api.one("aether.bracket_report", json!(["cup", 0, ann, [1, 2]])).await;
    assert_eq!((&ended["bracket"]["phase"], &ended["bracket"]["winner_id"]), (&json!("finished"), &json!(ann)));
    assert_eq!((&ended["matches"][0]["scores"], &ended["matches"][0]["reason"]), (&json!([1, 2]), &json!("operator")));
    let standings = api.one("aether.bracket_standings", json!(["cup"])).await;
    assert_eq!(column(&standings, "user_id"), [json!(ann), json!(bob)]);
    assert_eq!(column(&standings, "rank"), [json!(1), json!(2)]);
    let found = api.one("aether.bracket_get", json!(["cup"])).await;
    assert_eq!(found["bracket"]["winner_id"], json!(ann));

    api.one("aether.bracket_create", json!([{ "id": "next", "format": "swiss" }])).await;
    let all = api.call("aether.bracket_list", json!([null, 1])).await;
    let more = api.call("aether.bracket_list", json!([null, 1, all["2"]])).await;
    let mut ids = [column(&all["1"], "id"), column(&more["1"], "id")].concat();
    ids.sort_by_key(Value::to_string);
    assert_eq!(ids, [json!("cup"), json!("next")]);
    assert_eq!(column(&api.one("aether.bracket_list", json!(["finished"])).await, "id"), [json!("cup")]);
    assert_eq!(api.one("aether.bracket_delete", json!(["cup"])).await, json!(true));
    assert_eq!(api.one("aether.bracket_delete", json!(["cup"])).await, json!(false));
    assert_eq!(api.one("aether.bracket_get", json!(["cup"])).await, Value::Null);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_and_unknown_brackets_are_errors() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    api.refuse("aether.bracket_create", json!(["cup"]), "definition").await;
    api.refuse("aether.bracket_create", json!([{ "format": 7 }]), "definition").await;
    assert!(api.fail("aether.bracket_create", json!([{ "format": "cup" }])).await.contains("format is one of"));
    api.refuse("aether.bracket_list", json!(["over"]), "phase").await;
    api.refuse("aether.bracket_report", json!(["cup", -1, ann]), "number").await;
    api.refuse("aether.bracket_report", json!(["cup", 0, "ann"]), "winner").await;
    api.refuse("aether.bracket_report", json!(["cup", 0, "draw", [1]]), "scores").await;
    for (function, arguments) in [
        ("aether.bracket_join", json!(["cup", ann])),
        ("aether.bracket_leave", json!(["cup", ann])),
        ("aether.bracket_start", json!(["cup"])),
        ("aether.bracket_report", json!(["cup", 0, ann])),
        ("aether.bracket_standings", json!(["cup"])),
    ] {
        assert!(api.fail(function, arguments).await.contains("not found"), "{function}");
    }
    let missing = api.fail("nk.bracket_get", json!(["cup"])).await;
    assert!(missing.contains("nk.bracket_get does not exist"), "{missing}");
    api.stop().await;
}
