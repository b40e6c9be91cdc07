//! Daily rewards, with storage and wallet.

use crate::support::{HTTP_KEY, Scenario, rpc};
use aether_testkit_server::ApiClient;
use aether_testkit_server::aether_server::services::Caller;
use aether_testkit_server::aether_server::services::storage::{ObjectId, Write};
use serde_json::{Value, json};
use uuid::Uuid;

async fn start() -> Scenario {
    Scenario::start(&[("daily_rewards", include_str!("daily_rewards.lua"))], |config| {
        // A day that does not end while the test runs.
        config.script.environment = vec!["day_seconds=1000000000".to_owned()];
    })
    .await
}

async fn wallet(user: &mut ApiClient) -> Value {
    let account = user.get("/v2/account").await.expect("the server answers").json();
    serde_json::from_str(account["wallet"].as_str().expect("a wallet")).expect("the wallet is JSON")
}

/// Moves the last claim of a user to another day, as time does.
async fn claimed_on(scenario: &Scenario, user: &ApiClient, day: i64, streak: i64) {
    let owner = Uuid::try_parse(&user.user).expect("an id");
    let value = json!({ "last_day": day, "streak": streak, "total": streak }).to_string();
    let write = Write::new(ObjectId::new("reward", "daily", owner), value);
    scenario.server.services().storage.write(&Caller::Server, vec![write]).await.expect("the object is written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_claims_once_a_day_and_keeps_a_streak() {
    let scenario = start().await;
    let mut user = scenario.user().await;
    assert_eq!(wallet(&mut user).await, json!({ "coins": 1_000 }), "new players start with coins");
    let (status, first) = rpc(&mut user, "rewards_status", &json!({})).await;
    assert_eq!((status, &first["can_claim"], &first["reward"]), (200, &json!(true), &json!({ "coins": 100 })));
    let today = first["today"].as_i64().expect("a day");

    let (status, claimed) = rpc(&mut user, "rewards_claim", &json!({})).await;
    assert_eq!((status, &claimed["streak"]), (200, &json!(1)), "{claimed}");
    assert_eq!(wallet(&mut user).await, json!({ "coins": 1_100 }));
    let (status, refused) = rpc(&mut user, "rewards_claim", &json!({})).await;
    assert_eq!((status, &refused["code"]), (400, &json!(9)), "{refused}");
    assert_eq!(refused["message"], "today's reward was claimed already");

    claimed_on(&scenario, &user, today - 1, 6).await;
    let (_, claimed) = rpc(&mut user, "rewards_claim", &json!({})).await;
    assert_eq!((&claimed["streak"], &claimed["reward"]), (&json!(7), &json!({ "coins": 500, "gems": 5 })));
    claimed_on(&scenario, &user, today - 2, 7).await;
    let (_, claimed) = rpc(&mut user, "rewards_claim", &json!({})).await;
    assert_eq!(claimed["streak"], 1, "a missed day ends the streak");
    assert_eq!(wallet(&mut user).await, json!({ "coins": 1_700, "gems": 5 }));

    let (_, history) = rpc(&mut user, "rewards_history", &json!({ "limit": 10 })).await;
    let reasons: Vec<_> = history["entries"].as_array().expect("entries").iter().map(|it| &it["reason"]).collect();
    assert_eq!(reasons.iter().filter(|reason| **reason == "daily reward").count(), 3, "{history}");
    assert_eq!(reasons.iter().filter(|reason| **reason == "welcome").count(), 1, "{history}");
    let (status, refused) = rpc(&mut user, "rewards_history", &json!({ "limit": 0 })).await;
    assert_eq!((status, &refused["code"]), (400, &json!(3)));
    scenario.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claims_at_once_pay_one_reward() {
    let scenario = start().await;
    let mut one = scenario.user().await;
    let mut two = ApiClient::new(scenario.server.http);
    two.authorize(format!("Bearer {}", one.token));
    let empty = json!({});
    let (of_one, of_two) = tokio::join!(rpc(&mut one, "rewards_claim", &empty), rpc(&mut two, "rewards_claim", &empty));
    let mut statuses = [of_one.0, of_two.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 400], "{of_one:?} {of_two:?}");
    assert_eq!(wallet(&mut one).await, json!({ "coins": 1_100 }));
    scenario.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_do_not_write_rewards_and_servers_grant_them() {
    let scenario = start().await;
    let mut user = scenario.user().await;
    let object = |collection: &str| json!({ "collection": collection, "key": "daily", "value": "{\"streak\":99}" });
    let forged = user.put("/v2/storage", &json!({ "objects": [object("reward")] })).await.expect("the server answers");
    assert_eq!((forged.status, &forged.json()["message"]), (403, &json!("the server writes rewards")));
    let usual = user.put("/v2/storage", &json!({ "objects": [object("save")] })).await.expect("the server answers");
    assert_eq!(usual.status, 200);

    let gift = json!({ "user_id": user.user, "coins": 50 });
    let (status, _) = rpc(&mut user, "rewards_grant", &gift).await;
    assert_eq!(status, 403);
    let mut support = ApiClient::new(scenario.server.http);
    support.authorize("");
    let path = format!("/v2/rpc/rewards_grant?http_key={HTTP_KEY}&unwrap");
    let granted = support.send("POST", &path, gift.to_string()).await.expect("the server answers");
    assert_eq!((granted.status, granted.json()), (200, json!({ "granted": true })));
    assert_eq!(wallet(&mut user).await, json!({ "coins": 1_050 }));
    let stored = user.get("/v2/notification").await.expect("the server answers").json();
    assert_eq!(stored["notifications"][0]["subject"], "A gift for you", "{stored}");
    scenario.stop().await;
}
