//! RPC functions over HTTP and over the socket, with a session and with the HTTP key.

use crate::support::{ScriptServer, rpc};
use aether_testkit_server::aether_server::config::Secret;
use aether_testkit_server::{ApiClient, ServicesSocket};
use serde_json::{Value, json};

const KEY: &str = "a0e1f2c3d4b5a6978899";

const CONTEXT: &str = r#"
local nk = require("nakama")
nk.register_rpc(function(context, payload)
    context.payload = payload
    return nk.json_encode(context)
end, "Context")

aether.register_rpc("nothing", function() end)
aether.register_rpc("table", function() return {} end)
"#;

async fn start() -> ScriptServer {
    ScriptServer::start_with(&[("context", CONTEXT)], |config| {
        config.api.http_key = Some(Secret::new(KEY));
        config.script.environment = vec!["mode=test".to_owned()];
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_context_has_all_fields_of_a_request() {
    let scripts = start().await;
    let mut user = scripts.user().await.with_header("x-colour", "red").with_header("cookie", "secret");
    let (status, context) = rpc(&mut user, "context", &json!("hello")).await;
    assert_eq!(status, 200, "{context}");
    assert_eq!(context["payload"], "\"hello\"");
    assert_eq!(context["execution_mode"], "rpc");
    assert_eq!(context["env"], json!({ "mode": "test" }));
    assert_eq!(context["version"], "1.2.3");
    assert_eq!(context["user_id"], json!(user.user));
    assert_eq!(context["client_ip"], "127.0.0.1");
    assert_eq!(context["headers"]["x-colour"], json!(["red"]));
    for field in ["node", "username", "session_id", "trace_id", "client_port"] {
        assert!(context[field].as_str().is_some_and(|text| !text.is_empty()), "{field} of {context}");
    }
    assert!(context["user_session_exp"].as_i64().is_some_and(|time| time > 1_700_000_000), "{context}");
    // Secrets are not for scripts.
    assert_eq!((&context["headers"]["authorization"], &context["headers"]["cookie"]), (&Value::Null, &Value::Null));
    let (_, again) = rpc(&mut user, "context", &json!("hello")).await;
    assert_ne!(context["trace_id"], again["trace_id"]);
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_a_request_are_bounded() {
    let scripts = start().await;
    let mut user = scripts.user().await.with_header("x-long", "a".repeat(9_000)).with_header("x-short", "b");
    let (status, context) = rpc(&mut user, "context", &json!({})).await;
    assert_eq!(status, 200, "{context}");
    assert_eq!((&context["headers"]["x-long"], &context["headers"]["x-short"]), (&Value::Null, &json!(["b"])));
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn session_variables_reach_the_context() {
    let scripts = start().await;
    let mut user = ApiClient::new(scripts.server.http);
    let body = json!({ "id": "device-of-variables", "vars": { "platform": "web" } });
    let session = user.post("/v2/account/authenticate/device?create=true", &body).await.expect("the server answers");
    user.adopt(&session.json());
    let (_, context) = rpc(&mut user, "context", &json!({})).await;
    assert_eq!(context["vars"], json!({ "platform": "web" }));
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_http_key_calls_without_a_user_and_unwrap_sends_the_bare_payload() {
    let scripts = start().await;
    let mut nobody = ApiClient::new(scripts.server.http);
    nobody.authorize("");
    let path = format!("/v2/rpc/context?http_key={KEY}&unwrap&a=1&a=2");
    let answer = nobody.send("POST", &path, "{\"b\":1}").await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let context = answer.json();
    assert_eq!(context["payload"], "{\"b\":1}");
    assert_eq!(context["query_params"], json!({ "a": ["1", "2"], "unwrap": [""] }));
    assert_eq!((&context["user_id"], &context["vars"]), (&Value::Null, &json!({})));
    let path = format!("/v2/rpc/context?http_key={KEY}");
    let answer = nobody.get(&path).await.expect("the server answers").json();
    let context: Value = serde_json::from_str(answer["payload"].as_str().expect("a payload")).expect("JSON");
    assert_eq!(context["payload"], "");
    let refused = nobody.get("/v2/rpc/context?http_key=wrong").await.expect("the server answers");
    assert_eq!(refused.status, 401);
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_is_called_over_the_socket() {
    let scripts = start().await;
    let user = scripts.user().await;
    let query = format!("?token={}&lang=de", user.token);
    let Ok(mut socket) = ServicesSocket::open(scripts.server.http, &query, "").await else {
        panic!("the socket opens")
    };
    let answer = socket.request(json!({ "rpc": { "id": "CONTEXT", "payload": "x" } })).await;
    let context: Value = serde_json::from_str(answer["rpc"]["payload"].as_str().expect("a payload")).expect("JSON");
    assert_eq!((&context["payload"], &context["user_id"]), (&json!("x"), &json!(user.user)));
    assert_eq!((&context["lang"], &context["headers"]), (&json!("de"), &json!({})));
    let nothing = socket.request(json!({ "rpc": { "id": "nothing" } })).await;
    assert_eq!(nothing["rpc"]["id"], "nothing", "{nothing}");
    let wrong = socket.request(json!({ "rpc": { "id": "table" } })).await;
    assert_eq!(wrong["error"]["code"], 7, "{wrong}");
    assert!(wrong["error"]["message"].as_str().is_some_and(|text| text.contains("use json_encode")), "{wrong}");
    scripts.stop().await;
}
