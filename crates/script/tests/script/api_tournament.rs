//! Tournaments and their records.

use crate::api::{Api, column};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test(flavor = "multi_thread")]
async fn tournaments_are_created_with_the_duration_in_either_place() {
    let mut api = Api::start().await;
    let late = json!([
        "late", true, "asc", "set", "0 12 * * *", { "a": 1 }, "Late", "By the reference.", 3, 0, 0, 3600, 8, 2, true
    ]);
    let early =
        json!(["early", false, "desc", "best", 60, null, { "b": 2 }, "Early", "As modules do.", 5, 0, 0, 10, 4, false]);
    api.run("nk.tournament_create", late).await;
    api.run("nk.tournament_create", early.clone()).await;
    api.run("nk.tournament_create", json!(["early", true, "asc", "set", 90])).await;
    let found = api.one("nk.tournaments_get_id", json!([["late", "missing", "early"]])).await;
    let late = &found[0];
    assert_eq!((&late["title"], &late["description"]), (&json!("Late"), &json!("By the reference.")));
    assert_eq!(
        (&late["category"], &late["duration"], &late["metadata"]),
        (&json!(3), &json!(3600), &json!({ "a": 1 }))
    );
    assert_eq!((&late["sort_order"], &late["operator"]), (&json!("0"), &json!("set")));
    assert_eq!((&late["max_size"], &late["max_num_score"]), (&json!(8), &json!(2)));
    assert_eq!((&late["join_required"], &late["authoritative"]), (&json!(true), &json!(true)));
    assert!(late["next_reset"].is_number() && late["end_time"].is_null(), "{late}");
    let early = &found[1];
    assert_eq!((&early["title"], &early["category"], &early["duration"]), (&json!("Early"), &json!(5), &json!(60)));
    assert_eq!((&early["sort_order"], &early["authoritative"]), (&json!("1"), &json!(false)), "settings stay");
    assert_eq!((&early["can_enter"], &early["size"]), (&json!(true), &json!(0)));
    assert_eq!(early["end_active"].as_i64(), early["start_active"].as_i64().map(|start| start + 60));

    let list = api.call("nk.tournament_list", json!([0, 127, null, null, 1])).await;
    let next = api.call("nk.tournament_list", json!([0, 127, null, null, 1, list["2"]])).await;
    assert_eq!([column(&list["1"], "id"), column(&next["1"], "id")], [[json!("late")], [json!("early")]]);
    assert_eq!(column(&api.one("nk.tournament_list", json!([4])).await, "id"), [json!("early")]);
    api.run("nk.tournament_delete", json!(["early"])).await;
    assert_eq!(column(&api.one("nk.tournament_list", json!([])).await, "id"), [json!("late")]);
    api.refuse("nk.tournament_create", json!(["x"]), "duration").await;
    api.refuse("nk.tournament_create", json!(["x", true, "asc", "set", 60, null, "{}"]), "title").await;
    api.refuse("nk.tournament_list", json!([-1]), "categoryStart").await;
    assert!(api.fail("nk.tournament_create", json!(["x", true, "asc", "set", 0])).await.contains("duration"));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn users_join_submit_scores_and_get_attempts() {
    let mut api = Api::start().await;
    let create = json!(["dash", true, "desc", "best", 3600, null, null, null, null, null, null, null, 0, 1, true]);
    api.run("nk.tournament_create", create).await;
    let owners: Vec<String> = (1..=3).map(|number| Uuid::from_u128(number).to_string()).collect();
    let early = api.fail("nk.tournament_record_write", json!(["dash", owners[0], "p", 1])).await;
    assert!(early.contains("Join the tournament"), "{early}");
    for (index, owner) in owners.iter().enumerate() {
        api.run("nk.tournament_join", json!(["dash", owner, "p"])).await;
        let write = json!(["dash", owner, format!("p{index}"), 10 * (index + 1), 1, { "i": index }]);
        let record = api.one("nk.tournament_record_write", write).await;
        assert_eq!((&record["rank"], &record["num_score"]), (&json!(1), &json!(1)));
        assert_eq!((&record["metadata"], &record["max_num_score"]), (&json!({ "i": index }), &json!(1)));
    }
    let used_up = api.fail("nk.tournament_record_write", json!(["dash", owners[0], "p", 99])).await;
    assert!(used_up.contains("attempts are used up"), "{used_up}");
    api.run("nk.tournament_add_attempt", json!(["dash", owners[0], 1])).await;
    let record = api.one("nk.tournament_record_write", json!(["dash", owners[0], "p0", 25, 0, null, "SET"])).await;
    assert_eq!((&record["score"], &record["max_num_score"]), (&json!(25), &json!(2)));

    let list = api.call("nk.tournament_records_list", json!(["dash", [owners[0]], 2])).await;
    assert_eq!(column(&list["1"], "score"), [json!(30), json!(25)]);
    assert_eq!(column(&list["2"], "rank"), [json!(2)]);
    let next = api.call("nk.tournament_records_list", json!(["dash", null, 2, list["3"]])).await;
    assert_eq!((column(&next["1"], "score"), next["4"].is_string()), (vec![json!(20)], true));
    let around = api.call("nk.tournament_records_haystack", json!(["dash", owners[1], 2])).await;
    assert_eq!(column(&around["1"], "score"), [json!(25), json!(20)]);
    assert!(around["2"].is_null() && around["3"].is_string(), "{around}");
    api.run("nk.tournament_ranks_disable", json!(["dash"])).await;
    let hidden = api.call("nk.tournament_records_list", json!(["dash"])).await;
    assert_eq!(column(&hidden["1"], "rank"), vec![json!(0); 3]);
    api.run("nk.tournament_record_delete", json!(["dash", owners[2]])).await;
    let rest = api.call("nk.tournament_records_list", json!(["dash"])).await;
    assert_eq!(column(&rest["1"], "score"), [json!(25), json!(20)]);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_tournaments_and_wrong_arguments_are_errors() {
    let mut api = Api::start().await;
    let owner = Uuid::from_u128(1).to_string();
    for (function, arguments) in [
        ("nk.tournament_join", json!(["missing", owner, "p"])),
        ("nk.tournament_add_attempt", json!(["missing", owner, 1])),
        ("nk.tournament_record_write", json!(["missing", owner, "p", 1])),
        ("nk.tournament_record_delete", json!(["missing", owner])),
        ("nk.tournament_records_list", json!(["missing"])),
        ("nk.tournament_records_haystack", json!(["missing", owner])),
    ] {
        assert!(api.fail(function, arguments).await.contains("Tournament not found"), "{function}");
    }
    assert!(api.fail("nk.tournament_ranks_disable", json!(["missing"])).await.contains("was not found"));
    api.refuse("nk.tournament_join", json!(["missing", "p"]), "userID").await;
    api.refuse("nk.tournament_add_attempt", json!(["missing", owner, "1"]), "count").await;
    api.refuse("nk.tournament_record_write", json!(["missing", owner, "p", 1, 0, {}, "add"]), "overrideOperatorString")
        .await;
    api.refuse("nk.tournaments_get_id", json!([7]), "tournamentIDs").await;
    assert_eq!(api.one("nk.tournaments_get_id", json!([[]])).await, json!({}));
    assert_eq!(api.call("nk.tournament_list", json!([])).await["2"], Value::Null);
    api.stop().await;
}
