//! Stored objects.

use crate::api_support::{CALLER, Calls, none};
use crate::support::rpc;
use serde_json::{Value, json};

fn keys(objects: &Value) -> Vec<&str> {
    objects.as_array().expect("a list").iter().filter_map(|object| object["key"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_written_read_and_deleted_with_versions() {
    let mut calls = Calls::start().await;
    let ann = calls.user("device-of-ann").await;
    let own = json!({ "collection": "bag", "key": "1", "user_id": ann, "value": { "a": 1 } });
    let server = json!({
        "collection": "bag", "key": "2", "value": { "b": 2 }, "version": "*", "permission_read": 2, "permission_write": 0,
    });
    let acks = calls.first("storage_write", &[json!([own, server])]).await;
    assert_eq!(keys(&acks), ["1", "2"]);
    assert_eq!((&acks[0]["collection"], &acks[0]["user_id"]), (&json!("bag"), &json!(ann)));
    let ids = json!([{ "collection": "bag", "key": "2" }, { "collection": "bag", "key": "1", "user_id": ann }]);
    let objects = calls.first("storage_read", std::slice::from_ref(&ids)).await;
    assert_eq!(keys(&objects), ["2", "1"]);
    assert_eq!((&objects[0]["permission_read"], &objects[0]["permission_write"]), (&json!(2), &json!(0)));
    assert_eq!((&objects[1]["value"], &objects[1]["permission_read"]), (&json!({ "a": 1 }), &json!(1)));
    assert_eq!(objects[1]["version"], acks[0]["version"]);
    assert!(objects[1]["update_time"].as_i64().is_some_and(|time| (1_600_000_000..10_000_000_000).contains(&time)));
    let again = json!([{ "collection": "bag", "key": "2", "value": {}, "version": "*" }]);
    calls.fails("storage_write", &[again], "version check failed").await;
    let other = json!([{ "collection": "bag", "key": "1", "user_id": ann, "version": "other" }]);
    calls.fails("storage_delete", &[other], "version check failed").await;
    assert_eq!(calls.ok("storage_delete", std::slice::from_ref(&ids)).await["count"], 0);
    assert_eq!(calls.first("storage_read", &[ids]).await, none());
    calls
        .fails("storage_write", &[json!([{ "collection": "bag", "key": "1", "value": "x" }])], "value to be a table")
        .await;
    calls
        .fails(
            "storage_write",
            &[json!([{ "collection": "bag", "key": "1", "value": {}, "permission_read": 9 }])],
            "permission",
        )
        .await;
    calls.fails("storage_read", &[json!([{ "key": "1" }])], "argument 1 (`keys`)").await;
    calls
        .fails("storage_read", &[json!([{ "collection": "a", "key": "1", "user_id": "x" }])], "user_id to be an id")
        .await;
    calls.fails("storage_delete", &[json!("x")], "a list").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_show_what_the_caller_may_read() {
    let mut calls = Calls::start().await;
    let (ann, bob) = (calls.user("device-of-ann").await, calls.user("device-of-bob").await);
    let writes: Vec<Value> = (0..3)
        .map(|read| {
            let key = format!("read-{read}");
            json!({ "collection": "bag", "key": key, "user_id": ann, "value": {}, "permission_read": read })
        })
        .collect();
    calls.ok("storage_write", &[json!(writes)]).await;
    let page = calls.ok("storage_list", &[json!(ann), json!("bag"), json!(2)]).await;
    assert_eq!(keys(&page["a"]), ["read-0", "read-1"], "the server sees all");
    let rest = calls.ok("storage_list", &[json!(ann), json!("bag"), json!(2), page["b"].clone()]).await;
    assert_eq!((keys(&rest["a"]), &rest["b"]), (vec!["read-2"], &Value::Null));
    let owner = calls.first("storage_list", &[json!(ann), json!("bag"), json!(10), json!(""), json!(ann)]).await;
    assert_eq!(keys(&owner), ["read-1", "read-2"]);
    let other = calls.first("storage_list", &[json!(ann), json!("bag"), json!(10), Value::Null, json!(bob)]).await;
    assert_eq!(keys(&other), ["read-2"]);
    let all = calls.first("storage_list", &[Value::Null, json!("bag")]).await;
    assert_eq!(all.as_array().map(Vec::len), Some(3), "without a user, the objects of all");
    calls.fails("storage_list", &[json!(ann), json!("bag"), json!(0)], "a number from 1 to 100").await;
    calls.fails("storage_list", &[json!(ann)], "argument 2 (`collection`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_short_functions_use_owner_collection_and_key() {
    let mut calls = Calls::start().await;
    let own = calls.client.user.clone();
    let object = |user: &Value, key: &str| [user.clone(), json!("bag"), json!(key)];
    for user in [json!(own), Value::Null] {
        let set = |value: Value| [object(&user, "1").as_slice(), &[value]].concat();
        let version = calls.first("aether.storage_set", &set(json!({ "a": 1 }))).await;
        assert_eq!(version.as_str().map(str::len), Some(32));
        calls.ok("aether.storage_set", &[object(&user, "2").as_slice(), &[json!({ "b": 2 })]].concat()).await;
        assert_eq!(calls.first("aether.storage_get", &object(&user, "1")).await, json!({ "a": 1 }));
        let listed = calls.first("aether.storage_list", &[user.clone(), json!("bag")]).await;
        assert_eq!((keys(&listed), &listed[1]["value"]), (vec!["1", "2"], &json!({ "b": 2 })));
        let first = calls.first("aether.storage_list", &[user.clone(), json!("bag"), json!(1)]).await;
        assert_eq!(keys(&first), ["1"]);
        calls.ok("aether.storage_delete", &object(&user, "1")).await;
        assert_eq!(calls.first("aether.storage_get", &object(&user, "1")).await, Value::Null);
        calls.ok("aether.storage_delete", &object(&user, "1")).await;
    }
    let write = json!({ "objects": [{ "collection": "bag", "key": "2", "value": "{}" }] });
    let answer = calls.client.put("/v2/storage", &write).await.expect("the server answers");
    assert_eq!(answer.status, 403, "the owner may read the object, but not change it: {}", answer.body);
    calls.fails("aether.storage_set", &[json!(own), json!("bag"), json!("1"), json!(7)], "a table with keys").await;
    calls.fails("aether.storage_get", &[json!(own), json!("bag")], "argument 3 (`key`)").await;
    calls.fails("aether.storage_list", &[json!("x"), json!("bag")], "argument 1 (`user`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_finds_objects_by_their_fields() {
    let mut calls = Calls::start_with(|config| {
        let index = config.storage_index_mut("heroes");
        index.collection = Some("heroes".to_owned());
        index.fields = vec!["level".to_owned(), "class".to_owned()];
        index.sortable = vec!["level".to_owned()];
    })
    .await;
    let own = calls.client.user.clone();
    for (key, level, class) in [("a", 1, "mage"), ("b", 5, "mage"), ("c", 9, "knight")] {
        let value = json!({ "level": level, "class": class });
        let write = json!({ "collection": "heroes", "key": key, "user_id": own, "value": value, "permission_read": 1 });
        calls.ok("storage_write", &[json!([write])]).await;
    }
    let mages = [json!("heroes"), json!("+value.class:mage"), json!(10), json!(["-value.level"])];
    let found = calls.ok("storage_index_list", &mages).await;
    assert_eq!((keys(&found["a"]), &found["b"]), (vec!["b", "a"], &Value::Null));
    let first = calls.ok("storage_index_list", &[json!("heroes"), json!(""), json!(2), json!(["value.level"])]).await;
    assert_eq!(keys(&first["a"]), ["a", "b"]);
    let arguments = [json!("heroes"), json!(""), json!(2), json!(["value.level"]), Value::Null, first["b"].clone()];
    assert_eq!(keys(&calls.first("storage_index_list", &arguments).await), ["c"]);
    let stranger = json!("00000000-0000-4000-8000-000000000000");
    let hidden = [json!("heroes"), json!(""), json!(10), json!([]), stranger];
    assert_eq!(calls.first("storage_index_list", &hidden).await, none());
    let missing = calls.error("storage_index_list", &[json!("missing"), json!("")]).await;
    assert!(missing.contains("missing") || missing.contains("not found"), "{missing}");
    calls.fails("storage_index_list", &[json!(7)], "argument 1 (`index`)").await;
    calls.stop().await;
}

const RETRY: &str = r#"
local nk = require("nakama")
local ID = { collection = "counter", key = "n" }

nk.register_rpc(function(context, payload)
    local disturb = nk.json_decode(payload).disturb
    local attempts = 0
    local ok, acks = pcall(nk.storage_write_retry, { ID }, function(objects)
        attempts += 1
        local value = if objects[1] then objects[1].value else { n = 0 }
        if attempts <= disturb then
            nk.storage_write({ { collection = "counter", key = "n", value = { n = value.n + 10 } } })
        end
        return { { collection = "counter", key = "n", value = { n = value.n + 1 } } }
    end, 2)
    local stored = aether.storage_get(nil, "counter", "n")
    return nk.json_encode({ attempts = attempts, ok = ok, acks = if ok then acks else tostring(acks), stored = stored })
end, "retry")

nk.register_rpc(function(context, payload)
    local problems = {}
    for index, arguments in { { { ID }, 7 }, { { ID }, print, 11 }, { { ID }, function() end }, { 7, print } } do
        local ok, problem = pcall(nk.storage_write_retry, table.unpack(arguments, 1, 3))
        problems[index] = tostring(problem)
    end
    return nk.json_encode(problems)
end, "wrong")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_repeated_if_the_object_has_changed_meanwhile() {
    let mut calls = Calls::with_modules(&[("caller", CALLER), ("retry", RETRY)], |_| {}).await;
    let (_, answer) = rpc(&mut calls.client, "retry", &json!({ "disturb": 0 })).await;
    assert_eq!((&answer["attempts"], &answer["stored"]), (&json!(1), &json!({ "n": 1 })), "{answer}");
    assert_eq!(answer["acks"][0]["key"], json!("n"));
    let (_, answer) = rpc(&mut calls.client, "retry", &json!({ "disturb": 2 })).await;
    assert_eq!((&answer["attempts"], &answer["stored"]), (&json!(3), &json!({ "n": 22 })), "{answer}");
    let (_, answer) = rpc(&mut calls.client, "retry", &json!({ "disturb": 3 })).await;
    assert_eq!((&answer["attempts"], &answer["ok"]), (&json!(3), &json!(false)), "{answer}");
    assert!(answer["acks"].as_str().is_some_and(|error| error.contains("version check failed")), "{answer}");
    let (_, problems) = rpc(&mut calls.client, "wrong", &json!({})).await;
    let expected =
        ["argument 2 (`updateFn`)", "argument 3 (`maxRetries`)", "must return a list", "argument 1 (`keys`)"];
    for (index, expected) in expected.iter().enumerate() {
        assert!(problems[index].as_str().is_some_and(|text| text.contains(expected)), "{index}: {problems}");
    }
    calls.stop().await;
}
