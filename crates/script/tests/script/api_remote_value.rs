//! Remote values.

use crate::api::{Api, column};
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn values_are_set_read_by_rules_listed_and_deleted() {
    let mut api = Api::start().await;
    let ann = api.user.user.clone();
    let value = api.one("aether.remote_value_set", json!(["shop.price", { "gold": 5 }])).await;
    assert_eq!((&value["key"], &value["version"]), (&json!("shop.price"), &json!(1)));
    let rules = json!([{ "if": { "percent": { "of": 100 } }, "value": { "gold": 4 } }]);
    let value = api.one("aether.remote_value_set", json!(["shop.price", { "gold": 6 }, rules])).await;
    assert_eq!((&value["version"], &value["value"]), (&json!(2), &json!({ "gold": 6 })));
    assert_eq!(value["rules"][0]["value"], json!({ "gold": 4 }));
    assert_eq!(api.one("aether.remote_value_get", json!(["shop.price"])).await, json!({ "gold": 6 }));
    assert_eq!(api.one("aether.remote_value_get", json!(["shop.price", ann])).await, json!({ "gold": 4 }));
    assert_eq!(api.one("aether.remote_value_get", json!(["missing"])).await, Value::Null);
    api.one("aether.remote_value_set", json!(["tip", "Hello."])).await;
    let list = api.one("aether.remote_values_list", json!([])).await;
    assert_eq!(column(&list, "key"), [json!("shop.price"), json!("tip")]);
    assert_eq!(column(&api.one("aether.remote_values_list", json!(["shop.price", 1])).await, "key"), [json!("tip")]);
    assert_eq!(api.one("aether.remote_value_delete", json!(["tip"])).await, json!(true));
    assert_eq!(api.one("aether.remote_value_delete", json!(["tip"])).await, json!(false));
    api.refuse("aether.remote_value_set", json!(["x", 1, [{ "if": 1 }]]), "rules").await;
    api.refuse("aether.remote_value_get", json!(["x", "ann"]), "user").await;
    api.refuse("aether.remote_values_list", json!(["x", -1]), "limit").await;
    assert!(api.fail("aether.remote_value_set", json!(["a b", 1])).await.contains("The key of a remote value"));
    api.stop().await;
}
