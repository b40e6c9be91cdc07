//! The editor of modules on a development server: who may use it, and what a change does.

use aether_testkit_server::{ApiClient, TestServer};
use serde_json::json;

const ECHO: &str = "local nk = require('nakama')\nnk.register_rpc(function(_, payload) return payload end, 'echo')\n";
const PATH: &str = "/api/development/modules";

async fn start(change: impl FnOnce(&mut aether_testkit_server::aether_server::config::Config)) -> TestServer {
    TestServer::start_with(change, |server| server.module("echo", ECHO)).await
}

/// Returns a client that shows the developer secret.
fn developer(server: &TestServer) -> ApiClient {
    let secret = server.running().developer_secret().expect("the server is for development");
    let mut client = ApiClient::new(server.http);
    client.authorize(format!("Bearer {secret}"));
    client
}

async fn echo(server: &TestServer) -> String {
    let mut user = ApiClient::new_user(server.http).await;
    let answer = user.post("/v2/rpc/echo", &json!("\"hello\"")).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["payload"].as_str().expect("a payload").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_developer_changes_and_restores_a_module_of_the_program() {
    let server = start(|_| {}).await;
    let mut client = developer(&server);
    let listed = client.get(PATH).await.expect("the server answers").json();
    assert_eq!(listed, json!({ "modules": [{ "name": "echo", "is_built_in": true, "is_edited": false }] }));
    let read = client.get(&format!("{PATH}/echo")).await.expect("the server answers").json();
    assert_eq!(read, json!({ "name": "echo", "text": ECHO }));
    assert_eq!(echo(&server).await, "\"hello\"");

    let changed = ECHO.replace("return payload", "return 'changed'");
    let answer = client.send("PUT", &format!("{PATH}/echo"), changed.clone()).await.expect("the server answers");
    assert_eq!((answer.status, answer.json()), (200, json!({ "modules": 1, "kept": [] })), "{}", answer.body);
    assert_eq!(echo(&server).await, "changed");
    let file = server.data_dir().join("modules/echo.lua");
    assert_eq!(std::fs::read_to_string(&file).expect("it is stored"), changed);
    let listed = client.get(PATH).await.expect("the server answers").json();
    assert_eq!(listed["modules"][0]["is_edited"], true);

    let broken = ECHO.replace("function(_, payload)", "function(_, payload");
    let answer = client.send("PUT", &format!("{PATH}/echo"), broken).await.expect("the server answers");
    let told = answer.json();
    assert_eq!((answer.status, &told["module"], &told["line"]), (422, &json!("echo"), &json!(2)), "{told}");
    assert!(told["error"].as_str().is_some_and(|text| text.contains("echo:2:")), "{told}");
    assert_eq!(echo(&server).await, "changed", "the former code goes on");
    assert_eq!(std::fs::read_to_string(&file).expect("it is stored"), changed, "the next start finds no broken file");

    let answer = client.send("DELETE", &format!("{PATH}/echo"), "").await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(echo(&server).await, "\"hello\"");
    assert!(!file.exists());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_no_modules_are_refused() {
    let server = start(|_| {}).await;
    let mut client = developer(&server);
    for name in ["other", "..%2Fecho", "echo%2F..%2F..%2Fetc", "a..b", ".", "echo%00"] {
        for (method, body) in [("PUT", "return 1"), ("DELETE", "")] {
            let answer = client.send(method, &format!("{PATH}/{name}"), body).await.expect("the server answers");
            assert!((400..500).contains(&answer.status), "{method} {name}: {} {}", answer.status, answer.body);
        }
        let answer = client.get(&format!("{PATH}/{name}")).await.expect("the server answers");
        assert!((400..500).contains(&answer.status), "{name}: {}", answer.body);
    }
    let entries = std::fs::read_dir(server.data_dir().join("modules")).map(|entries| entries.count());
    assert_eq!(entries.unwrap_or(0), 0, "nothing was written");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn others_than_the_developer_are_refused() {
    let server = start(|_| {}).await;
    let secret = server.running().developer_secret().expect("the server is for development");
    let bearer = format!("Bearer {secret}");
    let wrong = format!("Bearer {}", "A".repeat(secret.len()));
    let shown = ("authorization", bearer.as_str());
    let refused: [&[(&str, &str)]; 6] = [
        &[],
        &[("authorization", &wrong)],
        &[("authorization", &secret)],
        &[shown, ("host", "rebound.example")],
        &[shown, ("x-forwarded-for", "192.0.2.1")],
        &[shown, ("host", "game.example"), ("forwarded", "for=192.0.2.1")],
    ];
    for headers in refused {
        for (method, path) in
            [("GET", PATH.to_owned()), ("PUT", format!("{PATH}/echo")), ("DELETE", format!("{PATH}/echo"))]
        {
            let answer = server.request(server.http, method, &path, headers).await;
            assert_eq!(answer.status, 403, "{method} {headers:?}: {}", answer.body);
            assert_eq!(answer.json()["code"], "not_development");
            assert!(!answer.head.contains("access-control-allow-origin"), "{}", answer.head);
        }
    }
    assert_eq!(server.request(server.http, "GET", PATH, &[shown]).await.status, 200);
    server.stop().await;

    let public = start(|config| {
        config.http.trusted_proxies = vec!["127.0.0.1".parse().expect("the address is valid")];
        config.guests.enabled = Some(true);
    })
    .await;
    assert_eq!(public.running().developer_secret(), None);
    let answer = public.request(public.http, "GET", PATH, &[shown]).await;
    assert_eq!((answer.status, answer.json()["code"].as_str()), (403, Some("not_development")), "{}", answer.body);
    assert!(answer.body.contains("development server only"), "{}", answer.body);
    assert_eq!(echo(&public).await, "\"hello\"", "the module itself is loaded");
    public.stop().await;

    let without = start(|config| config.script.built_in = false).await;
    let mut client = developer(&without);
    assert_eq!(client.get(PATH).await.expect("the server answers").status, 404, "there are no modules");
    without.stop().await;
}
