//! Reload of modules: by watching the folder, and by an operator.

use crate::support::{ScriptServer, rpc};
use aether_testkit_server::ApiClient;
use aether_testkit_server::aether_server::config::Secret;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const KEY: &str = "0123456789abcdef0123";
/// Time after which a change that has no effect is a failure.
const DEADLINE: Duration = Duration::from_secs(20);

/// Returns a module whose function answers with a number.
fn answering(number: u32) -> String {
    format!(
        "local nk = require(\"nakama\")\n\
         nk.register_rpc(function() return nk.json_encode({{ number = {number} }}) end, \"answer\")\n"
    )
}

async fn start(watch: bool) -> (ScriptServer, ApiClient) {
    let text = answering(1);
    let scripts = ScriptServer::start_with(&[("answer", &text)], |config| {
        config.script.watch = Some(watch);
        config.http.admin_key = Some(Secret::new(KEY));
    })
    .await;
    let mut operator = ApiClient::new(scripts.server.admin);
    operator.authorize(format!("Bearer {KEY}"));
    (scripts, operator)
}

async fn answer(user: &mut ApiClient) -> u64 {
    let (status, answer) = rpc(user, "answer", &json!({})).await;
    assert_eq!(status, 200, "{answer}");
    answer["number"].as_u64().expect("a number")
}

async fn list(operator: &mut ApiClient) -> Value {
    operator.get("/api/scripts").await.expect("the server answers").json()
}

/// Asks until the list of the scripts has what is wanted.
async fn wait_for(operator: &mut ApiClient, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let scripts = list(operator).await;
        if wanted(&scripts) {
            return scripts;
        }
        assert!(started.elapsed() < DEADLINE, "{what} did not come: {scripts}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_is_loaded_and_a_broken_one_leaves_the_old_code_running() {
    let (scripts, mut operator) = start(true).await;
    let mut user = scripts.user().await;
    assert_eq!(answer(&mut user).await, 1);

    scripts.write("answer", &answering(2));
    wait_for(&mut operator, "the change", |scripts| scripts["loads"] == 2).await;
    assert_eq!(answer(&mut user).await, 2);

    // A file that is written in parts is broken for a while.
    scripts.write("answer", &format!("{}\nlocal half = ", answering(3)));
    let listed = wait_for(&mut operator, "the error", |scripts| scripts["error"]["module"] == "answer").await;
    assert_eq!((&listed["error"]["line"], &listed["loads"]), (&json!(4), &json!(2)), "{listed}");
    assert_eq!(answer(&mut user).await, 2);
    let metrics = operator.get("/metrics").await.expect("the server answers").body;
    for line in ["aether_script_loads_total{result=\"failed\"} 1", "aether_script_outdated 1"] {
        assert!(metrics.contains(line), "{line}");
    }

    scripts.write("answer", &answering(3));
    let listed = wait_for(&mut operator, "the repair", |scripts| scripts["loads"] == 3).await;
    assert_eq!((listed["error"]["message"].as_str(), answer(&mut user).await), (Some(""), 3));
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_reloads_the_modules() {
    let (scripts, mut operator) = start(false).await;
    let mut user = scripts.user().await;
    let listed = list(&mut operator).await;
    assert_eq!(listed["modules"][0]["name"], "answer");
    assert_eq!(listed["functions"], json!([{ "kind": "rpc", "name": "answer" }]));

    scripts.write("answer", &answering(2));
    scripts.write("shop/items", "return { sword = 3 }");
    assert_eq!(answer(&mut user).await, 1, "nothing watches the folder");
    let reloaded = operator.post("/api/scripts/reload", &json!({})).await.expect("the server answers");
    assert_eq!((reloaded.status, reloaded.json()), (200, json!({ "modules": 2, "functions": 1, "loads": 2 })));
    assert_eq!(answer(&mut user).await, 2);

    scripts.write("shop/items", "local items = {}\nitems.sword = nothing.price\nreturn items");
    let refused = operator.post("/api/scripts/reload", &json!({})).await.expect("the server answers");
    let message = refused.json()["error"].as_str().unwrap_or_default().to_owned();
    assert_eq!(refused.status, 400);
    assert!(message.contains("former ones stay in use: shop.items:2: attempt to index nil"), "{message}");
    let listed = list(&mut operator).await;
    assert_eq!((&listed["error"]["module"], &listed["error"]["line"]), (&json!("shop.items"), &json!(2)));
    assert_eq!(answer(&mut user).await, 2);

    // Players may not, whatever they send.
    let mut player = ApiClient::new(scripts.server.admin);
    player.authorize("Bearer nothing");
    let refused = player.post("/api/scripts/reload", &json!({})).await.expect("the server answers");
    assert_eq!(refused.status, 401);
    scripts.stop().await;
}
