//! Events of the server: reported events, sessions, the matchmaker, and ends of periods.

use crate::support::{ScriptServer, rpc, until_rpc};
use aether_testkit_server::aether_server::services::leaderboard::Definition;
use aether_testkit_server::aether_server::services::matches::NewMatch;
use aether_testkit_server::aether_server::services::tournament::Terms;
use aether_testkit_server::unix_seconds;
use serde_json::json;

const EVENTS: &str = r#"
local nk = require("nakama")
local seen = { sessions = {} }

aether.register_hook("event", function(context, event)
    seen.event = event
    seen.reporter = context.user_id
end)

aether.register_hook("session_start", function(context)
    table.insert(seen.sessions, { "start", context.user_id, context.session_id })
end)

aether.register_hook("session_end", function(context)
    table.insert(seen.sessions, { "end", context.user_id, context.session_id })
end)

local target
nk.register_matchmaker_matched(function(context, users)
    seen.mode = context.execution_mode
    seen.users = users
    return target
end)

nk.register_leaderboard_reset(function(context, board, expiry)
    seen.reset = { board = board, expiry = expiry }
end)
nk.register_tournament_end(function(context, tournament, last, expiry)
    seen.ended = { tournament = tournament, last = last, expiry = expiry }
end)
nk.register_tournament_reset(function(context, tournament, last, expiry)
    seen.restarted = { id = tournament.id, last = last, expiry = expiry }
end)

nk.register_rpc(function(_, payload)
    local decoded = nk.json_decode(payload)
    target = decoded.target or target
    return nk.json_encode(seen)
end, "seen")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn reported_events_reach_the_script() {
    let scripts = ScriptServer::start_with(&[("events", EVENTS)], |config| config.script.vms_max = 1).await;
    let mut user = scripts.user().await;
    let event = json!({ "name": "level_up", "properties": { "level": "3" } });
    assert_eq!(user.post("/v2/event", &event).await.expect("the server answers").status, 200);
    let seen = until_rpc(&mut user, "seen", &json!({}), |seen| seen["event"].is_object()).await;
    assert_eq!(seen["event"]["name"], "level_up");
    assert_eq!((&seen["event"]["properties"], &seen["event"]["external"]), (&json!({ "level": "3" }), &json!(true)));
    assert_eq!(seen["reporter"], json!(user.user));
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_the_socket_start_and_end_in_order() {
    let scripts = ScriptServer::start_with(&[("events", EVENTS)], |config| config.script.vms_max = 1).await;
    let mut user = scripts.user().await;
    let socket = scripts.server.socket(&user.token).await;
    let seen = until_rpc(&mut user, "seen", &json!({}), |seen| seen["sessions"].as_array().is_some()).await;
    assert_eq!((&seen["sessions"][0][0], &seen["sessions"][0][1]), (&json!("start"), &json!(user.user)));
    drop(socket);
    let ended = |seen: &serde_json::Value| seen["sessions"].as_array().is_some_and(|all| all.len() == 2);
    let seen = until_rpc(&mut user, "seen", &json!({}), ended).await;
    assert_eq!(seen["sessions"][1][0], "end");
    assert_eq!(seen["sessions"][0][2], seen["sessions"][1][2], "one session");
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn matched_players_go_to_the_match_that_the_script_names_or_to_a_relayed_one() {
    let change = |config: &mut aether_testkit_server::aether_server::config::Config| {
        config.matchmaker.interval_ms = 100;
        // The module keeps its target in a variable, which each VM has for itself.
        config.script.vms_max = 1;
    };
    let scripts = ScriptServer::start_with(&[("events", EVENTS)], change).await;
    let matches = scripts.server.services().matches().expect("matches are hosted");
    let new = NewMatch { match_type: "relay".to_owned(), ..NewMatch::default() };
    let created = matches.create_with(&new).await.expect("the match is created");
    let (mut ann, bob) = (scripts.user().await, scripts.user().await);
    for target in [None, Some(created.id.as_str())] {
        rpc(&mut ann, "seen", &json!({ "target": target })).await;
        let (mut one, mut two) = (scripts.server.socket(&ann.token).await, scripts.server.socket(&bob.token).await);
        let add = json!({ "matchmaker_add": {
            "min_count": 2, "max_count": 2, "query": "*",
            "string_properties": { "mode": "duel" }, "numeric_properties": { "rank": 7 },
        } });
        one.request(add.clone()).await;
        two.request(add).await;
        let matched = one.next().await["matchmaker_matched"].clone();
        match target {
            None => assert!(matched["token"].is_string(), "{matched}"),
            Some(id) => assert_eq!(matched["match_id"], id, "{matched}"),
        }
    }
    let (_, seen) = rpc(&mut ann, "seen", &json!({})).await;
    assert_eq!((&seen["mode"], seen["users"].as_array().map(Vec::len)), (&json!("matchmaker"), Some(2)));
    assert_eq!(seen["users"][0]["properties"], json!({ "mode": "duel", "rank": 7 }));
    let presence = &seen["users"][0]["presence"];
    for field in ["user_id", "session_id", "username", "node"] {
        assert!(presence[field].as_str().is_some_and(|text| !text.is_empty()), "{field} of {presence}");
    }
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_of_periods_reach_the_script() {
    const DAY: i64 = 86_400;
    let scripts = ScriptServer::start_with(&[("events", EVENTS)], |config| config.script.vms_max = 1).await;
    let services = scripts.server.services();
    let daily = |id: &str| Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new(id) };
    services.leaderboards.create(daily("daily")).await.expect("the board is created");
    let terms = Terms { title: "Cup".to_owned(), ..Terms::lasting(3_600) };
    services.tournaments.create(daily("cup").tournament(terms)).await.expect("the tournament is created");
    let now = i64::try_from(unix_seconds()).expect("the time fits");
    services.report_periods(now + DAY).await.expect("the database answers");
    let mut user = scripts.user().await;
    let (_, seen) = rpc(&mut user, "seen", &json!({})).await;
    assert_eq!(
        (&seen["reset"]["board"]["id"], &seen["reset"]["board"]["reset"]),
        (&json!("daily"), &json!("0 0 * * *"))
    );
    let midnight = (now / DAY + 1) * DAY;
    assert_eq!(seen["reset"]["expiry"], midnight);
    let ended = &seen["ended"]["tournament"];
    assert_eq!((&ended["id"], &ended["title"], &ended["duration"]), (&json!("cup"), &json!("Cup"), &json!(3_600)));
    assert_eq!((&seen["restarted"]["id"], &seen["restarted"]["expiry"]), (&json!("cup"), &json!(midnight)));
    scripts.stop().await;
}
