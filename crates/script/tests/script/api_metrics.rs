//! Metrics of scripts.

use crate::api::Api;
use crate::support::{ScriptServer, rpc};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn metrics_of_scripts_are_in_the_text_of_the_server() {
    let mut api = Api::start().await;
    for _ in 0..2 {
        api.run("nk.metrics_counter_add", json!(["coins.spent", { "shop": "north" }, 3])).await;
    }
    api.run("nk.metrics_gauge_set", json!(["queue", {}, 2.5])).await;
    api.run("nk.metrics_timer_record", json!(["turn", null, 250_000_000])).await;
    let admin = api.scripts.server.admin;
    let text = api.scripts.server.request(admin, "GET", "/metrics", &[]).await;
    assert_eq!(text.status, 200, "{}", text.body);
    for line in [
        "game_coins_spent_total{shop=\"north\"} 6",
        "game_queue 2.5",
        "game_turn_seconds_sum 0.25",
        "game_turn_seconds_bucket{le=\"0.5\"} 1",
    ] {
        assert!(text.body.lines().any(|found| found == line), "{line} is not in {}", text.body);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_errors_and_too_many_series_are_dropped() {
    let mut api = Api::start().await;
    api.refuse("nk.metrics_counter_add", json!(["coins", {}, -1]), "delta").await;
    api.refuse("nk.metrics_counter_add", json!(["coins", {}, 0.5]), "delta").await;
    api.refuse("nk.metrics_counter_add", json!(["coins", { "shop": 1 }, 1]), "tags").await;
    api.refuse("nk.metrics_gauge_set", json!([null, {}, 1]), "name").await;
    api.refuse("nk.metrics_timer_record", json!(["turn", {}, "1"]), "value").await;
    api.run("nk.metrics_timer_record", json!(["turn", {}, 1])).await;
    let error = api.fail("nk.metrics_gauge_set", json!(["x".repeat(65), {}, 1])).await;
    assert!(error.contains("The name of a metric"), "{error}");
    assert_eq!(api.scripts.server.metric("aether_game_metrics_dropped_total", &[]), 0.0);
    api.run("nk.metrics_gauge_set", json!(["turn_seconds_count", {}, 1])).await;
    assert_eq!(api.scripts.server.metric("aether_game_metrics_dropped_total", &[]), 1.0, "it looks like the timer");
    for user in 0..=aether_services::game_metrics::SERIES_PER_NAME_MAX {
        api.run("nk.metrics_counter_add", json!(["visits", { "user": user.to_string() }, 1])).await;
    }
    assert_eq!(api.scripts.server.metric("aether_game_metrics_dropped_total", &[]), 2.0);
    api.stop().await;
}

/// A match that counts its ticks, and notes if a call of the metrics or the log took another tick.
const METERED: &str = r#"
local nk = require("nakama")

aether.register_match("metered", {
    match_init = function(ctx, params)
        return { state = { last = 0 }, tick_rate = 20, label = "" }
    end,
    match_loop = function(ctx, state, tick, messages)
        nk.metrics_counter_add("ticks", { match = "metered" }, 1)
        nk.metrics_gauge_set("gap", {}, tick - state.last)
        nk.logger_debug("tick", { tick = tick })
        state.last = tick
        return state
    end,
})

nk.register_rpc(function()
    return nk.json_encode({ id = nk.match_create("metered", {}) })
end, "create")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_match_records_metrics_without_waiting() {
    let scripts = ScriptServer::start(&[("metered", METERED)]).await;
    let mut user = scripts.user().await;
    let (status, answer) = rpc(&mut user, "create", &json!({})).await;
    assert_eq!(status, 200, "{answer}");
    scripts.server.until_metric("game_ticks_total", &[("match", "metered")], 5.0).await;
    assert_eq!(scripts.server.metric("game_gap", &[]), 1.0, "every tick runs the loop to its end");
    scripts.stop().await;
}
