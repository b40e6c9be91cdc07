//! Remote values: rules, limits, changes and access.

use crate::audit::services;
use crate::fixture::{Fixture, error_of, fixtures};
use crate::moderation::as_user;
use aether_messages::realtime::envelope::Message;
use aether_metrics::Registry;
use aether_services::admin::remote_value::{DeleteRemoteValue, RemoteValueRequest};
use aether_services::remote_value::{
    KEY_BYTES_MAX, KEYS_PER_REQUEST_MAX, NewRemoteValue, RULES_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX, VALUES_MAX,
    ValueContext, watch_stream,
};
use aether_services::router::{OutboxItem, PresenceMeta, SocketSession};
use aether_services::session::tokens::Role;
use aether_services::{CallContext, GrpcCode, Services};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

async fn opened() -> Vec<(Arc<Services>, Fixture)> {
    let mut all = Vec::new();
    for fixture in fixtures().await {
        all.push((services(fixture.store.clone(), &fixture.clock, &Registry::new()).await, fixture));
    }
    all
}

fn value(key: &str, value: Value, rules: Value) -> NewRemoteValue {
    let rules = serde_json::from_value(rules).expect("the rules are valid");
    NewRemoteValue { key: key.to_owned(), value: value.to_string(), rules }
}

fn on(platform: &str) -> ValueContext {
    let variables = BTreeMap::from([("platform".to_owned(), platform.to_owned())]);
    ValueContext { user: Uuid::from_u128(7), variables, account_created_at: None }
}

#[tokio::test]
async fn the_first_rule_that_holds_decides_and_values_survive_a_restart() {
    for (services, fixture) in opened().await {
        let rules = json!([
            { "if": { "variable": { "name": "platform", "in": ["ios"] } }, "value": { "speed": 2 } },
            { "if": { "percent": { "of": 100 } }, "value": [1, 2] },
        ]);
        let set = services.remote_values.set(value("motion", json!({ "speed": 1 }), rules)).await.unwrap();
        assert_eq!((set.version, set.rules.len()), (1, 2));
        let again = services_again(&services, &fixture).await;
        for services in [&services, &again] {
            let get =
                |context: &ValueContext| services.remote_values.get(context, "motion").map(|text| text.to_string());
            assert_eq!(get(&on("ios")).as_deref(), Some(r#"{"speed":2}"#), "{}", fixture.name);
            assert_eq!(get(&on("web")).as_deref(), Some("[1,2]"));
            assert_eq!(get(&ValueContext::default()).as_deref(), Some(r#"{"speed":1}"#), "nobody gets the default");
        }
        assert_eq!(services.remote_values.get(&on("ios"), "missing"), None);
        fixture.clock.advance_ms(5);
        let changed = services.remote_values.set(value("motion", json!(3), json!([]))).await.unwrap();
        assert_eq!((changed.version, changed.updated_at - changed.created_at), (2, 5));
        assert_eq!(services.remote_values.get(&on("ios"), "motion").as_deref(), Some("3"));
        assert!(services.remote_values.delete("motion").await.unwrap());
        assert!(!services.remote_values.delete("motion").await.unwrap());
        assert_eq!(services.remote_values.get(&on("ios"), "motion"), None);
        assert_eq!(fixture.count("SELECT COUNT(*) FROM remote_values").await, 0);
    }
}

async fn services_again(services_before: &Arc<Services>, fixture: &Fixture) -> Arc<Services> {
    assert!(services_before.remote_values.find("motion").is_some());
    services(fixture.store.clone(), &fixture.clock, &Registry::new()).await
}

#[tokio::test]
async fn a_client_gets_its_values_in_one_call_and_learns_if_they_changed() {
    for (services, fixture) in opened().await {
        let new = json!([{ "if": { "account_age": { "below_seconds": 60 } }, "value": "welcome" }]);
        services.remote_values.set(value("greeting", json!("hello"), new)).await.unwrap();
        services.remote_values.set(value("limit", json!(5), json!([]))).await.unwrap();
        let context = as_user(fixture.user().await, Role::Player);
        let list = async |request: Value| services.call_json("ListRemoteValues", &context, request).await;
        let first = list(json!({})).await.unwrap();
        assert_eq!(first["values"], json!({ "greeting": "welcome", "limit": 5 }), "{}", fixture.name);
        let same = list(json!({ "hash": first["hash"] })).await.unwrap();
        assert_eq!((&same["unchanged"], &same["values"]), (&json!(true), &json!({})));
        let some = list(json!({ "keys": ["limit", "missing"] })).await.unwrap();
        assert_eq!((&some["values"], &some["unchanged"]), (&json!({ "limit": 5 }), &json!(false)));

        fixture.clock.advance_ms(60_000);
        let older = list(json!({ "hash": first["hash"] })).await.unwrap();
        assert_eq!((&older["unchanged"], &older["values"]["greeting"]), (&json!(false), &json!("hello")));
        services.remote_values.set(value("limit", json!(6), json!([]))).await.unwrap();
        assert_eq!(list(json!({ "hash": older["hash"] })).await.unwrap()["values"]["limit"], 6);
        let many: Vec<String> = (0..=KEYS_PER_REQUEST_MAX).map(|number| number.to_string()).collect();
        assert_eq!(error_of(list(json!({ "keys": many })).await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn values_beyond_the_limits_are_rejected() {
    let (services, fixture) = opened().await.remove(0);
    let deep = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let rule = json!({ "if": { "percent": { "of": 1 } }, "value": 1 });
    let long = |bytes: usize| json!("x".repeat(bytes - 2));
    for (allowed, rejected) in [
        (
            value(&"k".repeat(KEY_BYTES_MAX), json!(1), json!([])),
            value(&"k".repeat(KEY_BYTES_MAX + 1), json!(1), json!([])),
        ),
        (value("a.b_c-9", json!(1), json!([])), value("a b", json!(1), json!([]))),
        (value("k", long(VALUE_BYTES_MAX), json!([])), value("k", long(VALUE_BYTES_MAX + 1), json!([]))),
        (value("k", deep(VALUE_DEPTH_MAX), json!([])), value("k", deep(VALUE_DEPTH_MAX + 1), json!([]))),
        (value("k", json!(1), json!(vec![&rule; RULES_MAX])), value("k", json!(1), json!(vec![&rule; RULES_MAX + 1]))),
        (
            value("k", json!(1), json!([rule])),
            value("k", json!(1), json!([{ "if": { "percent": { "of": 101 } }, "value": 1 }])),
        ),
    ] {
        assert!(services.remote_values.set(allowed).await.is_ok());
        let name = rejected.key.clone();
        assert_eq!(error_of(services.remote_values.set(rejected).await).0, GrpcCode::InvalidArgument, "{name}");
    }
    let not_json = NewRemoteValue { key: "k".to_owned(), value: "{".to_owned(), rules: Vec::new() };
    assert_eq!(error_of(services.remote_values.set(not_json).await).0, GrpcCode::InvalidArgument);
    // All values together: 64 of the largest size do not fit.
    let mut outcome = Ok(());
    for number in 0..64 {
        let new = value(&format!("large{number}"), long(VALUE_BYTES_MAX), json!([]));
        outcome = outcome.and(services.remote_values.set(new).await.map(|_| ()));
    }
    assert_eq!(error_of(outcome).0, GrpcCode::ResourceExhausted);
    for number in 0..64 {
        services.remote_values.delete(&format!("large{number}")).await.unwrap();
    }
    let stored = fixture.count("SELECT COUNT(*) FROM remote_values").await as usize;
    for number in stored..VALUES_MAX {
        services.remote_values.set(value(&format!("key{number}"), json!(1), json!([]))).await.unwrap();
    }
    let beyond = services.remote_values.set(value("one-more", json!(1), json!([]))).await;
    assert_eq!(error_of(beyond).0, GrpcCode::ResourceExhausted);
    assert!(services.remote_values.set(value("k", json!(2), json!([]))).await.is_ok(), "known keys can change");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_leave_memory_as_the_database() {
    for (services, fixture) in opened().await {
        let change = |number: i64| {
            let services = Arc::clone(&services);
            tokio::spawn(async move {
                match number % 5 {
                    0 => services.remote_values.delete("key").await.map(|_| ()),
                    _ => services.remote_values.set(value("key", json!(number), json!([]))).await.map(|_| ()),
                }
            })
        };
        let changes: Vec<_> = (1..50).map(change).collect();
        for changed in changes {
            changed.await.unwrap().unwrap();
        }
        let stored = crate::audit::services(fixture.store.clone(), &fixture.clock, &Registry::new()).await;
        let get = |services: &Services| services.remote_values.get(&on("web"), "key");
        assert_eq!(get(&services), get(&stored), "{}", fixture.name);
    }
}

#[tokio::test]
async fn sessions_that_watch_learn_which_key_changed() {
    for (services, fixture) in opened().await {
        let user = fixture.user().await;
        let session =
            SocketSession { session: Uuid::new_v4(), user, username: Arc::from("ann"), node: Arc::from("n1") };
        let socket = services.router.open(session).unwrap();
        let meta = PresenceMeta { hidden: true, ..PresenceMeta::default() };
        services.router.track(socket.socket.session, &watch_stream(), meta).unwrap();
        services.remote_values.set(value("limit", json!(5), json!([]))).await.unwrap();
        services.remote_values.delete("limit").await.unwrap();
        let mut changes = Vec::new();
        while let Some(item) = socket.outbox.take() {
            if let OutboxItem::Message(message) = item
                && let Some(Message::StreamData(data)) = &message.envelope().message
            {
                changes.push(data.data.clone());
            }
        }
        assert_eq!(changes, [r#"{"key":"limit","version":1}"#, r#"{"key":"limit"}"#], "{}", fixture.name);
    }
}

#[tokio::test]
async fn only_admins_change_values_and_every_change_is_audited() {
    for (services, fixture) in opened().await {
        let user = fixture.user().await;
        let request = json!({ "key": "limit", "contents": { "value": 5 } });
        for role in [Role::Player, Role::ReadOnly, Role::Moderator, Role::Developer] {
            let refused = services.call_json("SetRemoteValue", &as_user(user, role), request.clone()).await;
            assert_eq!(error_of(refused).0, GrpcCode::PermissionDenied, "{role}");
        }
        let listed = services.call_json("ListAllRemoteValues", &as_user(user, Role::Player), json!({})).await;
        assert_eq!(error_of(listed).0, GrpcCode::PermissionDenied, "players do not see the rules");
        let admin = as_user(user, Role::Admin);
        let set = services.call_json("SetRemoteValue", &admin, request).await.unwrap();
        assert_eq!((&set["value"], &set["rules"], &set["version"]), (&json!(5), &json!([]), &json!(1)));
        for bad in [
            json!({ "key": "limit" }),
            json!({ "key": "limit", "contents": { "value": 5, "rules": [{ "if": { "moon": "full" }, "value": 1 }] } }),
            json!({ "key": "limit", "contents": { "value": 5, "rules": { } } }),
        ] {
            let refused = services.call_json("SetRemoteValue", &admin, bad.clone()).await;
            assert_eq!(error_of(refused).0, GrpcCode::InvalidArgument, "{bad}");
        }
        fixture.clock.advance_ms(1);
        let server = Arc::new(CallContext::server());
        let named = || RemoteValueRequest { key: "limit".to_owned() };
        services.call::<DeleteRemoteValue>(&server, named()).await.unwrap();
        assert_eq!(error_of(services.call::<DeleteRemoteValue>(&server, named()).await).0, GrpcCode::NotFound);
        let entries = services.audit.list(0, 10).await.unwrap();
        let entries: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.detail.as_str())).collect();
        assert_eq!(entries, [("DeleteRemoteValue", "limit"), ("SetRemoteValue", "limit")], "{}", fixture.name);
    }
}
