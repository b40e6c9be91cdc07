//! Functions that clients call by name.

use crate::world::{ApiParts, HTTP_KEY, Player, World};
use aether_messages::operation::RpcFunc;
use aether_services::calls::{Module, PAYLOAD_BYTES_MAX};
use aether_services::{CallContext, GrpcCode, ServiceError};
use axum::body::to_bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, Method, Request, header};
use serde_json::{Value, json};
use std::sync::Arc;

/// Creates a world with functions: one that reports its call, one that fails, and one that is not for clients.
async fn world() -> (World, Player) {
    world_with(ApiParts::default()).await
}

async fn world_with(parts: ApiParts) -> (World, Player) {
    let world = World::with_parts(|_| {}, parts).await;
    let mut module = Module::default();
    let registered = module.functions.register_rpc("Tell", |_, context, payload| async move {
        let user = context.caller.user().map(|identity| identity.user);
        Ok(json!({ "payload": payload, "query": context.query, "user": user }).to_string())
    });
    registered.expect("the name is free");
    let registered = module.functions.register_rpc("refuse", |_, _, _| async {
        Err(ServiceError::new(GrpcCode::FailedPrecondition, "The shop is closed."))
    });
    registered.expect("the name is free");
    let hidden = module.functions.register_call("hidden", |_, payload| async move { Ok(Some(payload)) });
    hidden.expect("the name is free");
    world.services().calls.replace("test", module).expect("the module is valid");
    let player = world.player().await;
    (world, player)
}

async fn send(world: &World, player: &Player, method: Method, path: &str, body: &str) -> (u16, HeaderMap, String) {
    let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/x-test");
    let response = world.send(Some(player), request, body.as_bytes().to_vec()).await;
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.expect("the body is complete");
    (parts.status.as_u16(), parts.headers, String::from_utf8(bytes.to_vec()).expect("the body is text"))
}

fn report(payload: &Value) -> Value {
    serde_json::from_str(payload.as_str().expect("a payload is text")).expect("the function returns JSON")
}

#[tokio::test]
async fn a_payload_travels_as_a_json_string_in_both_directions() {
    let (world, player) = world().await;
    let (status, answer) = world.ask(Some(&player), Method::POST, "/v2/rpc/tell", r#""{\"a\":1}""#).await;
    assert_eq!((status, answer.as_object().map(serde_json::Map::len)), (200, Some(1)));
    assert_eq!(report(&answer["payload"]), json!({ "payload": "{\"a\":1}", "query": {}, "user": player.id }));
    let (_, empty) = world.ask(Some(&player), Method::POST, "/v2/rpc/TELL", "").await;
    assert_eq!(report(&empty["payload"])["payload"], "", "case does not matter, and an empty body is an empty payload");
}

#[tokio::test]
async fn get_has_no_payload_and_passes_the_query() {
    let (world, player) = world().await;
    let path = "/v2/rpc/tell?payload=%22x%22&a=1&a=2&http_key=&";
    let (status, answer) = world.ask(Some(&player), Method::GET, path, "").await;
    let query = json!({ "payload": ["\"x\""], "a": ["1", "2"] });
    assert_eq!(status, 200);
    assert_eq!(report(&answer["payload"]), json!({ "payload": "", "query": query, "user": player.id }));
}

#[tokio::test]
async fn unwrapped_body_and_answer_are_the_payload() {
    let (world, player) = world().await;
    let (status, headers, body) = send(&world, &player, Method::POST, "/v2/rpc/tell?unwrap", "as { it is").await;
    assert_eq!(status, 200);
    assert_eq!(headers[header::CONTENT_TYPE], "application/x-test");
    let answer: Value = serde_json::from_str(&body).expect("the function returns JSON");
    assert_eq!((&answer["payload"], &answer["query"]), (&json!("as { it is"), &json!({ "unwrap": [""] })));
}

#[tokio::test]
async fn an_error_has_the_form_of_the_rpc_protocol() {
    let (world, player) = world().await;
    let error = |code: u8, sentence: &str| json!({ "code": code, "error": sentence, "message": sentence });
    let ask = async |path: &str, body: &str| world.ask(Some(&player), Method::POST, path, body).await;
    let missing = (404, error(5, "RPC function not found"));
    assert_eq!(ask("/v2/rpc/none", "").await, missing);
    assert_eq!(ask(&format!("/v2/rpc/{}", "x".repeat(10_000)), "").await, missing);
    assert_eq!(ask("/v2/rpc/hidden", "").await, missing, "it is not for clients");
    assert_eq!(ask("/v2/rpc/refuse", "").await, (400, error(9, "The shop is closed.")));
    let (status, body) = ask("/v2/rpc/tell", "{}").await;
    assert_eq!((status, &body["code"], &body["error"]), (400, &json!(3), &body["message"]));
    let nobody = world.ask(None, Method::POST, "/v2/rpc/tell", "").await;
    assert_eq!(nobody, (401, error(16, "Auth token or HTTP key required")));
}

/// Calls the function `tell` without the headers of a player.
async fn tell(world: &World, method: Method, query: &str, authorization: &str, body: &str) -> (u16, HeaderMap, Value) {
    let request = Request::builder().method(method).uri(format!("/v2/rpc/tell{query}"));
    let request = request.header(header::AUTHORIZATION, authorization);
    let (parts, body) = world.send(None, request, body.as_bytes().to_vec()).await.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.expect("the body is complete");
    (parts.status.as_u16(), parts.headers, serde_json::from_slice(&bytes).expect("every answer is JSON"))
}

fn basic(key: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{key}:")))
}

#[tokio::test]
async fn the_http_key_calls_a_function_without_a_user() {
    let (world, player) = world().await;
    let key = format!("http_key={}", HTTP_KEY.replace(' ', "+"));
    let bearer = format!("Bearer {}", player.token());

    let (status, _, answer) = tell(&world, Method::GET, &format!("?payload=%7B%7D&{key}&"), "", "").await;
    let expected = json!({ "payload": "", "query": { "payload": ["{}"] }, "user": null });
    assert_eq!((status, report(&answer["payload"])), (200, expected), "the function does not see the key");
    let post = |payload: &str| json!({ "payload": payload, "query": {}, "user": null });
    let (status, _, answer) = tell(&world, Method::POST, &format!("?{key}"), &bearer, r#""x""#).await;
    assert_eq!((status, report(&answer["payload"])), (200, post("x")), "the key counts before the token");
    let (status, _, answer) = tell(&world, Method::POST, "", &basic(HTTP_KEY), r#""y""#).await;
    assert_eq!((status, report(&answer["payload"])), (200, post("y")));
    let (status, _, answer) = tell(&world, Method::POST, &format!("?{key}&unwrap"), "", "{").await;
    assert_eq!((status, &answer["payload"], &answer["user"]), (200, &json!("{"), &Value::Null));

    let path = format!("/v2/account?{key}");
    let (status, answer) = world.ask(None, Method::GET, &path, "").await;
    assert_eq!((status, &answer["message"]), (401, &json!("Auth token required")), "the key is for functions only");
}

#[tokio::test]
async fn a_wrong_http_key_is_refused_whatever_else_is_sent() {
    let (world, player) = world().await;
    let bearer = format!("Bearer {}", player.token());
    let cases = [
        ("?http_key=wrong", ""),
        ("?http_key=wrong", &*bearer),
        ("?http_key=a+key+of+other+servers%00", ""),
        ("", &*basic("defaultkey")),
        ("", &*basic("")),
        ("", "Basic !"),
        ("", "Basic"),
        ("", "Basic YQ=="),
    ];
    let refused = |sentence: &str| json!({ "code": 16, "error": sentence, "message": sentence });
    for (query, authorization) in cases {
        let (status, headers, answer) = tell(&world, Method::POST, query, authorization, "").await;
        let sentence = match authorization {
            "Basic" => "Auth token or HTTP key required",
            _ => "HTTP key invalid",
        };
        assert_eq!((status, answer), (401, refused(sentence)), "{query} {authorization}");
        assert_eq!(headers[header::WWW_AUTHENTICATE], sentence);
    }
    let (without, _) = world_with(ApiParts { http_key: None, ..ApiParts::default() }).await;
    for query in ["?http_key=defaulthttpkey", "?http_key=a+key+of+other+servers"] {
        let (status, _, answer) = tell(&without, Method::GET, query, "", "").await;
        assert_eq!((status, answer), (401, refused("HTTP key invalid")), "no key is set");
    }
    let (status, _, answer) = tell(&without, Method::GET, "", &basic(""), "").await;
    assert_eq!((status, answer), (401, refused("HTTP key invalid")), "an empty key is no key");
}

#[tokio::test]
async fn a_payload_has_as_many_bytes_as_a_body() {
    let (world, player) = world().await;
    let most = "x".repeat(PAYLOAD_BYTES_MAX);
    let (status, _, body) = send(&world, &player, Method::POST, "/v2/rpc/tell?unwrap", &most).await;
    assert_eq!(status, 200);
    assert!(body.contains(&most));
    let (status, _, body) = send(&world, &player, Method::POST, "/v2/rpc/tell?unwrap", &format!("{most}x")).await;
    let body: Value = serde_json::from_str(&body).expect("an error is JSON");
    assert_eq!((status, &body["code"]), (400, &json!(3)));
    assert!(body["message"].as_str().is_some_and(|text| text.contains("at most 262144 bytes")), "{body}");
}

#[tokio::test]
async fn a_function_is_called_by_name_with_its_hooks() {
    let (world, player) = world().await;
    let mut module = Module::default();
    module.hooks.before::<RpcFunc, _>(|_, mut request| async move {
        request.payload.push('!');
        Ok(Some(request))
    });
    world.services().calls.replace("hooks", module).expect("the module is valid");
    let (services, context) = (world.services(), world.context(&player));
    let by_function = services.call_function("tell", &context, "hey".to_owned()).await.expect("the call succeeds");
    assert_eq!(serde_json::from_str::<Value>(&by_function).expect("JSON")["payload"], "hey!");
    let by_name = services.call_json("RpcFunc", &context, json!({ "id": "tell", "payload": "hey" })).await;
    assert_eq!(by_name.expect("the call succeeds"), json!({ "id": "tell", "payload": by_function }));
    let (_, over_http) = world.ask(Some(&player), Method::POST, "/v2/rpc/tell", r#""hey""#).await;
    assert_eq!(over_http["payload"], by_function);
}

#[tokio::test]
async fn rooms_call_functions_with_bytes_and_clients_cannot_call_those_of_rooms() {
    let (world, player) = world().await;
    let (services, server) = (world.services(), Arc::new(CallContext::server()));
    let bytes = vec![0, 159, 255];
    assert_eq!(services.call_bytes("hidden", &server, bytes.clone()).await, Ok(Some(bytes.clone())));
    let answer = services.call_bytes("tell", &server, b"text".to_vec()).await.expect("clients and rooms may call it");
    let answer: Value = serde_json::from_slice(&answer.expect("there is an answer")).expect("JSON");
    assert_eq!((&answer["payload"], &answer["user"]), (&json!("text"), &Value::Null));
    let no_text = services.call_bytes("tell", &server, bytes.clone()).await.expect_err("it takes text");
    assert_eq!(no_text.code, GrpcCode::InvalidArgument);
    let context = world.context(&player);
    assert_eq!(services.call_bytes("hidden", &context, bytes).await.expect_err("hidden").code, GrpcCode::NotFound);
    assert_eq!(services.calls.functions(), ["refuse", "tell"], "only those for clients are listed");
    assert!(services.calls.has_function("Hidden") && !services.calls.has_function("none"));
}
