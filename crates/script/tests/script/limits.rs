//! Limits of calls through a server.

use crate::support::{ScriptServer, rpc};
use serde_json::json;
use std::time::Instant;

const ATTACKS: &str = r#"
local nk = require("nakama")
local calls = 0

nk.register_rpc(function()
    calls += 1
    while true do
        pcall(function() while true do end end)
    end
end, "spin")

nk.register_rpc(function()
    local parts = {}
    while true do
        table.insert(parts, string.rep("x", 1048576 + #parts))
    end
end, "hoard")

nk.register_rpc(function()
    calls += 1
    return tostring(calls)
end, "count")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_exceeds_its_limits_fails_alone() {
    let scripts = ScriptServer::start_with(&[("attacks", ATTACKS)], |config| config.script.vms_max = 2).await;
    let mut user = scripts.user().await;
    let started = Instant::now();
    let (status, answer) = rpc(&mut user, "spin", &json!({})).await;
    println!("endless loop over HTTP: answered after {:.1?}", started.elapsed());
    assert_eq!((status, &answer["code"]), (504, &json!(4)), "{answer}");
    assert!(answer["message"].as_str().is_some_and(|message| message.contains("exceeded its time of 50.0 ms")));

    let (status, answer) = rpc(&mut user, "hoard", &json!({})).await;
    assert!(status == 429 || status == 504, "{status} {answer}");

    // The VM of the first call is not used again: its tables may be half changed.
    let (status, answer) = rpc(&mut user, "count", &json!({})).await;
    assert_eq!((status, answer), (200, json!(1)));

    // Calls beside endless ones are answered, and none of the two places stays taken.
    let mut others = Vec::new();
    for _ in 0..4 {
        let mut other = scripts.user().await;
        others.push(tokio::spawn(async move { rpc(&mut other, "spin", &json!({})).await.0 }));
    }
    assert_eq!(rpc(&mut user, "count", &json!({})).await.0, 200);
    for other in others {
        assert_eq!(other.await.expect("the call ends"), 504);
    }
    scripts.stop().await;
}
