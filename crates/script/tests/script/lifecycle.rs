//! Functions that run once at the start, and at the stop.

use crate::support::{ScriptServer, failed_start, rpc};
use aether_script::{SHUTDOWN_TIME_MAX, ScriptSettings, Scripts};
use serde_json::json;
use std::time::Instant;

const ONCE: &str = r#"
local nk = require("nakama")
local ran = {}
nk.run_once(function(context)
    table.insert(ran, context.execution_mode)
    -- It may call services.
    nk.storage_read({ { collection = "a", key = "b" } })
end)
nk.run_once(function() table.insert(ran, "second") end)
nk.register_rpc(function() return nk.json_encode(ran) end, "ran")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn functions_run_once_at_the_start_and_not_at_a_reload() {
    let scripts = ScriptServer::start(&[("once", ONCE)]).await;
    let mut user = scripts.user().await;
    assert_eq!(rpc(&mut user, "ran", &json!({})).await, (200, json!(["run_once", "second"])));
    let services = scripts.server.services().clone();
    let settings = ScriptSettings { folder: scripts.folder().to_owned(), ..ScriptSettings::default() };
    let again = Scripts::new(settings);
    again.load(&services).await.expect("the scripts load");
    assert_eq!(rpc(&mut user, "ran", &json!({})).await, (200, json!(["run_once", "second"])));
    again.load(&services).await.expect("the scripts load again");
    assert_eq!(rpc(&mut user, "ran", &json!({})).await, (200, json!({})));
    drop(services);
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_function_that_runs_once_stops_the_start() {
    let text = "aether.run_once(function() error('no gold') end)";
    let problem = failed_start(&[("once", text)]).await;
    assert!(problem.contains("once:1: no gold"), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_shutdown_function_runs_while_the_services_are_open() {
    let text = r#"
        local nk = require("nakama")
        nk.register_shutdown(function(context)
            nk.storage_read({ { collection = "a", key = "b" } })
            error({ "the shutdown ran in mode " .. context.execution_mode, 9 })
        end)
    "#;
    let mut scripts = ScriptServer::start(&[("shutdown", text)]).await;
    let registry = scripts.server.running().registry().clone();
    scripts.server.stop_within(std::time::Duration::from_millis(200)).await;
    assert!(registry.render().contains("aether_script_errors_total{kind=\"refused\"} 1"), "{}", registry.render());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shutdown_function_that_never_ends_is_stopped() {
    let text = "aether.register_hook('shutdown', function() while true do end end)";
    let mut scripts = ScriptServer::start(&[("shutdown", text)]).await;
    let registry = scripts.server.running().registry().clone();
    let began = Instant::now();
    scripts.server.stop_within(std::time::Duration::from_millis(200)).await;
    assert!(registry.render().contains("aether_script_errors_total{kind=\"time\"} 1"), "{}", registry.render());
    assert!(began.elapsed() < SHUTDOWN_TIME_MAX * 3, "{:?}", began.elapsed());
}
