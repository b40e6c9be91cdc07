//! All operations: each is in the call table, has a route, and can be called by name.

use crate::world::World;
use aether_messages::operation::NAMES;
use aether_messages::socket;
use aether_services::{GrpcCode, ServiceError};
use http::Method;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The health check bypasses the table.
const NOT_IN_TABLE: &[&str] = &["Healthcheck"];

fn names(world: &World) -> BTreeSet<&str> {
    world.services().calls.operations().map(|operation| operation.name).collect()
}

/// Routes of the operations whose request is the whole body: method and path by the operation's name.
async fn body_routes(world: &World) -> BTreeMap<String, (Method, String)> {
    let (_, document) = world.ask(None, Method::GET, "/openapi.json", "").await;
    let request_of: BTreeMap<&str, &str> = world
        .services()
        .calls
        .operations()
        .map(|operation| (operation.name, operation.request.rsplit('.').next().expect("a name has a last part")))
        .collect();
    let mut routes = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().expect("paths are an object") {
        for (method, operation) in methods.as_object().expect("operations by method") {
            let id = operation["operationId"].as_str().expect("an operation has an id");
            let body = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str();
            let is_whole = body.and_then(|body| body.rsplit('/').next()) == request_of.get(id).copied();
            if is_whole && body.is_some() {
                let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).expect("it is a method");
                routes.insert(id.to_owned(), (method, path.clone()));
            }
        }
    }
    routes
}

#[tokio::test]
async fn every_operation_of_the_protocol_is_in_the_call_table_or_listed_as_missing() {
    let world = World::new(|_| {}).await;
    let names = names(&world);
    for name in NAMES {
        assert_ne!(names.contains(name), NOT_IN_TABLE.contains(name), "{name}");
    }
    let routed: BTreeSet<&str> = aether_api::client::operations().into_iter().map(|(name, _)| name).collect();
    let of_players = aether_services::admin::operation::NAMES.iter();
    let of_moderators = aether_services::admin::moderation::NAMES;
    let of_values = aether_services::admin::remote_value::NAMES;
    let of_indexes = aether_services::admin::storage_index::NAMES;
    let of_rooms = aether_services::admin::room::NAMES;
    let of_operators = of_players.chain(of_rooms).chain(of_moderators).chain(of_values).chain(of_indexes);
    let of_operators = of_operators.chain(aether_services::bracket::operator::NAMES);
    let of_operators = of_operators.chain(aether_services::admin::script::NAMES);
    let of_operators: BTreeSet<&str> = of_operators.copied().collect();
    assert!(routed.is_disjoint(&of_operators), "the client API has no operations of operators");
    let expected = &routed | &of_operators;
    assert_eq!(names, expected, "the table and the routes of both interfaces have the same operations");
}

#[tokio::test]
async fn every_operation_can_be_called_by_name() {
    let world = World::new(|_| {}).await;
    for name in names(&world) {
        let context = world.context(&world.player().await);
        let outcome = world.services().call_json(name, &context, json!({})).await;
        let more = json!({ "a_field_that_no_message_has": [1, { "x": null }] });
        // Some operations delete the account, so the second call is by another user.
        let context = world.context(&world.player().await);
        let ignored = world.services().call_json(name, &context, more).await;
        for outcome in [&outcome, &ignored] {
            match outcome {
                Ok(answer) => assert!(answer.is_object(), "{name}: {answer}"),
                Err(error) => {
                    assert!(!matches!(error.code, GrpcCode::Internal | GrpcCode::Unimplemented), "{name}: {error}");
                }
            }
        }
        let code = |outcome: &Result<Value, ServiceError>| outcome.as_ref().err().map(|error| error.code);
        if socket::NAMES.contains(&name) {
            assert_eq!(code(&ignored), Some(GrpcCode::InvalidArgument), "{name} rejects them, as over the socket");
        } else {
            assert_eq!(code(&outcome), code(&ignored), "{name} ignores fields that it does not know");
        }
    }
}

#[tokio::test]
async fn an_invalid_value_is_the_same_error_by_name_and_over_http() {
    let world = World::new(|_| {}).await;
    let (player, routes) = (world.player().await, body_routes(&world).await);
    assert!(routes.len() > 30, "{}", routes.len());
    let basic = "Basic ZGVmYXVsdGtleTo=";
    for operation in world.services().calls.operations() {
        let context = world.context(&player);
        for bad in [json!([]), json!("text"), json!(5), json!(true), Value::Null] {
            let outcome = world.services().call_json(operation.name, &context, bad.clone()).await;
            // Extension messages can also be read from a list of their fields, by name and over HTTP.
            if !bad.is_array() || operation.request.starts_with("nakama.") {
                let code = outcome.as_ref().err().map(|error| error.code);
                assert_eq!(code, Some(GrpcCode::InvalidArgument), "{} {bad}: {outcome:?}", operation.name);
            }
            let Some((method, path)) = routes.get(operation.name) else { continue };
            let error = outcome.expect_err("no operation does anything with an empty request");
            let request = http::Request::builder().method(method).uri(path);
            let signed_in = operation.access == aether_services::calls::Access::Session;
            let request = if signed_in { request } else { request.header("authorization", basic) };
            let answer = world.send(signed_in.then_some(&player), request, bad.to_string().into_bytes()).await;
            let body = axum::body::to_bytes(answer.into_body(), 1 << 16).await.expect("the body is complete");
            let body: Value = serde_json::from_slice(&body).expect("every answer is JSON");
            assert_eq!(body["code"], error.code as u8, "{} {bad}: {body}", operation.name);
            let sentence = body["message"].as_str().expect("there is a message");
            // Only JSON text has lines and columns.
            let expected = error.message.trim_end_matches('.');
            assert!(sentence.starts_with(expected), "{}: {sentence:?} and {expected:?}", operation.name);
        }
    }
}

#[tokio::test]
async fn a_field_of_the_wrong_type_is_the_same_error_by_name_and_over_http() {
    let world = World::new(|_| {}).await;
    let (player, routes) = (world.player().await, body_routes(&world).await);
    let (_, document) = world.ask(None, Method::GET, "/openapi.json", "").await;
    let mut compared = 0;
    for operation in world.services().calls.operations() {
        let Some((method, path)) = routes.get(operation.name) else { continue };
        if operation.access != aether_services::calls::Access::Session {
            continue;
        }
        let name = operation.request.rsplit('.').next().expect("a name has a last part");
        let fields = document["components"]["schemas"][name]["properties"].as_object().expect("fields by name");
        for (field, _) in fields.iter().filter(|(_, schema)| schema["type"] == "string" || schema["type"] == "array") {
            let bad = json!({ field: { "wrong": [] } });
            let refused = world.services().call_json(operation.name, &world.context(&player), bad.clone()).await;
            let refused = refused.expect_err("a field has another type");
            let (status, body) = world.ask(Some(&player), method.clone(), path, &bad.to_string()).await;
            assert_eq!((status, &body["code"]), (400, &json!(3)), "{} {bad}", operation.name);
            let sentence = body["message"].as_str().expect("there is a message");
            assert!(sentence.starts_with(refused.message.trim_end_matches('.')), "{sentence:?} and {refused:?}");
            compared += 1;
        }
    }
    assert!(compared > 30, "{compared} fields");
}

#[tokio::test]
async fn an_unknown_name_differs_from_an_unimplemented_operation() {
    let world = World::new(|_| {}).await;
    let context = world.context(&world.player().await);
    let call = async |name: &str| world.services().call_json(name, &context, json!({})).await.expect_err("it is none");
    for name in ["", "getaccount", "GetAccount ", "Nothing", &"x".repeat(100_000)] {
        assert_eq!(call(name).await.code, GrpcCode::NotFound);
    }
    assert_eq!(call("Healthcheck").await.code, GrpcCode::Unimplemented);
}
