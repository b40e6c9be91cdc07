//! HTTP requests.

use crate::api_support::Calls;
use crate::fake_shop::FakeShop;
use crate::support::rpc;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn requests_reach_allowed_networks_and_return_status_headers_and_body() {
    let fake =
        FakeShop::start(|asked| (201, json!({ "path": asked.path, "body": asked.body, "x": asked.header("x-a") })))
            .await;
    let allow = |config: &mut aether_testkit_server::aether_server::config::Config| {
        config.outgoing.allowed_networks = vec!["127.0.0.1".parse().expect("it is a network")];
    };
    let mut calls = Calls::start_with(allow).await;
    let url = json!(format!("{}/a", fake.url));
    let arguments = [url.clone(), json!("POST"), json!({ "X-A": "b" }), json!("text"), json!(4_000)];
    let answer = calls.ok("http_request", &arguments).await;
    assert_eq!(answer["a"], json!(201));
    assert!(answer["b"]["content-length"].is_string(), "{answer}");
    let body: Value = serde_json::from_str(answer["c"].as_str().expect("a text")).expect("JSON");
    assert_eq!(body, json!({ "path": "/a", "body": "text", "x": "b" }));
    for method in ["get", "put", "patch", "delete", "head"] {
        assert_eq!(calls.ok("http_request", &[url.clone(), json!(method)]).await["a"], json!(201), "{method}");
    }
    calls.fails("http_request", &[url.clone(), json!("connect")], "argument 2 (`method`)").await;
    calls.fails("http_request", &[url.clone(), json!("get"), json!({ "a": 1 })], "argument 3 (`headers`)").await;
    let insecure = [url.clone(), json!("get"), Value::Null, Value::Null, Value::Null, json!(true)];
    calls.fails("http_request", &insecure, "certificates are always checked").await;
    calls.fails("http_request", &[json!("ftp://example.com"), json!("get")], "must begin with https://").await;
    calls.stop().await;
}

const LARGE: &str = r#"
local nk = require("nakama")

nk.register_rpc(function()
    local headers = {}
    for index = 1, 65 do
        headers[`x-{index}`] = "y"
    end
    local _, body = pcall(nk.http_request, "https://example.com/", "post", {}, string.rep("x", 1048577))
    local _, many = pcall(nk.http_request, "https://example.com/", "get", headers)
    return nk.json_encode({ tostring(body), tostring(many) })
end, "large")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_bounded() {
    let mut calls = Calls::with_modules(&[("large", LARGE)], |_| {}).await;
    let (status, problems) = rpc(&mut calls.client, "large", &json!({})).await;
    assert_eq!(status, 200, "{problems}");
    for (index, expected) in ["at most 1048576 bytes", "at most 64 headers"].into_iter().enumerate() {
        assert!(problems[index].as_str().is_some_and(|text| text.contains(expected)), "{problems}");
    }
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_networks_are_not_reached() {
    let fake = FakeShop::start(|_| (200, json!({}))).await;
    let mut calls = Calls::start().await;
    calls.fails("http_request", &[json!(fake.url), json!("get")], "the address is not public").await;
    assert_eq!(fake.asked().len(), 0);
    calls.stop().await;
}
