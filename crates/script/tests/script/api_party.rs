//! Parties of players.

use crate::api::{Api, column};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn parties_are_listed_by_openness_and_label() {
    let mut api = Api::start().await;
    assert_eq!(api.one("nk.party_list", json!([])).await, json!({}));
    let (ann, bob) = (api.scripts.user().await, api.scripts.user().await);
    let ((mut first, _), (mut second, _)) = (api.socket(&ann).await, api.socket(&bob).await);
    let open = json!({ "party_create": { "open": true, "max_size": 4, "label": "{\"mode\":\"duel\"}" } });
    let open = first.request(open).await["party"]["party_id"].clone();
    let closed = json!({ "party_create": { "open": false, "max_size": 2 } });
    let closed = second.request(closed).await["party"]["party_id"].clone();
    let all = api.call("nk.party_list", json!([10])).await;
    assert_eq!(column(&all["1"], "party_id"), [closed.clone(), open.clone()], "the newest first");
    assert_eq!(column(&all["1"], "max_size"), [json!(2), json!(4)]);
    assert_eq!((&all["1"][1]["label"], &all["1"][1]["hidden"]), (&json!("{\"mode\":\"duel\"}"), &json!(false)));
    let found = api.one("nk.party_list", json!([10, false])).await;
    assert_eq!(column(&found, "party_id"), [closed]);
    let found = api.one("nk.party_list", json!([10, null, "+label.mode:duel"])).await;
    assert_eq!(column(&found, "party_id"), std::slice::from_ref(&open));
    let page = api.call("nk.party_list", json!([1])).await;
    let next = api.call("nk.party_list", json!([1, null, "", page["2"]])).await;
    assert_eq!(column(&next["1"], "party_id"), [open]);
    assert!(next["2"].is_null());
    api.refuse("nk.party_list", json!([10, "yes"]), "open").await;
    api.refuse("nk.party_list", json!([-1]), "limit").await;
    api.fail("nk.party_list", json!([1_000])).await;
    api.stop().await;
}
