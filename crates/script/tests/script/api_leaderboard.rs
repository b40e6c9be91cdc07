//! Leaderboards and their records.

use crate::api::{Api, column};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn boards_are_created_listed_and_deleted() {
    let mut api = Api::start().await;
    api.run("nk.leaderboard_create", json!(["speed", true, "asc", "set", "0 0 * * *", { "kind": "race" }])).await;
    api.run("nk.leaderboard_create", json!(["speed", true, "desc"])).await;
    api.run("nk.leaderboard_create", json!(["kills", false, "desc", "incr"])).await;
    let found = api.one("nk.leaderboards_get_id", json!([["speed", "missing", "kills"]])).await;
    assert_eq!(column(&found, "id"), [json!("speed"), json!("kills")]);
    assert_eq!(column(&found, "sort_order"), [json!("0"), json!("1")], "the first definition stays");
    assert_eq!(column(&found, "operator"), [json!("set"), json!("increment")]);
    assert_eq!(column(&found, "authoritative"), [json!(true), json!(false)]);
    assert_eq!(found[0]["metadata"], json!({ "kind": "race" }));
    assert!(found[0]["next_reset"].as_i64() > found[0]["create_time"].as_i64(), "{found}");
    assert!(found[1]["next_reset"].is_null());
    let page = api.call("nk.leaderboard_list", json!([1])).await;
    let next = api.call("nk.leaderboard_list", json!([1, page["2"]])).await;
    assert_eq!([column(&page["1"], "id"), column(&next["1"], "id")], [[json!("kills")], [json!("speed")]]);
    assert!(next["2"].is_null());
    api.run("nk.leaderboard_delete", json!(["speed"])).await;
    assert_eq!(column(&api.one("nk.leaderboard_list", json!([])).await, "id"), [json!("kills")]);
    api.refuse("nk.leaderboard_create", json!(["x", true, "up"]), "sortOrder").await;
    api.refuse("nk.leaderboard_create", json!(["x", true, "asc", "add"]), "operator").await;
    api.refuse("nk.leaderboard_create", json!(["x", 1]), "authoritative").await;
    api.refuse("nk.leaderboard_list", json!([-1]), "limit").await;
    assert!(api.fail("nk.leaderboard_create", json!(["x", true, "asc", "set", "never"])).await.contains("schedule"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_written_ranked_listed_and_deleted() {
    let mut api = Api::start().await;
    api.run("nk.leaderboard_create", json!(["kills"])).await;
    let owners: Vec<String> = (1..=5).map(|number| Uuid::from_u128(number).to_string()).collect();
    for (index, owner) in owners.iter().enumerate() {
        let write = json!(["kills", owner, format!("p{index}"), 10 * (index + 1), index, { "run": index }]);
        let record = api.one("nk.leaderboard_record_write", write).await;
        assert_eq!((&record["owner_id"], &record["rank"], &record["num_score"]), (&json!(owner), &json!(1), &json!(1)));
        assert_eq!((&record["score"], &record["subscore"]), (&json!(10 * (index + 1)), &json!(index)));
        assert_eq!((&record["metadata"], &record["leaderboard_id"]), (&json!({ "run": index }), &json!("kills")));
    }
    let lower = api.one("nk.leaderboard_record_write", json!(["kills", owners[0], null, 5])).await;
    assert_eq!((&lower["score"], &lower["username"], &lower["rank"]), (&json!(10), &json!("p0"), &json!(5)));
    let added = api.one("nk.leaderboard_record_write", json!(["kills", owners[0], "p0", 5, 0, null, "incr"])).await;
    assert_eq!(added["score"], json!(15));

    let list = api.call("nk.leaderboard_records_list", json!(["kills", [owners[0], owners[4]], 2])).await;
    assert_eq!(column(&list["1"], "score"), [json!(50), json!(40)]);
    assert_eq!(column(&list["2"], "rank"), [json!(5), json!(1)]);
    let next = api.call("nk.leaderboard_records_list", json!(["kills", null, 2, list["3"]])).await;
    assert_eq!(column(&next["1"], "score"), [json!(30), json!(20)]);
    let previous = api.call("nk.leaderboard_records_list", json!(["kills", null, 2, next["4"]])).await;
    assert_eq!(column(&previous["1"], "score"), [json!(50), json!(40)]);
    let alone = api.call("nk.leaderboard_records_list", json!(["kills", [owners[1]]])).await;
    assert_eq!((&alone["1"], column(&alone["2"], "score")), (&json!({}), vec![json!(20)]));
    let all = api.call("nk.leaderboard_records_list", json!(["kills"])).await;
    assert_eq!(column(&all["1"], "rank"), (1..=5).map(|rank| json!(rank)).collect::<Vec<_>>());

    for (rank, expected) in [(1, 50), (3, 30), (5, 15)] {
        let cursor = api.one("nk.leaderboard_records_list_cursor_from_rank", json!(["kills", rank])).await;
        let page = api.call("nk.leaderboard_records_list", json!(["kills", null, 1, cursor])).await;
        assert_eq!((&page["1"][0]["rank"], &page["1"][0]["score"]), (&json!(rank), &json!(expected)));
    }
    let around = api.call("nk.leaderboard_records_haystack", json!(["kills", owners[2], 3])).await;
    assert_eq!(column(&around["1"], "score"), [json!(40), json!(30), json!(20)]);
    assert!(around["2"].is_string() && around["3"].is_string(), "{around}");

    api.run("nk.leaderboard_record_delete", json!(["kills", owners[4]])).await;
    assert_eq!(api.one("aether.leaderboard_get_record", json!(["kills", owners[4]])).await, Value::Null);
    api.run("nk.leaderboard_ranks_disable", json!(["kills"])).await;
    let hidden = api.call("nk.leaderboard_records_list", json!(["kills"])).await;
    assert_eq!(column(&hidden["1"], "rank"), vec![json!(0); 4]);
    assert_eq!(column(&hidden["1"], "score"), [json!(40), json!(30), json!(20), json!(15)]);
    let written = api.one("nk.leaderboard_record_write", json!(["kills", owners[4], "p4", 1])).await;
    assert_eq!(written["rank"], json!(0));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_short_functions_submit_and_read_records() {
    let mut api = Api::start().await;
    api.run("nk.leaderboard_create", json!(["coins", true, "desc", "best", null, null, false])).await;
    api.run("nk.leaderboard_delete", json!(["coins"])).await;
    api.run("nk.leaderboard_create", json!(["coins"])).await;
    let users: Vec<String> = (1..=4).map(|number| Uuid::from_u128(number).to_string()).collect();
    for (index, user) in users.iter().enumerate() {
        let record = api.one("aether.leaderboard_submit", json!(["coins", user, "ann", index, { "i": index }])).await;
        assert_eq!((&record["score"], &record["username"], &record["rank"]), (&json!(index), &json!("ann"), &json!(1)));
    }
    let top = api.one("aether.leaderboard_get_top", json!(["coins", 2])).await;
    assert_eq!(column(&top, "owner_id"), [json!(users[3]), json!(users[2])]);
    let around = api.one("aether.leaderboard_get_around", json!(["coins", users[1], 3])).await;
    assert_eq!(column(&around, "rank"), [json!(2), json!(3), json!(4)]);
    let record = api.one("aether.leaderboard_get_record", json!(["coins", users[1]])).await;
    assert_eq!((&record["rank"], &record["metadata"]), (&json!(3), &json!({ "i": 1 })));
    let unknown = Uuid::new_v4().to_string();
    assert_eq!(api.one("aether.leaderboard_get_around", json!(["coins", unknown, 3])).await, json!({}));
    api.refuse("aether.leaderboard_submit", json!(["coins", users[0], "ann", 1.5]), "score").await;
    api.refuse("aether.leaderboard_submit", json!(["coins", "ann", "ann", 1]), "user").await;
    let missing = api.fail("nk.leaderboard_submit", json!([])).await;
    assert!(missing.contains("nk.leaderboard_submit does not exist"), "{missing}");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_boards_and_wrong_arguments_are_errors() {
    let mut api = Api::start().await;
    let owner = Uuid::from_u128(1).to_string();
    for (function, arguments) in [
        ("nk.leaderboard_records_list", json!(["missing"])),
        ("nk.leaderboard_records_list_cursor_from_rank", json!(["missing", 1])),
        ("nk.leaderboard_record_write", json!(["missing", owner, "p", 1])),
        ("nk.leaderboard_records_haystack", json!(["missing", owner])),
        ("nk.leaderboard_record_delete", json!(["missing", owner])),
        ("aether.leaderboard_get_top", json!(["missing", 3])),
    ] {
        assert!(api.fail(function, arguments).await.contains("Leaderboard not found"), "{function}");
    }
    assert!(api.fail("nk.leaderboard_ranks_disable", json!(["missing"])).await.contains("was not found"));
    api.run("nk.leaderboard_create", json!(["kills"])).await;
    api.refuse("nk.leaderboard_record_write", json!(["kills", "p", "p", 1]), "ownerID").await;
    api.refuse("nk.leaderboard_record_write", json!(["kills", owner, "p", "1"]), "score").await;
    api.refuse("nk.leaderboard_record_write", json!(["kills", owner, "p", 1, 0, "{}"]), "metadata").await;
    api.refuse("nk.leaderboard_records_list_cursor_from_rank", json!(["kills", -1]), "rank").await;
    api.refuse("nk.leaderboards_get_id", json!(["kills"]), "IDs").await;
    let error = api.fail("nk.leaderboard_records_list_cursor_from_rank", json!(["kills", 0])).await;
    assert!(error.contains("1 or more"), "{error}");
    assert!(api.fail("nk.leaderboard_records_list", json!(["kills", null, 5_000])).await.contains("Invalid limit"));
    api.stop().await;
}
